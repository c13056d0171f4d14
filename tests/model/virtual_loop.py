"""An event loop in which time passes only when it is told to: what can go on does so, and then the loop is idle."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any, Final

MOST_ROUNDS: Final = 20_000
"""Rounds of the loop after which what still goes on would go on for ever; the busiest step takes some hundred."""


class NeverIdle(AssertionError):
    """Something goes on without end and without waiting for anything."""


class _Waiting(selectors.DefaultSelector):
    """Where a loop waits when nothing can go on: time jumps to what is due next, or the loop ends."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.end = 0.0
        self.rounds = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    def select(self, timeout: float | None = None) -> list[Any]:
        self.rounds += 1
        if self.rounds > MOST_ROUNDS:
            raise NeverIdle(f"not idle after {MOST_ROUNDS} rounds")
        if timeout != 0:
            if timeout is not None and self.now + timeout <= self.end:
                self.now += timeout
            elif self.loop is not None:
                self.now = self.end
                self.loop.stop()
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock is a number."""

    def __init__(self) -> None:
        self._waiting = _Waiting()
        super().__init__(self._waiting)
        self._waiting.loop = self

    def time(self) -> float:
        """Seconds of its own."""
        return self._waiting.now

    def pass_time(self, seconds: float = 0.0) -> None:
        """Let everything go on that can within so much time, in the order in which it is due.

        Raises:
            NeverIdle: it does not come to an end.
        """
        self._waiting.rounds = 0
        self._waiting.end = self._waiting.now + seconds
        self.run_forever()
