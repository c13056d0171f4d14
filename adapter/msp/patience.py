"""Limits of time for somebody's answers that stand still while we do not listen: what has been said meanwhile is in the
pipe, and its being late is no fault of who said it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio


class Patience:
    """The limits of one connection."""

    def __init__(self) -> None:
        self._left: dict[anyio.CancelScope, float] = {}
        """Seconds that each had left when they were stopped."""
        self._stopped = False

    @contextmanager
    def fail_after(self, seconds: float) -> Iterator[None]:
        """As `anyio.fail_after`.

        Raises:
            TimeoutError: it took longer, not counting the time in which nobody listened.
        """
        with anyio.fail_after(math.inf if self._stopped else seconds) as scope:
            self._left[scope] = seconds
            try:
                yield
            finally:
                del self._left[scope]

    async def without_listening(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait for something, in which time nobody listens."""
        self._stop()
        try:
            await wait()
        finally:
            self._go_on()

    def _stop(self) -> None:
        now = anyio.current_time()
        self._stopped = True
        for scope in self._left:
            # One that has run out is told so by its deadline.
            if not scope.cancel_called:
                self._left[scope] = scope.deadline - now
                scope.deadline = math.inf

    def _go_on(self) -> None:
        now = anyio.current_time()
        self._stopped = False
        for scope, left in self._left.items():
            if scope.deadline == math.inf:
                scope.deadline = now + left
