"""How many questions of hosts may be open at once at the client. What is beyond is refused without asking: nobody
answers so many, and each takes memory at both ends."""

from __future__ import annotations

from typing import Final

MOST_OF_SESSION: Final = 100
"""Of one session and its subagents; calls side by side ask a few dozen at most."""

MOST_OF_ALL: Final = 500
"""Of all sessions together, whichever hosts they are on."""


class Room:
    """Counts what is open; what is taken in one of several rooms counts in the `outer` one too."""

    def __init__(self, most: int, outer: Room | None = None) -> None:
        self._most = most
        self._outer = outer
        self._taken = 0

    def take(self) -> bool:
        """Let one more be open; False if that would be too many."""
        if self._taken >= self._most or not (self._outer is None or self._outer.take()):
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """One that was let in is open no more."""
        self._taken -= 1
        if self._outer is not None:
            self._outer.give_back()
