"""The bounded search for an item's newest revision."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.stored_output.contract import HISTORY_PAGE_EVENTS, HISTORY_PAGES
from adapter.bridge.stored_output.scan import HistoryScan, MalformedPage

Json = dict[str, Any]


def event(item_id: str, revision: int = 1, session_id: str = "ses-oak", method: str = "item/completed") -> Json:
    item = {"itemId": item_id, "kind": "toolCall", "revision": revision}
    return {"method": method, "params": {"sessionId": session_id, "viewCursor": "v:1", "item": item}}


def page(*events: Any, following: str | None = None) -> Json:
    return {"events": list(events), "nextCursor": following}


def scan() -> HistoryScan:
    return HistoryScan("ses-oak", "item-oak")


def test_the_first_page_is_asked_for_from_the_head_backward() -> None:
    assert scan().next_page() == {"sessionId": "ses-oak", "direction": "backward", "limit": 100}


def test_the_next_page_begins_where_the_last_one_ended() -> None:
    search = scan()
    cursor = " v:7/Qk9= "  # what it means is the host's affair
    search.take(page(event("other"), following=cursor))
    assert search.next_page() == {"sessionId": "ses-oak", "direction": "backward", "limit": 100, "cursor": cursor}


@pytest.mark.parametrize("method", ["item/started", "item/updated", "item/completed"])
def test_the_newest_event_of_the_item_is_its_newest_revision(method: str) -> None:
    search = scan()
    search.take(page(event("item-oak", 1), event("item-oak", 2, method=method), event("other"), following="v:1"))
    assert search.item is not None
    assert search.item["revision"] == 2
    assert (search.pages, search.events, search.exhausted) == (1, 2, False)
    assert search.next_page() is None


FOREIGN: list[Any] = [
    event("item-oak", session_id="ses-elm"),
    event("item-oak", method="item/delta"),
    event("item-oak", method="turn/completed"),
    {"method": "item/completed"},
    {"method": "item/completed", "params": []},
    {"method": "item/completed", "params": {"sessionId": "ses-oak"}},
    {"method": "item/completed", "params": {"sessionId": "ses-oak", "item": "item-oak"}},
    {"method": ["item/completed"], "params": {"sessionId": "ses-oak", "item": {"itemId": "item-oak"}}},
    {"params": {"sessionId": "ses-oak", "item": {"itemId": "item-oak"}}},
    {"method": "item/completed", "params": {"sessionId": "ses-oak", "item": {"itemId": ["item-oak"]}}},
    "item-oak",
    None,
]


@pytest.mark.parametrize("other", FOREIGN, ids=lambda value: repr(value)[:60])
def test_what_is_not_this_item_of_this_session_is_passed_over(other: Any) -> None:
    search = scan()
    search.take(page(event("item-oak", 1), other))
    assert search.item is not None
    assert (search.item["revision"], search.events) == (1, 2)
    alone = scan()
    alone.take(page(other))
    assert (alone.item, alone.exhausted, alone.events) == (None, True, 1)


def test_the_beginning_of_the_history_ends_the_search() -> None:
    search = scan()
    search.take(page(event("other"), following="v:2"))
    search.take(page(event("other"), event("another")))
    assert search.next_page() is None
    assert (search.pages, search.events, search.exhausted, search.item) == (2, 3, True, None)


@pytest.mark.parametrize("per_page", [0, 1, 100])
def test_twenty_pages_are_twenty_calls_however_little_is_on_them(per_page: int) -> None:
    search = scan()
    calls = 0
    while search.next_page() is not None:
        calls += 1
        search.take(page(*[event("other")] * per_page, following=f"v:{calls}"))
    assert calls == search.pages == HISTORY_PAGES == 20
    assert search.events == 20 * per_page
    assert (search.item, search.exhausted) == (None, False)


def test_an_item_on_the_last_page_is_found() -> None:
    search = scan()
    for number in range(HISTORY_PAGES - 1):
        search.take(page(following=f"v:{number}"))
    assert search.next_page() is not None
    search.take(page(event("item-oak", 4), following="v:more"))
    assert search.item is not None
    assert search.next_page() is None


@pytest.mark.parametrize("cursors", [["v:1", "v:1"], ["v:1", "v:2", "v:1"]])
def test_a_cursor_that_comes_again_ends_the_search(cursors: list[str]) -> None:
    search = scan()
    for cursor in cursors:
        assert search.next_page() is not None
        search.take(page(following=cursor))
    assert search.next_page() is None
    assert (search.pages, search.exhausted) == (len(cursors), False)


def test_an_event_that_fits_no_page_is_gone_past_and_costs_a_page() -> None:
    search = scan()
    search.skip("v:9")
    assert search.next_page() == {"sessionId": "ses-oak", "direction": "backward", "limit": 100, "cursor": "v:9"}
    search.take(page(event("item-oak")))
    assert (search.pages, search.events) == (2, 1)
    assert search.item is not None


def test_the_same_too_large_event_again_ends_the_search() -> None:
    search = scan()
    search.skip("v:9")
    search.skip("v:9")
    assert search.next_page() is None


@pytest.mark.parametrize(
    "malformed",
    [
        {},
        {"nextCursor": None},
        {"events": None, "nextCursor": None},
        {"events": {}, "nextCursor": None},
        {"events": "item-oak", "nextCursor": None},
        {"events": []},
        {"events": [], "nextCursor": 7},
        {"events": [], "nextCursor": ["v:1"]},
        {"events": [], "nextCursor": False},
    ],
    ids=repr,
)
def test_what_is_no_page_is_refused(malformed: Json) -> None:
    with pytest.raises(MalformedPage, match="history page"):
        scan().take(malformed)


histories = st.lists(
    st.lists(st.sampled_from(["item-oak", "fir", "yew"]), max_size=5), min_size=1, max_size=HISTORY_PAGES + 5
)


@given(histories)
def test_any_history_gives_the_newest_revision_within_the_budget(newest_first: list[list[str]]) -> None:
    """Each page is listed newest event first; the revision of an event is how many events are newer than it."""
    ages = iter(range(10_000))
    pages = [[(item_id, next(ages)) for item_id in ids] for ids in newest_first]
    search = scan()
    calls = 0
    while (asked := search.next_page()) is not None:
        number = int(asked.get("cursor", "0"))
        assert number == calls
        calls += 1
        events = [event(item_id, age) for item_id, age in reversed(pages[number])]
        search.take(page(*events, following=str(number + 1) if number + 1 < len(pages) else None))
    seen = [entry for entries in pages[:HISTORY_PAGES] for entry in entries]
    expected = next((age for item_id, age in seen if item_id == "item-oak"), None)
    assert (search.item["revision"] if search.item else None) == expected
    assert calls == search.pages <= HISTORY_PAGES
    assert search.events == (len(seen) if expected is None else expected + 1)
    if expected is None:
        assert search.exhausted is (len(pages) <= HISTORY_PAGES)


def test_the_budget_is_the_documented_one() -> None:
    assert (HISTORY_PAGES, HISTORY_PAGE_EVENTS) == (20, 100)
