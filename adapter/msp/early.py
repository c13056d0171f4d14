"""Deltas that arrive before the item they belong to."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

# By rule an item is announced before its deltas, so anything held is the exception; this much of it is enough.
HELD_ITEMS: Final = 256
HELD_CHARACTERS: Final = 256 * 1024


class EarlyDeltas:
    """Deltas held until their item is known, in order.

    Held, not shown at once, because only the item tells whether they are the beginning of its text. Where they are
    not (something was lost, or there was too much to hold), the item is told not to stream at all: its completion
    brings the whole text.

    Attributes:
        trusted: nothing was lost since the present turn began.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[str, list[tuple[str, str]] | None] = OrderedDict()
        self._characters = 0
        self.trusted = True

    def hold(self, item_id: str, field: str, text: str) -> None:
        if item_id not in self._held:
            self._held[item_id] = [] if self.trusted else None
            if len(self._held) > HELD_ITEMS:
                self.release(next(iter(self._held)))
                self.trusted = False
        deltas = self._held[item_id]
        if deltas is None:
            return
        if self._characters + len(text) > HELD_CHARACTERS:
            self._spoil(item_id)
            return
        deltas.append((field, text))
        self._characters += len(text)

    def release(self, item_id: str) -> list[tuple[str, str]] | None:
        """What was held for an item, in order; None if it is not the beginning of its text."""
        if item_id not in self._held:
            return []
        deltas = self._held.pop(item_id)
        self._characters -= sum(len(text) for _, text in deltas or ())
        return deltas

    def distrust(self) -> None:
        """Something was lost: what is held may have a hole, and what comes may be a middle."""
        for item_id in self._held:
            self._spoil(item_id)
        self.trusted = False

    def trust(self) -> None:
        """A new turn began: its items begin later than whatever was lost."""
        self.trusted = True

    def _spoil(self, item_id: str) -> None:
        self._characters -= sum(len(text) for _, text in self._held[item_id] or ())
        self._held[item_id] = None
