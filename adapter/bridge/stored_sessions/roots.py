"""The folders a session may work in (`acp.md §4`, `msp.md §10.2, §12.1`)."""

from __future__ import annotations

from collections.abc import Sequence


class Roots:
    """A session's own folder first, then those that the client added.

    A host is told of them when it starts the session. Otherwise it is with the next turn, once, since they hold from
    then on; also if there is but one, for the host may have stored others: what the client did not list is no root.
    """

    def __init__(self, directories: Sequence[str], *, untold: bool = False) -> None:
        self.directories = tuple(directories)
        self._untold = untold

    def for_turn(self) -> list[str] | None:
        """What the host has to be told with the turn that starts now."""
        return list(self.directories) if self._untold else None

    def told(self) -> None:
        """The host has taken them in."""
        self._untold = False
