"""What a client has been told about one card, and what has to be told next. Pure."""

from __future__ import annotations

from typing import Any, Final

import anyio

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.tool_cards.card_text import TRUNCATED_KEY
from adapter.bridge.tool_cards.terminal_cards import TerminalCard
from adapter.bridge.tool_cards.throttle import Throttle
from adapter.msp.items import ItemState

ENDED: Final = frozenset({"completed", "failed"})
"""Statuses after which a card keeps what it shows (`acp.md §7`)."""

OVERHEAD: Final = 300
"""About how many bytes an update has beside what the card shows."""

_NO_ITEM: Final = ItemState("")
"""What a card that has ended is of: it keeps nothing of its item."""


class ShownCard:
    """One card. `members` and `meta` are what the client has; of one that has ended, hardly more than that it has."""

    __slots__ = (
        "card_id",
        "changes",
        "cut_off",
        "ended",
        "has_stored_changes",
        "item",
        "item_id",
        "members",
        "meta",
        "number",
        "printed",
        "reading",
        "settled",
        "terminal",
        "throttle",
        "turn_id",
        "waits",
    )

    def __init__(self, item: ItemState, number: int = 1) -> None:
        self.item = item
        self.item_id = item.item_id
        self.number = number
        """Which card of the item it is."""
        self.card_id = item.item_id if number == 1 else f"{item.item_id}#{number}"
        """What the client knows it by."""
        self.cut_off = False
        """Whether it was ended without a word of the host about the call."""
        self.turn_id = item.turn_id
        self.members: dict[str, Any] = {}
        self.meta: dict[str, Any] = {}
        self.changes: list[dict[str, Any]] = []
        """The diffs it shows."""
        self.has_stored_changes = False
        """Whether they are what the host has stored, which counts for more than anything else."""
        self.terminal: TerminalCard | None = None
        self.throttle = Throttle()
        self.printed = 0
        """How much output has come."""
        self.waits = False
        """Whether the call waits for a decision."""
        self.reading = 0
        """How many things about it are being read; it does not end before it has them."""
        self.settled: anyio.Event | None = None
        """Set when a card ends that was held open by what is being read."""
        self.ended = False

    @property
    def cost(self) -> int:
        """About how many bytes drawing it takes."""
        new = min(self.printed, CARD_TEXT_BYTES) if self.terminal is None else self.terminal.waiting
        return new + OVERHEAD

    def terminal_info(self) -> dict[str, Any]:
        """What the client is told of the card's terminal, if it has one."""
        return {} if self.terminal is None else self.terminal.info()

    def lacks_only_content(self, members: dict[str, Any], meta: dict[str, Any]) -> bool:
        """Whether nothing but what the card shows is new to the client, if anything."""
        changed = {name for name, value in members.items() if self.members.get(name) != value}
        said, known = dict(meta), dict(self.meta)
        said.pop(TRUNCATED_KEY, None)
        known.pop(TRUNCATED_KEY, None)
        return changed <= {"content"} and said == known

    def take(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members that are new to the client, which has them from now on."""
        changed = members
        if self.members:
            changed = {name: value for name, value in members.items() if self.members.get(name) != value}
        self.members |= changed
        return changed

    def take_meta(self, meta: dict[str, Any]) -> dict[str, Any] | None:
        """All of `_meta` if anything about it is new to the client, None if not; null for what is gone.

        All of it, since some clients merge it and others put it in the place of what they had. What was said of the
        text of an ended card stays, as the text does.
        """
        if meta == self.meta:
            return None
        changed = {name: value for name, value in meta.items() if self.meta.get(name) != value}
        changed |= {name: None for name in self.meta if name not in meta}
        if self.ended:
            changed.pop(TRUNCATED_KEY, None)
        if not changed:
            return None
        whole = self.meta | changed
        self.meta = {name: value for name, value in whole.items() if value is not None}
        return whole

    def end(self) -> None:
        """It has ended: what it shows is not needed any more."""
        self.ended = True
        self.members = {"status": self.members.get("status")}
        self.changes = []
        self.terminal = None
        self.item = _NO_ITEM
        if self.settled is not None:
            self.settled.set()
