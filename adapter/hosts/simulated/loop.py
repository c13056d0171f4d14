"""The host's one loop: bytes from stdin and timers, in the order they come due."""

from __future__ import annotations

import heapq
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

READ_CHUNK: Final = 256 * 1024

CHUNKS_AHEAD: Final = 64
"""How many reads may wait while the host is busy; then the client's writes stall."""


class Timer:
    """Something that is due later."""

    __slots__ = ("callback", "due", "order")

    def __init__(self, due: float, order: int, callback: Callable[[], None]) -> None:
        self.due = due
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def __lt__(self, other: Timer) -> bool:
        return (self.due, self.order) < (other.due, other.order)

    def cancel(self) -> None:
        """Make it never happen."""
        self.callback = None


class Loop:
    """Runs until stdin ends or `stop` is called."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._inbox: queue.Queue[bytes] = queue.Queue(CHUNKS_AHEAD)
        self._timers: list[Timer] = []
        self._order = 0
        self._stopped = False

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after so many seconds; with 0 after what is due already and what has arrived."""
        self._order += 1
        timer = Timer(time.monotonic() + seconds, self._order, callback)
        heapq.heappush(self._timers, timer)
        return timer

    def stop(self) -> None:
        """End `run` after the current callback."""
        self._stopped = True

    def run(self, on_bytes: Callable[[bytes], None], flush: Callable[[], None]) -> None:
        """Hand over what arrives (empty at end of input) and run timers; `flush` is called before every wait."""
        threading.Thread(target=self._read, daemon=True).start()
        while not self._stopped:
            data = self._next_input(flush)
            if data is not None:
                on_bytes(data)
            now = time.monotonic()
            due: list[Timer] = []
            while self._timers and self._timers[0].due <= now:
                due.append(heapq.heappop(self._timers))
            for timer in due:
                callback, timer.callback = timer.callback, None
                if callback is not None and not self._stopped:
                    callback()
        flush()

    def _next_input(self, flush: Callable[[], None]) -> bytes | None:
        flush()
        seconds = self._timers[0].due - time.monotonic() if self._timers else None
        try:
            if seconds is not None and seconds <= 0:
                return self._inbox.get_nowait()
            return self._inbox.get(timeout=seconds)
        except queue.Empty:
            return None

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, READ_CHUNK)
            except OSError:
                data = b""
            self._inbox.put(data)
            if not data:
                return
