"""The fold of one session: its text, its items and its turns, event by event."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.changes import (
    ItemChanged,
    RetryScheduled,
    SessionFactChanged,
    TextAppended,
    TextRestated,
    TurnEnded,
    TurnStarted,
    Unrecognised,
)
from adapter.msp.fold import SessionFold
from tests.folding import (
    Event,
    completed,
    delta,
    item,
    kinds,
    run,
    shown,
    started,
    updated,
)


@pytest.fixture
def fold() -> SessionFold:
    return SessionFold("s")


# -- text ----------------------------------------------------------------------------------------------------------


def test_k1_streamed_text_is_not_repeated_by_the_completion(fold: SessionFold) -> None:
    changes = run(
        fold,
        started(item()),
        delta("ab"),
        delta("cd", field="text"),
        delta("ef"),
        completed(item(revision=2, text="abcdef")),
    )
    assert shown(changes) == "abcdef"
    assert kinds(changes) == ["ItemChanged", "TextAppended", "TextAppended", "TextAppended", "ItemChanged"]


def test_k1_deltas_without_an_item_id_are_made_up_for_by_the_completion(fold: SessionFold) -> None:
    nameless: list[Event] = [("item/delta", {"delta": text}) for text in ("ab", "cd", "ef")]
    assert shown(run(fold, *nameless, completed(item(text="abcdef")))) == "abcdef"


def test_k3_the_missing_tail_is_added_once(fold: SessionFold) -> None:
    changes = run(fold, started(item()), delta("ab"), completed(item(revision=2, text="abcdef")))
    assert [c.text for c in changes if isinstance(c, TextAppended)] == ["ab", "cdef"]
    assert kinds(changes)[-2:] == ["TextAppended", "ItemChanged"]


def test_k3_an_item_without_deltas_gives_its_whole_text_after_its_announcement(fold: SessionFold) -> None:
    changes = run(fold, completed(item(text="xyz")))
    assert kinds(changes) == ["ItemChanged", "TextAppended"]
    assert shown(changes) == "xyz"
    assert isinstance(changes[0], ItemChanged)
    assert changes[0].first


@pytest.mark.parametrize("started_text", ["", "ab", "abcd", "abcdef"])
def test_k4_late_start_loses_and_repeats_nothing(fold: SessionFold, started_text: str) -> None:
    changes = run(
        fold, delta("ab"), delta("cd"), started(item(text=started_text)), completed(item(revision=2, text="abcdef"))
    )
    assert shown(changes) == "abcdef"


def test_k4_early_deltas_are_shown_when_the_item_is_known(fold: SessionFold) -> None:
    assert run(fold, delta("ab")) == []
    assert shown(run(fold, started(item(text="")))) == "ab"


def test_k4_start_that_contradicts_early_deltas_waits_for_the_completion(fold: SessionFold) -> None:
    changes = run(fold, delta("cd"), started(item(text="ab")), delta("ef"), completed(item(revision=2, text="abcdef")))
    assert shown(changes) == "abcdef"


def test_early_deltas_beyond_the_bound_wait_for_the_completion(
    fold: SessionFold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapter.msp.early.HELD_CHARACTERS", 3)
    changes = run(
        fold, delta("ab"), delta("cd"), started(item()), delta("ef"), completed(item(revision=2, text="abcdef"))
    )
    assert shown(changes) == "abcdef"


def test_early_deltas_of_many_items_are_bounded(fold: SessionFold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.early.HELD_ITEMS", 2)
    run(fold, *(delta("ab", item_id=str(n)) for n in range(5)))
    for name in ("0", "4"):
        assert shown(run(fold, started(item(name)))) == ""
        assert shown(run(fold, completed(item(name, revision=2, text="ab")))) == "ab"
    run(fold, ("turn/started", {"turnId": "t"}), delta("ab", item_id="next"))
    assert shown(run(fold, started(item("next")))) == "ab"


def test_text_that_was_too_much_to_hold_is_told_in_the_end(fold: SessionFold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.early.HELD_ITEMS", 1)
    changes = run(fold, delta("ab", "a"), delta("x", "b"), started(item("a")), delta("cd", "a"))
    changes += run(fold, completed(item("a", revision=2, text="abcd")))
    assert [change.text for change in changes if isinstance(change, TextRestated)] == ["abcd"]


def test_k5_two_answers_keep_their_own_item(fold: SessionFold) -> None:
    changes = run(fold, completed(item("a", text="one")), completed(item("b", text="two")))
    assert [(c.item.item_id, c.text) for c in changes if isinstance(c, TextAppended)] == [("a", "one"), ("b", "two")]


def test_final_text_that_differs_is_kept_and_not_appended(fold: SessionFold) -> None:
    changes = run(fold, started(item()), delta("abX"), completed(item(revision=2, text="abcd")))
    assert shown(changes) == "abX"
    assert kinds(changes)[-1] == "ItemChanged"
    known = fold.items.get("i")
    assert known is not None
    assert known.text("text") == "abcd"


def test_deltas_of_a_settled_item_are_dropped(fold: SessionFold) -> None:
    assert shown(run(fold, completed(item(text="ab")), delta("cd"))) == "ab"


@pytest.mark.parametrize(
    ("kind", "field", "member"), [("toolCall", "output", "visibleOutput"), ("userShell", "output", "visibleOutput")]
)
def test_output_is_streamed(fold: SessionFold, kind: str, field: str, member: str) -> None:
    changes = run(
        fold,
        started(item(kind=kind)),
        delta("ab", field=field),
        updated(item(kind=kind, revision=2, **{member: "abcd"})),
        completed(item(kind=kind, revision=3, **{member: "abcdef"})),
    )
    assert shown(changes, "output") == "abcdef"


def test_reasoning_summary_parts_are_separate_fields(fold: SessionFold) -> None:
    changes = run(
        fold,
        started(item(kind="reasoning")),
        delta("one", field="summary.0"),
        delta("tw", field="summary.1"),
        completed(item(kind="reasoning", revision=2, summary=["one", "two", "three"], text="raw thought")),
    )
    assert [shown(changes, f"summary.{n}") for n in range(3)] == ["one", "two", "three"]
    assert shown(changes, "text") == ""


def test_reasoning_without_a_summary_gives_its_text_on_completion(fold: SessionFold) -> None:
    open_changes = run(fold, started(item(kind="reasoning", text="half")))
    assert shown(open_changes) == ""
    assert shown(run(fold, completed(item(kind="reasoning", revision=2, text="thought", summary=[])))) == "thought"


@pytest.mark.parametrize(
    "field", ["summary.x", "summary.", "summary.1000", "summary.²", "args", "", "output", 7, ["text"]]
)
def test_unknown_delta_paths_are_ignored(fold: SessionFold, field: Any) -> None:
    assert run(fold, started(item()), delta("ab", field=field))[1:] == []


def test_user_messages_are_told_as_items_only(fold: SessionFold) -> None:
    assert kinds(run(fold, completed(item(kind="userMessage", text="hi")))) == ["ItemChanged"]


# -- items ---------------------------------------------------------------------------------------------------------


def test_j2_completion_without_a_start_announces_the_item(fold: SessionFold) -> None:
    changes = run(fold, completed(item("itm-7", kind="toolCall")))
    assert isinstance(changes[0], ItemChanged)
    assert changes[0].first
    assert not changes[0].item.is_open


@pytest.mark.parametrize("revision", [1, 2])
def test_revisions_that_are_not_higher_are_ignored(fold: SessionFold, revision: int) -> None:
    run(fold, completed(item(revision=2, text="new")))
    assert run(fold, updated(item(revision=revision, text="old"))) == []


def test_retracted_user_message_is_told_again(fold: SessionFold) -> None:
    run(fold, completed(item(kind="userMessage")))
    changes = run(fold, completed(item(kind="userMessage", revision=2, retracted=True)))
    assert isinstance(changes[0], ItemChanged)
    assert not changes[0].first
    assert changes[0].item.raw["retracted"] is True


def test_o3_unknown_method_kind_status_and_missing_members(fold: SessionFold) -> None:
    assert run(fold, ("item/sparkle", {"x": 1})) == [Unrecognised("item/sparkle")]
    run(fold, updated(item("m", kind="mural", status="simmering")), completed({"itemId": "n"}))
    mural, bare = fold.items.get("m"), fold.items.get("n")
    assert mural is not None
    assert bare is not None
    assert (mural.kind, mural.is_open) == ("mural", False)
    assert (bare.kind, bare.status) == ("unknown", "completed")


def test_an_item_without_revisions_still_settles(fold: SessionFold) -> None:
    bare = {"itemId": "i", "kind": "toolCall"}
    run(fold, started(bare), completed(bare))
    known = fold.items.get("i")
    assert known is not None
    assert not known.is_open


def test_settled_items_are_bounded_and_open_ones_kept(fold: SessionFold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.items.REMEMBERED_SETTLED_ITEMS", 2)
    run(fold, started(item("open")), *(completed(item(name, revision=2, text=name)) for name in "abc"))
    assert [known.item_id for known in fold.items] == ["open", "b", "c"]
    assert run(fold, completed(item("a", revision=2, text="a")), updated(item("a", revision=1)), delta("x", "a")) == []


def test_forgotten_item_that_changes_does_not_repeat_its_text(
    fold: SessionFold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapter.msp.items.REMEMBERED_SETTLED_ITEMS", 1)
    run(fold, completed(item("a", text="a")), completed(item("b", text="b")))
    changes = run(fold, completed(item("a", revision=2, text="a!")))
    assert kinds(changes) == ["ItemChanged"]
    assert isinstance(changes[0], ItemChanged)
    assert not changes[0].first


# -- turns ---------------------------------------------------------------------------------------------------------


def test_turn_runs_and_ends(fold: SessionFold) -> None:
    changes = run(
        fold,
        ("turn/started", {"turnId": "t", "commandId": "c"}),
        ("turn/completed", {"turnId": "t", "terminal": "completed"}),
        ("turn/completed", {"turnId": "t", "terminal": "failed"}),
        ("turn/started", {"turnId": "t", "commandId": "c"}),
    )
    assert kinds(changes) == ["TurnStarted", "TurnEnded"]
    assert changes[0] == TurnStarted("t", "c")
    assert isinstance(changes[1], TurnEnded)
    assert changes[1].outcome.terminal == "completed"


def test_a_turn_that_was_reclaimed_has_ended(fold: SessionFold) -> None:
    [change] = run(fold, ("turn/unqueued", {"turnId": "t", "commandId": "c"}))
    assert isinstance(change, TurnEnded) and change.outcome.terminal == "unqueued"
    assert run(fold, ("turn/unqueued", {"turnId": "t"}), ("turn/completed", {"turnId": "t"})) == []


def test_h6_only_its_own_completion_ends_a_turn(fold: SessionFold) -> None:
    run(fold, ("turn/started", {"turnId": "trn-1"}), ("turn/started", {"turnId": "trn-2"}))
    run(fold, ("turn/completed", {"turnId": "trn-1", "terminal": "completed"}))
    assert run(fold, ("turn/completed", {"terminal": "completed"})) == []
    assert fold.turns.running == ("trn-2",)


def test_retries_and_retractions_do_not_end_a_turn(fold: SessionFold) -> None:
    retry = {"turnId": "t", "attempt": 1, "nextAttempt": 2, "maxAttempts": 3, "retryDelayMs": 500}
    changes = run(
        fold,
        ("turn/started", {"turnId": "t"}),
        ("turn/retryScheduled", retry),
        ("turn/modelRetryScheduled", retry),
        ("turn/foregroundCompleted", {"turnId": "t"}),
        ("turn/retracted", {"turnId": "t", "commandId": "c"}),
    )
    assert changes[1:3] == [RetryScheduled(retry), RetryScheduled(retry)]
    assert changes[3:] == [
        SessionFactChanged("foregroundCompleted", {"turnId": "t"}),
        SessionFactChanged("turnRetracted", {"turnId": "t", "commandId": "c"}),
    ]
    assert fold.turns.running == ("t",)
    assert fold.turns.is_retracted("t")
