"""Filling holes in a view: which pages are asked for, when it is over, and what happens to live events meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.gaps import FillStep, GapRecovery, PageRequest, Phase
from adapter.msp.view import SessionView


def event(cursor: str) -> dict[str, Any]:
    return {"method": "item/completed", "params": {"viewCursor": cursor}}


def page(*cursors: str, following: str | None = None) -> dict[str, Any]:
    return {"events": [event(cursor) for cursor in cursors], "nextCursor": following}


def cursors(step: FillStep) -> list[str]:
    return [applied["params"]["viewCursor"] for applied in step.events]


def opened(after: str = "6", next_: str = "9") -> GapRecovery:
    recovery = GapRecovery(page_limit=2)
    recovery.open(after, next_)
    return recovery


def asked(recovery: GapRecovery) -> PageRequest:
    request = recovery.next_request()
    assert request is not None
    return request


def test_idle_recovery_asks_nothing_and_holds_nothing() -> None:
    recovery = GapRecovery()
    assert recovery.next_request() is None
    assert recovery.hold("item/delta", {}) is False
    assert recovery.accept(page("1")) == recovery.failed("internal") == FillStep()


def test_fill_starts_at_the_hole_and_stops_at_the_event_that_was_delivered() -> None:
    recovery = opened()
    assert asked(recovery) == PageRequest("6", None, 2)
    assert recovery.next_request() is None  # one at a time
    first = recovery.accept(page("7", "8", following="8"))
    assert (cursors(first), first.after, first.done) == (["7", "8"], "6", False)
    assert asked(recovery).cursor == "8"
    last = recovery.accept(page("9", "10", following="10"))
    assert (cursors(last), last.after) == (["9"], "8")
    assert last.done
    assert last.reconcile_approvals
    assert not recovery.active


def test_an_ephemeral_next_is_never_paged_so_the_end_of_the_view_ends_the_fill() -> None:
    recovery = opened(next_="a delta")
    asked(recovery)
    step = recovery.accept(page("7", "8"))
    assert (cursors(step), step.done, step.incomplete) == (["7", "8"], True, None)


def test_live_events_are_held_and_handed_out_in_order() -> None:
    recovery = opened()
    asked(recovery)
    assert recovery.hold("item/started", {"n": 1})
    assert recovery.hold("item/delta", {"n": 2})
    step = recovery.accept(page("7", "9"))
    assert step.live == [("item/started", {"n": 1}), ("item/delta", {"n": 2})]
    assert not recovery.hold("item/delta", {"n": 3})


def test_reading_anew_begins_at_the_beginning_and_holds_what_arrives() -> None:
    recovery = GapRecovery(page_limit=2)
    recovery.restart()
    assert asked(recovery) == PageRequest(None, None, 2)
    assert recovery.hold("item/started", {"n": 1})
    first = recovery.accept(page("1", "2", following="2"))
    assert (cursors(first), first.after, first.done) == (["1", "2"], None, False)
    assert asked(recovery).cursor == "2"
    last = recovery.accept(page("3"))
    assert (cursors(last), last.live, last.done) == (["3"], [("item/started", {"n": 1})], True)
    assert last.reconcile_approvals and last.incomplete is None


def test_reading_anew_takes_the_place_of_a_fill() -> None:
    recovery = opened()
    asked(recovery)
    recovery.hold("item/started", {"n": 1})
    recovery.restart()
    assert recovery.accept(page("7", "9")) == FillStep(), "the page that was on its way is not that of the beginning"
    assert asked(recovery) == PageRequest(None, None, 2)
    step = recovery.accept(page("1", "9", "10"))
    assert (cursors(step), step.live, step.done) == (["1", "9", "10"], [("item/started", {"n": 1})], True)


def test_a_second_hole_keeps_the_first_after_and_moves_the_end() -> None:
    recovery = opened("6", "8")
    recovery.open("10", "12")
    assert asked(recovery).cursor == "6"
    assert not recovery.accept(page("7", "8", following="8")).done
    asked(recovery)
    assert recovery.accept(page("9", "12", following="12")).done


def test_a_hole_told_while_a_page_is_on_its_way_is_read_again_at_the_end() -> None:
    recovery = opened("6", "8")
    asked(recovery)
    recovery.open("10", "12")
    assert not recovery.accept(page("7", "8")).done  # the host's answer may be older than the hole
    assert asked(recovery).cursor == "8"
    assert recovery.accept(page("11")).done


def test_a_hole_that_was_read_already_needs_no_more() -> None:
    recovery = opened("6", "9")
    asked(recovery)
    recovery.accept(page("7", "8", following="8"))
    recovery.open("6", "8")
    asked(recovery)
    assert recovery.accept(page("9", following="9")).done


@pytest.mark.parametrize(
    "broken", [page(following="7"), page("7", following="6"), {"events": None}, {"events": [], "nextCursor": 5}, {}]
)
def test_a_page_that_leads_nowhere_falls_back_to_the_latest_compaction(broken: dict[str, Any]) -> None:
    recovery = opened()
    asked(recovery)
    assert recovery.accept(broken).re_anchored
    assert asked(recovery) == PageRequest(None, "latestCompaction", 2)
    first = recovery.accept(page("1", "2", following="2"))
    assert first.after == "6"  # what comes unseen from here on counts as lost in the hole
    assert asked(recovery) == PageRequest("2", None, 2)
    assert recovery.accept(page("9")).done


def test_without_a_boundary_the_view_is_read_from_the_beginning() -> None:
    recovery = opened()
    for reason in ("viewTruncated", "noBoundary"):
        asked(recovery)
        assert recovery.failed(reason).re_anchored == reason
    assert asked(recovery) == PageRequest(None, None, 2)
    step = recovery.accept(page("1", "9", "10"))
    assert cursors(step) == ["1", "9", "10"]  # to its end, not to where the splice would have stopped
    assert step.done


def test_when_nothing_works_live_events_flow_again_and_the_hole_is_named() -> None:
    recovery = opened()
    recovery.hold("item/delta", {})
    for reason in ("viewTruncated", "noBoundary", "internal"):
        asked(recovery)
        step = recovery.failed(reason)
    assert (step.done, step.incomplete, step.live) == (True, "internal", [("item/delta", {})])
    assert step.reconcile_approvals
    assert not recovery.active


def test_an_event_too_large_for_a_page_is_stepped_over() -> None:
    recovery = opened()
    asked(recovery)
    recovery.failed("pageEventTooLarge", resume_after="7")
    assert asked(recovery).cursor == "7"
    step = recovery.accept(page("8", "9"))
    assert (step.done, step.incomplete) == (True, "pageEventTooLarge")


def test_the_same_too_large_event_twice_falls_back() -> None:
    recovery = opened()
    asked(recovery)
    recovery.failed("pageEventTooLarge", resume_after="7")
    asked(recovery)
    assert recovery.failed("pageEventTooLarge", resume_after="7").re_anchored == "pageEventTooLarge"


def test_pages_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.gaps.SPLICE_PAGES", 2)
    monkeypatch.setattr("adapter.msp.gaps.RE_ANCHOR_PAGES", 2)
    recovery, n = opened(next_="never"), 100
    steps = []
    while recovery.next_request():
        n += 1
        steps.append(recovery.accept(page(str(n), following=str(n))))
    assert len(steps) == 6
    assert steps[-1].incomplete == "tooManyPages"


@pytest.mark.parametrize("on_its_way", [True, False])
def test_too_much_to_hold_reads_to_the_end_of_the_view(monkeypatch: pytest.MonkeyPatch, on_its_way: bool) -> None:
    monkeypatch.setattr("adapter.msp.gaps.HELD_EVENTS", 3)
    recovery = opened()
    if on_its_way:
        asked(recovery)
    for method in ("session/statusChanged", "item/delta", "item/completed", "item/delta", "item/started"):
        recovery.hold(method, {})
    if on_its_way:
        assert recovery.accept(page("7", "9", following="9")).re_anchored == "heldEventsOverflow"
    assert recovery.phase is Phase.RE_ANCHOR
    asked(recovery)
    step = recovery.accept(page("7", "9", "12"))
    assert step.lost_live
    assert step.live == [("session/statusChanged", {}), ("item/started", {})]


def test_what_is_held_is_bounded_by_its_size_too() -> None:
    recovery = opened()
    asked(recovery)
    for _ in range(7):
        recovery.hold("item/completed", {"item": {"text": "x" * 1024 * 1024}})
    assert len(recovery.accept(page("7", "9")).live) == 7
    recovery.open("20", "22")
    asked(recovery)
    for _ in range(8):
        recovery.hold("item/completed", {"item": {"text": "x" * 1024 * 1024}})
    assert recovery.accept(page("21", "22")).re_anchored == "heldEventsOverflow"


def test_long_broadcasts_are_not_saved_without_end() -> None:
    recovery = opened()
    asked(recovery)
    for number in range(100):
        recovery.hold("usage/changed", {"usage": str(number).ljust(300 * 1024)})
    live = recovery.give_up("tooSlow").live
    assert [method for method, _ in live] == ["usage/changed"] * len(live)
    assert live[-1][1]["usage"].strip() == "99", "the newest say what holds"
    assert len(live) * 300 * 1024 < 10 * 1024 * 1024


def test_a_new_hole_after_a_fill_starts_afresh() -> None:
    recovery = opened("6", "8")
    asked(recovery)
    recovery.accept(page("7", "8"))
    recovery.open("20", "22")
    assert asked(recovery).cursor == "20"
    assert recovery.accept(page("21", "22")).done


def test_request_params_name_one_start_only() -> None:
    expected = {"sessionId": "s", "limit": 5, "direction": "forward"}
    assert PageRequest("c", None, 5).params("s") == expected | {"cursor": "c"}
    assert PageRequest(None, "latestCompaction", 5).params("s") == expected | {"anchor": "latestCompaction"}
    assert PageRequest(None, None, 5).params("s") == expected


def test_view_gives_up_on_demand() -> None:
    view = SessionView("s")
    assert view.give_up("timeout") == []
    view.receive("view/gap", {"after": "1", "next": "3"})
    view.next_page()
    view.receive("session/statusChanged", {"status": "idle"})
    assert len(view.give_up("timeout")) == 1
    assert view.reconcile_due
    view.reconcile({"approvals": [], "userInputs": []}, frozenset())
    assert not view.reconcile_due


def test_view_takes_the_late_answer_to_a_fill_it_gave_up() -> None:
    view = SessionView("s")
    view.receive("view/gap", {"after": "1", "next": "3"})
    view.next_page()
    view.give_up("timeout")
    assert view.take_page(page("2", "3")) == []


@pytest.mark.parametrize("params", [None, {}, {"after": 1, "next": None}])
def test_malformed_gap_opens_nothing(params: Any) -> None:
    view = SessionView("s")
    assert list(view.receive("view/gap", params)) == []
    assert view.next_page() is None


# -- pages that reach into what is held back


def durable(cursor: str) -> tuple[str, dict[str, Any]]:
    return "item/completed", {"viewCursor": cursor, "sourceRange": {}}


PIECE: tuple[str, dict[str, Any]] = ("item/delta", {"viewCursor": "5a"})
HOLE: tuple[str, dict[str, Any]] = ("view/gap", {"after": "5", "next": "6"})


@pytest.mark.parametrize(
    ("held", "read", "following", "applied"),
    [
        ([durable("5"), PIECE, durable("6")], ["3", "4", "5", "6"], None, ["3", "4"]),
        ([durable("5"), PIECE, durable("6"), durable("7")], ["4", "5", "6"], "6", ["4"]),
        ([PIECE, durable("5")], ["4", "5"], None, ["4"]),
        ([durable("5"), PIECE, durable("6")], ["4", "5"], "5", None),
        ([durable("1"), durable("5"), durable("6")], ["1", "2"], "2", None),
        ([durable("5"), HOLE, durable("6")], ["4", "5", "6"], None, ["4", "5", "6"]),
        ([("approval/request", durable("5")[1]), durable("6")], ["5", "6"], None, ["5"]),
        ([durable("8")], ["4", "5"], None, ["4", "5"]),
    ],
    ids=["end", "more is held", "one, at the end", "one", "told again", "hole", "question", "nothing"],
)
def test_h6_what_is_held_back_is_not_read_as_well(
    held: list[tuple[str, dict[str, Any]]], read: list[str], following: str | None, applied: list[str] | None
) -> None:
    """Its deltas would come behind what a page says of the end. `applied` None: reading goes on."""
    recovery = GapRecovery()
    recovery.restart()
    asked(recovery)
    for method, params in held:
        assert recovery.hold(method, params)
    step = recovery.accept(page(*read, following=following))
    assert step.done is (applied is not None)
    assert cursors(step) == (read if applied is None else applied)
    assert step.live == (held if step.done else [])


def test_h6_a_text_that_begins_and_ends_while_a_hole_is_filled_is_told_before_the_end_of_its_turn() -> None:
    view = SessionView("ses-1")
    view.recovery.restart()
    asked(view.recovery)
    item = {"itemId": "m", "kind": "agentMessage", "turnId": "t", "revision": 1, "status": "inProgress", "text": ""}
    told: list[tuple[str, dict[str, Any]]] = [
        ("turn/started", {"turnId": "t", "viewCursor": "5", "sourceRange": {}}),
        ("item/started", {"item": item, "viewCursor": "6", "sourceRange": {}}),
        ("item/delta", {"itemId": "m", "delta": "all of it", "viewCursor": "7"}),
        ("turn/completed", {"turnId": "t", "terminal": "completed", "viewCursor": "8", "sourceRange": {}}),
    ]
    assert [view.receive(method, params) for method, params in told] == [()] * 4
    stored = [{"method": method, "params": params} for method, params in told if "sourceRange" in params]
    changes = view.take_page({"events": stored, "nextCursor": None})
    assert [type(change).__name__ for change in changes] == ["TurnStarted", "ItemChanged", "TextAppended", "TurnEnded"]
