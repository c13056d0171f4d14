"""Pieces of one text that arrive together are one; whatever stands between them keeps them apart."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from adapter.msp.changes import Change, TextAppended
from adapter.msp.event_routing import EventRouting
from adapter.msp.fold import SessionFold
from adapter.msp.joining import DELTA, FIRST, join

Json = dict[str, Any]


def piece(text: Any, cursor: str | None = None, **changes: Any) -> Json:
    return {"sessionId": "s", "itemId": "i", "field": "text", "delta": text, "viewCursor": cursor, **changes}


def joined(*pieces: Json) -> list[Json]:
    """What is handled of pieces that come right after one another."""
    handled: list[Json] = []
    for each in copy.deepcopy(pieces):
        if not (handled and join(DELTA, handled[-1], each)):
            handled.append(each)
    return handled


def folded(*pieces: Json) -> str:
    """The text that is told of them."""
    fold = SessionFold("s")
    changes: list[Change] = [*fold.apply("turn/started", {"turnId": "t"})]
    item = {"itemId": "i", "kind": "agentMessage", "turnId": "t", "revision": 1, "text": ""}
    changes += fold.apply("item/started", {"item": item})
    for each in pieces:
        changes += fold.apply(DELTA, each)
    return "".join(change.text for change in changes if isinstance(change, TextAppended))


def test_pieces_of_one_text_are_joined_in_order() -> None:
    (one,) = joined(piece("a", "1"), piece("b", "2"), piece("ç", "3"))
    assert (one["delta"], one["viewCursor"]) == ("abç", "3")


@pytest.mark.parametrize(
    "other",
    [
        piece("b", "2", itemId="j"),
        piece("b", "2", sessionId="other"),
        piece("b", "2", field="output"),
        piece(7, "2"),
        piece(None, "2"),
    ],
)
def test_what_is_not_of_one_text_stays_apart(other: Json) -> None:
    assert joined(piece("a", "1"), other) == [piece("a", "1"), other]
    assert joined(other, piece("a", "1")) == [other, piece("a", "1")]


def test_other_events_are_never_joined() -> None:
    assert not join("item/updated", piece("a", "1"), piece("b", "2"))


def test_pieces_without_cursors_are_joined_too() -> None:
    (one,) = joined(piece("a"), piece("a"), piece("b"))
    assert one["delta"] == "aab"


@pytest.mark.parametrize(
    "cursors", ["1", "11", "112", "122", "1122", "12", "1223", "1233"], ids=lambda cursors: f"cursors {cursors}"
)
@pytest.mark.parametrize("first_alone", [True, False])
def test_a_piece_that_is_told_twice_counts_once(cursors: str, first_alone: bool) -> None:
    pieces = [piece(f"<{cursor}>", cursor) for cursor in cursors]
    apart = folded(*copy.deepcopy(pieces))
    assert apart == "".join(f"<{cursor}>" for cursor in dict.fromkeys(cursors))
    together = [pieces[0], *joined(*pieces[1:])] if first_alone else joined(*pieces)
    assert folded(*together) == apart


def test_nothing_is_joined_while_a_session_is_opened() -> None:
    routing = EventRouting()
    assert routing._join(DELTA, piece("a", "1"), piece("b", "2"))
    routing._opening += 1
    earlier = piece("a", "1")
    assert not routing._join(DELTA, earlier, piece("b", "2")) and FIRST not in earlier
