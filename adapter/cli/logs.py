"""Logging to stderr that never blocks: a client that does not read our stderr must not stop us (`acp.md §25`, point
4)."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
from typing import Final

STDERR: Final = 2

MAX_WAITING_LINES: Final = 2000
"""Log lines kept while nobody reads stderr; more are dropped."""

FLUSH_SECONDS: Final = 0.2
"""How long the last lines may take to leave when the process ends."""

MAX_LINE_BYTES: Final = 8 * 1024


class StderrHandler(logging.Handler):
    """Hands formatted lines to a thread of its own, which may block as long as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING_LINES)
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one line; drop it when too many wait."""
        try:
            line = self.format(record).encode("utf-8", "replace")[:MAX_LINE_BYTES] + b"\n"
        except Exception:
            return self.handleError(record)
        if self._thread is None:
            thread = threading.Thread(target=self._write, name="stderr", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # There can be no more threads now. The next line tries again.
                return None
            self._thread = thread
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(line)
        return None

    def close(self) -> None:
        """Let the last lines out, for a moment."""
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)
                self._thread.join(FLUSH_SECONDS)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):
                os.write(STDERR, line)


def log_to_stderr(level: str) -> StderrHandler:
    """Send everything that is logged, warnings included, to stderr from `level` on."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    return handler
