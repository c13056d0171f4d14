"""Compactions as updates of their own, for clients that show them so (`acp.md §6`). Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from adapter.acp import updates
from adapter.bridge.tool_cards.card_notes import compaction_words
from adapter.msp.items import ItemState

REMEMBERED: Final = 200

_OUTCOMES: Final[dict[str, updates.CompactionStatus]] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "inProgress": "in_progress",
}


class Compactions:
    """What a client has been told of a session's compactions: each begins once and ends once."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._open: dict[str, str | None] = {}

    def show(self, item: ItemState) -> dict[str, Any] | None:
        """The params of the update that tells the item's state, None if it is known."""
        status = self._status(item)
        if item.item_id in self._ended or (status == "in_progress" and item.item_id in self._open):
            return None
        if status == "in_progress":
            self._open[item.item_id] = item.turn_id
            return updates.compaction(self._session_id, item.item_id, status)
        words = compaction_words(item.raw)
        summary = [{"type": "text", "text": words}] if words and status == "completed" else None
        error = (words or "it failed") if status == "failed" else None
        return self._end(item.item_id, status, summary=summary, error=error)

    def close(self, turn_id: str | None) -> list[dict[str, Any]]:
        """The ends of those that did not end with their turn; None means all."""
        left = [item_id for item_id, owner in self._open.items() if turn_id is None or owner in (turn_id, None)]
        return [self._end(item_id, "cancelled") for item_id in left]

    def _end(self, item_id: str, status: updates.CompactionStatus, **members: Any) -> dict[str, Any]:
        self._open.pop(item_id, None)
        self._ended[item_id] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        return updates.compaction(self._session_id, item_id, status, **members)

    def _status(self, item: ItemState) -> updates.CompactionStatus:
        outcome = item.raw.get("outcome")
        if item.status == "completed" and outcome in ("failed", "cancelled"):
            return "failed" if outcome == "failed" else "cancelled"
        return _OUTCOMES.get(item.status, "failed")
