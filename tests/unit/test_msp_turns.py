"""How turns end, and that each ends once."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.turns import TurnError, TurnLedger, TurnOutcome, turn_error


def test_a_completed_turn_keeps_what_the_host_said() -> None:
    ledger = TurnLedger()
    assert ledger.start("t", "c")
    ended = ledger.complete(
        {"turnId": "t", "terminal": "completed", "reason": "r", "usage": {"inputTokens": 1}, "durationMs": 5}
    )
    outcome = TurnOutcome("completed", reason="r", usage={"inputTokens": 1}, duration_ms=5)
    assert ended == ("t", outcome)
    assert ledger.outcome("t") == outcome
    assert ledger.running == ()


def test_h3_a_failed_turn_carries_its_error() -> None:
    ledger = TurnLedger()
    error = {
        "kind": "modelError",
        "message": "demo quota used up",
        "retryable": False,
        "quota": {"limitKind": "tierLimit"},
    }
    ended = ledger.complete({"turnId": "t", "terminal": "failed", "error": error})
    assert ended is not None
    assert ended[1].error == TurnError("modelError", "demo quota used up", False, {"limitKind": "tierLimit"})


def test_a_launch_failure_ends_a_turn_that_never_started() -> None:
    ledger = TurnLedger()
    ended = ledger.complete({"turnId": "t", "terminal": "failed", "error": {"kind": "launchError", "message": "m"}})
    assert ended is not None
    assert not ledger.start("t")


def test_h7_an_end_that_comes_before_the_acknowledgement_is_remembered() -> None:
    ledger = TurnLedger()
    ledger.start("t")
    ledger.complete({"turnId": "t", "terminal": "cancelled"})
    remembered = ledger.outcome("t")
    assert remembered is not None
    assert remembered.terminal == "cancelled"


def test_the_first_terminal_wins() -> None:
    ledger = TurnLedger()
    assert ledger.unqueue("t") == ("t", TurnOutcome("unqueued"))
    assert ledger.complete({"turnId": "t", "terminal": "failed"}) is None
    assert ledger.unqueue("t") is None
    assert ledger.outcome("t") == TurnOutcome("unqueued")


@pytest.mark.parametrize("turn_id", [None, "", 7, ["t"]])
def test_h6_an_end_without_a_turn_id_ends_nothing(turn_id: Any) -> None:
    ledger = TurnLedger()
    ledger.start("t")
    assert ledger.complete({"turnId": turn_id, "terminal": "completed"}) is None
    assert ledger.unqueue(turn_id) is None
    assert ledger.running == ("t",)


@pytest.mark.parametrize(
    ("word", "terminal"), [("paused_by_policy", "paused_by_policy"), (None, "unknown"), (3, "unknown")]
)
def test_h4_unknown_terminals_end_a_turn_under_their_own_word(word: Any, terminal: str) -> None:
    ended = TurnLedger().complete({"turnId": "t", "terminal": word})
    assert ended is not None
    assert ended[1].terminal == terminal


def test_a_turn_starts_once() -> None:
    ledger = TurnLedger()
    assert ledger.start("t")
    assert not ledger.start("t")


@pytest.mark.parametrize(
    ("outcome", "retracted"), [("accepted", True), (None, True), ("newer", True), ("declined", False)]
)
def test_retraction_is_not_an_end(outcome: Any, retracted: bool) -> None:
    ledger = TurnLedger()
    ledger.start("t")
    assert ledger.retract("t", outcome) is retracted
    assert ledger.is_retracted("t") is retracted
    assert ledger.running == ("t",)
    assert ledger.outcome("t") is None


def test_outcomes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.turns.REMEMBERED_OUTCOMES", 2)
    ledger = TurnLedger()
    for turn_id in "abc":
        ledger.unqueue(turn_id)
        ledger.retract(turn_id)
    assert [ledger.outcome(turn_id) is not None for turn_id in "abc"] == [False, True, True]
    assert [ledger.is_retracted(turn_id) for turn_id in "abc"] == [False, True, True]


def test_h3_an_error_may_be_a_text() -> None:
    assert turn_error("demo quota used up") == TurnError("unknown", "demo quota used up")


def test_h2_the_last_reason_for_stopping_counts() -> None:
    ledger = TurnLedger()
    for turn_id, reason in [("t", "length"), ("u", "length"), ("t", "stop"), (None, "length"), (7, "length")]:
        ledger.finish(turn_id, reason)
    for turn_id, finish in [("t", "stop"), ("u", "length"), ("v", None)]:
        ended = ledger.complete({"turnId": turn_id, "terminal": "completed"})
        assert ended == (turn_id, TurnOutcome("completed", finish=finish))


def test_h2_a_call_without_a_reason_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.turns.REMEMBERED_OUTCOMES", 1)
    ledger = TurnLedger()
    ledger.finish("t", "length")
    ledger.finish("u", "length")
    ledger.finish("u", ["stop"])
    for turn_id in "tu":
        assert ledger.complete({"turnId": turn_id}) == (turn_id, TurnOutcome("unknown"))


@pytest.mark.parametrize("error", [None, "", 5, []])
def test_what_is_no_error_object_is_no_error(error: Any) -> None:
    assert turn_error(error) is None


def test_an_error_with_nothing_usable_in_it_is_still_an_error() -> None:
    assert turn_error({"kind": 1, "message": None, "retryable": "no", "quota": []}) == TurnError("unknown", "")
