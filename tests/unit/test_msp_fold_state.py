"""The fold of one session: open questions, facts, cursors, gaps and history."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.changes import (
    ApprovalOpened,
    ApprovalResolved,
    ApprovalUpdated,
    ContextUsageChanged,
    GapSeen,
    InputOpened,
    InputSettled,
    SessionClosed,
    SessionFactChanged,
    TextAppended,
    TodoListChanged,
    TokenUsageChanged,
    TurnStarted,
    Unrecognised,
)
from adapter.msp.fold import SessionFold
from adapter.msp.vocabulary import NOTIFICATIONS, Delivery
from tests.folding import (
    Event,
    approval,
    completed,
    delta,
    durable,
    item,
    kinds,
    paged,
    run,
    shown,
    started,
    todo,
    updated,
)


@pytest.fixture
def fold() -> SessionFold:
    return SessionFold("s")


# -- questions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "methods", [["approval/requested"], ["approval/request"], ["approval/requested", "approval/request"]]
)
def test_approval_is_asked_once_however_it_comes(fold: SessionFold, methods: list[str]) -> None:
    changes = run(fold, *((method, approval(viewCursor="v", sourceRange={})) for method in methods * 2))
    assert kinds(changes) == ["ApprovalOpened"]
    assert list(fold.open_approvals) == ["a"]


def test_next_stage_arrives_by_update_and_keeps_the_rest(fold: SessionFold) -> None:
    run(fold, ("approval/requested", approval()))
    update = approval(1, change={"kind": "stageResolved"}, availableChoices=[{"choiceId": "x"}])
    del update["toolName"]
    changes = run(fold, ("approval/updated", update), ("approval/request", approval(1)))
    assert kinds(changes) == ["ApprovalUpdated"]
    assert isinstance(changes[0], ApprovalUpdated)
    assert changes[0].params == approval(1, change={"kind": "stageResolved"}, availableChoices=[{"choiceId": "x"}])
    assert "change" not in fold.open_approvals["a"]


@pytest.mark.parametrize(
    ("before", "update"),
    [([], approval(1)), ([("approval/requested", approval())], approval(1, change={"kind": "alreadyTerminal"}))],
)
def test_updates_that_change_nothing(fold: SessionFold, before: list[Event], update: dict[str, Any]) -> None:
    run(fold, *before)
    assert run(fold, ("approval/updated", update)) == []


def test_resolved_approval_is_not_asked_again(fold: SessionFold) -> None:
    resolved = {"approvalId": "a", "decision": "denied"}
    changes = run(
        fold, ("approval/resolved", resolved), ("approval/resolved", resolved), ("approval/request", approval())
    )
    assert changes == [ApprovalResolved(resolved)]
    assert not fold.open_approvals


def test_user_input_opens_and_settles_once(fold: SessionFold) -> None:
    question = {"userInputId": "u", "questions": []}
    changes = run(
        fold,
        ("userInput/request", question),
        ("userInput/requested", question),
        ("userInput/settled", {"userInputId": "u", "outcome": "answered"}),
        ("userInput/request", question),
    )
    assert kinds(changes) == ["InputOpened", "InputSettled"]


def test_questions_read_from_history_are_asked_when_the_host_sends_them(fold: SessionFold) -> None:
    assert kinds(fold.load_events(paged(durable(("approval/requested", approval()), "v:1")))) == ["ApprovalOpened"]
    assert kinds(run(fold, ("approval/request", approval(viewCursor="v:1")))) == ["ApprovalOpened"]
    assert run(fold, ("approval/request", approval(viewCursor="v:1"))) == []


def test_question_found_while_filling_a_hole_is_told_once(fold: SessionFold) -> None:
    page = paged(durable(("approval/requested", approval()), "v:1"), durable(("approval/updated", approval(1)), "v:2"))
    assert kinds(fold.load_events(page, asking=True)) == ["ApprovalOpened", "ApprovalUpdated"]
    assert fold.reconcile({"approvals": [approval(1)], "userInputs": []}, fold.open_questions) == []


def test_stage_seen_live_is_not_told_again_by_the_page(fold: SessionFold) -> None:
    asked = durable(("approval/requested", approval()), "v:1")
    moved = durable(("approval/updated", approval(1, viewCursor="v:2")), "v:2")
    run(fold, asked, moved)
    assert fold.load_events(paged(asked, moved), asking=True) == []


def test_pending_list_opens_what_was_lost_and_closes_what_is_gone(fold: SessionFold) -> None:
    run(fold, ("approval/requested", approval(approval_id="old")), ("userInput/requested", {"userInputId": "gone"}))
    before = fold.open_questions
    run(fold, ("approval/requested", approval(approval_id="young")))
    pending = {"approvals": [approval(approval_id="lost"), "junk"], "userInputs": [{"userInputId": "new"}]}
    changes = fold.reconcile(pending, before)
    assert sorted(kinds(changes)) == ["ApprovalOpened", "ApprovalResolved", "InputOpened", "InputSettled"]
    assert all("decision" not in c.params for c in changes if isinstance(c, ApprovalResolved))
    assert sorted(fold.open_approvals) == ["lost", "young"]
    assert list(fold.open_inputs) == ["new"]


# -- facts, cursors, gaps --------------------------------------------------------------------------------------------


def test_facts_are_replaced_and_told_when_they_change(fold: SessionFold) -> None:
    usage, occupancy = {"cumulative": {"totalTokens": 5}}, {"usedTokens": 5, "pressure": "normal"}
    changes = run(
        fold,
        todo("a"),
        todo("a"),
        ("session/tokenUsage", usage),
        ("session/contextUsage", occupancy),
        ("session/modelChanged", {"modelId": "m"}),
        ("session/statusChanged", {"status": "idle", "viewCursor": None}),
    )
    assert changes == [
        TodoListChanged([{"text": "a", "status": "pending"}]),
        TokenUsageChanged(usage),
        ContextUsageChanged(occupancy),
        SessionFactChanged("model", {"modelId": "m"}),
        SessionFactChanged("status", {"status": "idle", "viewCursor": None}),
    ]
    assert fold.todo == [{"text": "a", "status": "pending"}]


@pytest.mark.parametrize("odd", [7, ["t"], {"id": "t"}])
def test_a_question_names_its_turn_by_an_id_or_not_at_all(fold: SessionFold, odd: Any) -> None:
    asked = approval() | {"turnId": odd}
    changes = run(fold, ("approval/requested", asked), ("userInput/requested", {"userInputId": "u", "turnId": odd}))
    changes += fold.reconcile({"approvals": [asked | {"approvalId": "b"}]}, ())
    assert len(changes) == 3
    assert all("turnId" not in change.params for change in changes)  # type: ignore[union-attr]


def test_session_closed(fold: SessionFold) -> None:
    assert run(fold, ("session/closed", {"reason": "idle", "viewCursor": None})) == [SessionClosed("idle")]


def test_every_notification_a_host_sends_is_recognised(fold: SessionFold) -> None:
    sent = [name for name, delivery in NOTIFICATIONS.items() if not delivery & Delivery.FROM_CLIENT]
    assert [c for name in sent for c in fold.apply(name, {}) if isinstance(c, Unrecognised)] == []


@pytest.mark.parametrize("method", sorted(NOTIFICATIONS))
@pytest.mark.parametrize("value", [None, 7, "x", [], {}, True, [{}], {"x": []}])
def test_wrong_typed_members_never_raise(fold: SessionFold, method: str, value: Any) -> None:
    members = "item itemId delta field turnId terminal error usage items approvalId userInputId change after next goal"
    fold.apply(method, value)
    for params in (
        dict.fromkeys(members.split(), value),
        {"item": {"itemId": "i", "summary": value, "kind": value}},
    ):
        fold.apply(method, params)
        fold.load_events([value, {"method": method, "params": params}, {"method": value, "params": value}])
        fold.load_snapshot(dict.fromkeys(("items", "activeTurn", "todoList", "goal", "name", "branch"), value))
        fold.complete_from(dict.fromkeys(("items", "activeTurn", "todoList", "goal", "name", "branch"), value))


def test_repeated_durable_event_is_applied_once(fold: SessionFold) -> None:
    retry = durable(("turn/retryScheduled", {"turnId": "t"}), "v:1")
    assert kinds(run(fold, retry, retry)) == ["RetryScheduled"]
    assert fold.load_events(paged(retry)) == []


def test_cursors_of_durable_and_other_events(fold: SessionFold) -> None:
    run(fold, durable(completed(item()), "v:1"), started(item("j")), delta("a", "j", viewCursor="v:2"))
    assert fold.last_durable_cursor == "v:1"


def test_unknown_view_event_still_advances_the_cursor(fold: SessionFold) -> None:
    run(fold, durable(("session/auraChanged", {}), "v:9"))
    assert fold.last_durable_cursor == "v:9"


def test_gap_stops_following_open_text_until_the_completion(fold: SessionFold) -> None:
    changes = run(
        fold,
        started(item()),
        delta("ab"),
        ("view/gap", {"after": "v:1", "next": "v:3"}),
        delta("ef"),
        completed(item(revision=2, text="abcdef")),
    )
    assert [c for c in changes if isinstance(c, GapSeen)] == [GapSeen("v:1", "v:3")]
    assert shown(changes) == "abcdef"


def test_text_of_an_item_opened_in_a_gap_waits_for_its_completion(fold: SessionFold) -> None:
    changes = run(fold, ("view/gap", {"after": "v:1", "next": "v:3"}), delta("ef"), started(item()), delta("gh"))
    assert shown(changes) == ""
    assert shown(run(fold, completed(item(revision=2, text="abcdefgh")))) == "abcdefgh"


def test_a_new_turn_is_streamed_again_after_a_gap(fold: SessionFold) -> None:
    run(fold, ("view/gap", {"after": "v:1", "next": "v:3"}), ("turn/started", {"turnId": "t2"}))
    assert shown(run(fold, delta("ab"), started(item()), delta("cd"))) == "abcd"


def test_output_goes_on_after_a_gap(fold: SessionFold) -> None:
    run(fold, started(item(kind="toolCall")), ("view/gap", {"after": "v:1", "next": "v:3"}))
    assert shown(run(fold, delta("line", field="output"))) == "line"


@pytest.mark.parametrize("joined_late", [[], [updated(item(revision=2))]])
def test_h7_text_joined_in_the_middle_is_shown_whole_at_the_end(fold: SessionFold, joined_late: list[Event]) -> None:
    changes = run(fold, delta("ef"), *joined_late, delta("gh"), completed(item(revision=3, text="abcdefgh")))
    assert shown(changes) == "abcdefgh"


def test_output_read_ahead_of_the_stream_is_not_repeated(fold: SessionFold) -> None:
    ahead = durable(updated(item(kind="toolCall", revision=2, visibleOutput="abcd")), "v:5")
    changes = run(fold, started(item(kind="toolCall")), delta("ab", field="output"))
    changes += fold.load_events(paged(ahead), after="v:1")
    changes += run(fold, delta("cd", field="output"), ahead, delta("ef", field="output"))
    assert shown(changes) == "abcdef"


# -- history ---------------------------------------------------------------------------------------------------------


def test_items_of_a_snapshot_are_told_in_order(fold: SessionFold) -> None:
    state = {"items": [item("u", "userMessage", status="completed"), item("a", status="completed", text="hi")]}
    assert kinds(fold.load_snapshot(state)) == ["ItemChanged", "ItemChanged", "TextAppended"]
    assert [known.item_id for known in fold.items] == ["u", "a"]
    assert fold.load_snapshot(state) == []


@pytest.mark.parametrize(
    ("state", "begins"),
    [({"activeTurn": None}, []), ({"activeTurn": {"turnId": "t1"}}, []), ({}, ["TurnStarted"])],
    ids=["over", "running", "unknown"],
)
def test_a_turn_that_was_there_in_a_snapshot_does_not_begin_again(
    fold: SessionFold, state: dict[str, Any], begins: list[str]
) -> None:
    fold.load_snapshot({"items": [item("u", "userMessage", status="completed", turnId="t1")], **state}, "v:9")
    assert kinds(run(fold, durable(("turn/started", {"turnId": "t1"}), "v:1"))) == begins
    assert kinds(run(fold, durable(("turn/started", {"turnId": "t2"}), "v:10"))) == ["TurnStarted"]


def test_what_a_snapshot_found_open_goes_on_with_the_deltas_behind_it(fold: SessionFold) -> None:
    changes = fold.load_snapshot({"items": [item(text="ab")]})
    changes += run(fold, delta("cd"), completed(item(revision=2, text="abcdef")))
    assert shown(changes) == "abcdef"
    assert [change.text for change in changes if isinstance(change, TextAppended)] == ["ab", "cd", "ef"]


def test_a_snapshot_completes_what_pages_tell_and_never_overrules_them(fold: SessionFold) -> None:
    state = {
        "items": [item("a", status="completed", text="old"), item("b", text="ab"), item("c", text="so far")],
        "activeTurn": {"turnId": "t", "commandId": "c"},
        "todoList": {"items": [{"text": "older", "status": "pending"}], "revision": 1},
        "contextUsage": {"usedTokens": 1, "windowTokens": 2},
        "name": "n",
    }
    events = [todo("newer"), started(item("b")), completed(item("c", revision=2, text="so far so good"))]
    changes = fold.load_events(paged(*(durable(event, f"v:{at}") for at, event in enumerate(events))))
    changes += fold.complete_from(state)
    changes += run(fold, delta("cd", item_id="b"), completed(item("b", revision=2, text="abcdef")))
    assert [change.text for change in changes if isinstance(change, TextAppended)] == [
        "so far so good",
        "ab",
        "cd",
        "ef",
    ]
    assert fold.todo == [{"text": "newer", "status": "pending"}]
    assert fold.facts["contextUsage"] == {"usedTokens": 1, "windowTokens": 2}
    assert fold.facts["name"] == {"name": "n"}
    assert fold.turns.running == ("t",)
    assert fold.items.get("a") is None, "what the pages do not have is not shown out of its place"


def test_a_turn_that_pages_saw_end_does_not_run_again(fold: SessionFold) -> None:
    fold.load_events(paged(durable(("turn/completed", {"turnId": "t", "terminal": "completed"}), "v:1")))
    assert fold.complete_from({"activeTurn": {"turnId": "t", "commandId": "c"}}) == []
    assert fold.turns.running == ()


def test_snapshot_is_told_like_live_events(fold: SessionFold) -> None:
    state = {
        "items": [item("a", status="completed", text="hi")],
        "activeTurn": {"turnId": "t", "commandId": "c"},
        "todoList": {"items": [{"text": "x", "status": "pending"}], "revision": 1, "sourceTool": "write_todos"},
        "effectiveModel": {"modelId": "m", "providerId": None, "source": "user"},
        "goal": {"objective": "o"},
        "name": "n",
        "tokenUsage": {"totalTokens": 1},
        "branch": None,
    }
    changes = fold.load_snapshot(state, "v:7")
    assert TurnStarted("t", "c") in changes
    assert TodoListChanged([{"text": "x", "status": "pending"}]) in changes
    assert TokenUsageChanged({"cumulative": {"totalTokens": 1}}) in changes
    assert {c.name for c in changes if isinstance(c, SessionFactChanged)} == {"model", "goal", "name"}
    assert fold.last_durable_cursor == "v:7"
    assert fold.load_snapshot(state, "v:7") == []
    assert fold.load_snapshot({"goal": None}) == [SessionFactChanged("goal", {"goal": None})]


def test_a_tiny_snapshot_is_enough(fold: SessionFold) -> None:
    assert kinds(fold.load_snapshot({"items": [item()]})) == ["ItemChanged"]


def test_page_read_after_the_fact_does_not_override_what_came_later(fold: SessionFold) -> None:
    run(fold, durable(todo("1"), "v:1"), durable(todo("3"), "v:3"))
    fold.load_events(paged(durable(todo("2"), "v:2"), durable(todo("3"), "v:3")), after="v:1")
    assert fold.todo[0]["text"] == "3"


def test_page_overrides_what_came_before_it(fold: SessionFold) -> None:
    run(fold, durable(todo("1"), "v:1"))
    fold.load_events(paged(durable(todo("2"), "v:2")), after="v:1")
    assert fold.todo[0]["text"] == "2"
    run(fold, durable(todo("3"), "v:3"))
    assert fold.todo[0]["text"] == "3"


def test_old_pages_read_after_a_snapshot_do_not_override_it(fold: SessionFold) -> None:
    fold.load_snapshot({"todoList": {"items": [{"text": "now"}]}}, "v:5")
    fold.load_events(paged(durable(todo("old"), "v:2")))
    assert fold.todo == [{"text": "now"}]


def test_lost_approval_is_found_in_the_page_with_the_stage_that_came_live(fold: SessionFold) -> None:
    asked = durable(("approval/requested", approval()), "v:2")
    moved = durable(("approval/updated", approval(1, change={"kind": "stageResolved"})), "v:3")
    run(fold, durable(todo("1"), "v:1"), moved)
    fold.load_events(paged(asked, moved), after="v:1")
    assert fold.open_approvals["a"]["currentRequirementId"]["sourceIndex"] == 1


def test_lost_stage_does_not_override_the_one_that_came_live(fold: SessionFold) -> None:
    second = durable(("approval/updated", approval(1)), "v:2")
    third = durable(("approval/updated", approval(2)), "v:3")
    run(fold, durable(("approval/requested", approval()), "v:1"), third)
    assert fold.load_events(paged(second, third), after="v:1") == []
    assert fold.open_approvals["a"]["currentRequirementId"]["sourceIndex"] == 2


def test_lost_question_that_was_settled_live_stays_settled(fold: SessionFold) -> None:
    run(fold, ("userInput/settled", {"userInputId": "u", "outcome": "timedOut"}))
    assert fold.load_events(paged(durable(("userInput/requested", {"userInputId": "u"}), "v:1"))) == []


def test_pages_seen_twice_change_nothing(fold: SessionFold) -> None:
    events = paged(durable(todo("1"), "v:1"), durable(completed(item(text="hi")), "v:2"), durable(todo("2"), "v:3"))
    assert kinds(fold.load_events(events)) == ["TodoListChanged", "ItemChanged", "TextAppended", "TodoListChanged"]
    assert fold.load_events(events) == []
    assert fold.todo[0]["text"] == "2"


def test_questions_are_told_with_all_their_params(fold: SessionFold) -> None:
    question = {"userInputId": "u", "questions": [{"id": "q"}], "autoResolutionMs": 5}
    assert run(fold, ("userInput/requested", question)) == [InputOpened(question)]
    settled = {"userInputId": "u", "outcome": "cancelled"}
    assert run(fold, ("userInput/settled", settled)) == [InputSettled(settled)]
    assert run(fold, ("approval/requested", approval())) == [ApprovalOpened(approval())]
