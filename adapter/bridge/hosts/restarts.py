"""How often a host that ends by itself is started again, and how soon (`peers.md`, trap 51). No clock in it."""

from __future__ import annotations

from collections import deque
from typing import Final

DELAYS: Final = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Seconds before each restart of a row; there are no more in `WINDOW` than these. A host that dies once costs nothing,
one that always dies keeps neither the machine nor the user busy."""

WINDOW: Final = 600.0
"""Seconds after which a restart is forgotten."""


class Restarts:
    """The restarts of one kind of host so far; times are in seconds on any clock that only goes forward."""

    def __init__(self) -> None:
        self._times: deque[float] = deque()

    def delay(self, now: float) -> float | None:
        """Seconds to wait before the next restart, None if it would be one too many."""
        self._forget(now)
        return DELAYS[len(self._times)] if len(self._times) < len(DELAYS) else None

    def count(self, now: float) -> None:
        """A host is started again now."""
        self._times.append(now)

    def again_in(self, now: float) -> float:
        """Seconds until the next restart is allowed."""
        self._forget(now)
        return 0.0 if len(self._times) < len(DELAYS) else self._times[0] + WINDOW - now

    def _forget(self, now: float) -> None:
        while self._times and now - self._times[0] >= WINDOW:
            self._times.popleft()
