"""Pieces of one text that arrive together, taken as one: whoever handles them has the work of one."""

from __future__ import annotations

from typing import Final

from adapter.wire.envelope import Params

DELTA: Final = "item/delta"

FIRST: Final = "muse-adapter/first"
"""The cursor of the first piece, and how many characters it has. No host sends it."""

_PLACE: Final = ("itemId", "sessionId", "field")


def join(method: str, earlier: Params, later: Params) -> bool:
    """Let a delta take up the one right behind it, if that is of the same text. What is told twice is taken up once
    (`msp.md §11.1`: each event has a cursor of its own)."""
    if method != DELTA:
        return False
    for name in _PLACE:
        if earlier.get(name) != later.get(name):
            return False
    text, more, cursor = earlier.get("delta"), later.get("delta"), later.get("viewCursor")
    if type(text) is not str or type(more) is not str:
        return False
    before = earlier.get("viewCursor")
    if cursor is None or cursor != before:
        earlier.setdefault(FIRST, (before, len(text)))
        earlier["delta"] = text + more
        earlier["viewCursor"] = cursor
    return True
