"""Text with a hole that a gap explains is told anew, whole and once; without a gap nothing is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.changes import Change, TextAppended, TextRestated, TurnEnded
from adapter.msp.fold import DIFFERING_ITEMS
from adapter.msp.view import SessionView

Json = dict[str, Any]

GAP = ("view/gap", {"after": "v1", "next": "v3"})
END = ("turn/completed", {"turnId": "t1", "terminal": "completed", "viewCursor": "v9", "sourceRange": {}})


def item(revision: int, status: str, name: str = "i", kind: str = "agentMessage", **texts: Any) -> tuple[str, Json]:
    raw = {"itemId": name, "kind": kind, "turnId": "t1", "revision": revision, "status": status, **texts}
    method = "item/started" if status == "inProgress" else "item/completed"
    return method, {"item": raw, "viewCursor": f"v{name}{revision}", "sourceRange": {}}


def delta(text: str, field: str = "text") -> tuple[str, Json]:
    return "item/delta", {"itemId": "i", "delta": text, "field": field}


class Viewed:
    def __init__(self) -> None:
        self.view = SessionView("ses-1")
        self.changes: list[Change] = []

    def tell(self, *events: tuple[str, Json]) -> None:
        for event in events:
            self.changes += self.view.receive(*event)

    def fill(self, *events: tuple[str, Json]) -> None:
        assert self.view.next_page() is not None
        paged = [{"method": method, "params": params} for method, params in events]
        self.changes += self.view.take_page({"events": paged, "nextCursor": None})

    @property
    def shown(self) -> list[str]:
        return [change.text for change in self.changes if isinstance(change, TextAppended)]

    @property
    def anew(self) -> list[str]:
        return [change.text for change in self.changes if isinstance(change, TextRestated)]


BEGINNING = (item(1, "inProgress", text=""), delta("ab"))
FINAL = item(2, "completed", text="abcdef")


def test_k3_text_that_overtook_the_news_of_its_hole_is_told_anew() -> None:
    it = Viewed()
    it.tell(*BEGINNING, delta("ef"), GAP)
    it.fill()
    it.tell(FINAL)
    assert (it.shown, it.anew) == (["ab", "ef"], ["abcdef"])
    it.tell(item(3, "completed", text="abcdef"), END)
    assert it.anew == ["abcdef"]


def test_k3_a_gap_told_after_the_final_text_explains_it() -> None:
    it = Viewed()
    it.tell(*BEGINNING, delta("ef"), FINAL, GAP)
    it.fill()
    assert it.anew == ["abcdef"]


def test_k3_what_the_gap_hid_comes_first_and_before_the_end_of_the_turn() -> None:
    it = Viewed()
    it.tell(*BEGINNING, delta("ef"), GAP)
    it.fill(FINAL, END)
    told = [type(change) for change in it.changes if isinstance(change, TextRestated | TurnEnded)]
    assert told == [TextRestated, TurnEnded]


def test_k3_text_after_the_news_of_a_hole_is_made_up_for_in_its_place() -> None:
    it = Viewed()
    it.tell(*BEGINNING, GAP)
    it.fill()
    it.tell(delta("ef"), FINAL)
    assert (it.shown, it.anew) == (["ab", "cdef"], [])


def test_k1_a_piece_that_is_told_twice_is_shown_once() -> None:
    it = Viewed()
    method, params = delta("ab")
    first, second = (method, {**params, "viewCursor": "v2"}), (method, {**params, "viewCursor": "v3"})
    it.tell(BEGINNING[0], first, first, second, second, delta("c"), delta("c"))
    assert it.shown == ["ab", "ab", "c", "c"]


def test_k1_a_cursor_that_the_next_host_uses_again_is_another_piece() -> None:
    it = Viewed()
    method, params = delta("ab")
    it.tell(BEGINNING[0], (method, {**params, "viewCursor": "v2"}))
    it.view.fold.distrust_streams()
    it.tell(item(1, "inProgress", "j", text=""), (method, {"itemId": "j", "delta": "cd", "viewCursor": "v2"}))
    assert it.shown == ["ab", "cd"]


def test_k1_without_a_gap_nothing_is_told_anew() -> None:
    it = Viewed()
    it.tell(*BEGINNING, delta("ef"), FINAL, END)
    assert (it.shown, it.anew) == (["ab", "ef"], [])


def test_a_gap_of_a_later_turn_explains_nothing() -> None:
    it = Viewed()
    it.tell(*BEGINNING, delta("ef"), FINAL, END, ("turn/started", {"turnId": "t2"}), GAP)
    it.fill()
    assert it.anew == []


@pytest.mark.parametrize(
    ("kind", "field", "final", "anew"),
    [
        ("reasoning", "summary.0", {"summary": ["abcdef"]}, ["abcdef"]),
        ("toolCall", "output", {"visibleOutput": "abcdef"}, []),
        ("agentMessage", "text", {"text": ""}, []),
    ],
    ids=["thought", "output", "nothing"],
)
def test_k3_what_is_told_anew(kind: str, field: str, final: Json, anew: list[str]) -> None:
    it = Viewed()
    it.tell(item(1, "inProgress", kind=kind), delta("ab", field), delta("ef", field), GAP)
    it.fill()
    it.tell(item(2, "completed", kind=kind, **final))
    assert it.anew == anew


def test_k3_output_is_not_shown_twice_where_an_older_end_of_it_arrives_behind_a_hole() -> None:
    it = Viewed()
    it.tell(item(1, "inProgress", kind="toolCall", visibleOutput=""), delta("ab", "output"))
    it.tell(item(3, "completed", kind="toolCall", visibleOutput=""), GAP)
    it.fill(item(4, "completed", kind="toolCall", visibleOutput="abcd"))
    assert it.shown == ["ab", "cd"]


def test_only_so_many_differing_items_are_remembered() -> None:
    it = Viewed()
    for number in range(DIFFERING_ITEMS + 5):
        name = f"i{number}"
        it.tell(item(1, "inProgress", name, text="x"), item(2, "completed", name, text=f"y{number}"))
    it.tell(GAP)
    it.fill()
    assert it.anew == [f"y{number}" for number in range(5, DIFFERING_ITEMS + 5)]


def test_an_unchanged_item_told_again_behind_a_hole_is_not_taken_for_its_start() -> None:
    told_again = ("item/updated", item(1, "inProgress", text="")[1])
    it = Viewed()
    it.tell(GAP)  # it hides the start and the first delta
    it.fill()
    it.tell(told_again, delta("a"), delta("ab"), item(2, "completed", text="aaab"))
    assert (it.shown, it.anew) == (["aaab"], [])


def test_k3_a_start_overtaken_by_text_that_a_hole_hid_leads_to_the_whole_text() -> None:
    it = Viewed()
    it.tell(GAP)
    it.fill()
    it.tell(item(1, "inProgress", text=""), delta("aab"), item(2, "completed", text="aaab"))
    assert (it.shown, it.anew) == (["aab"], ["aaab"])


def test_an_item_of_the_next_turn_is_followed_as_if_there_had_been_no_hole() -> None:
    it = Viewed()
    it.tell(GAP)
    it.fill()
    it.tell(END, ("turn/started", {"turnId": "t2"}))
    it.tell(item(1, "inProgress", text=""), delta("aXb"), item(2, "completed", text="aab"))
    assert (it.shown, it.anew) == (["aXb"], [])
