"""Approvals and questions on the simulated host (`msp.md §15, §16`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.sim_driver import Refused, SimHost, items_of, methods, params_of, sim_host

ANSWERS = [
    {"questionId": "db_choice", "selectedLabel": "SQLite"},
    {"questionId": "features", "selectedLabels": ["Backups", "Replicas"]},
]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def decide(host: SimHost, asked: dict[str, Any], choice: str, **members: Any) -> dict[str, Any]:
    """Answer an approval as it was asked."""
    params = {key: asked[key] for key in ("sessionId", "approvalId")}
    params |= {"requirementId": asked["currentRequirementId"], "choiceId": choice, **members}
    return host.command("approval/decide", params)


def test_one_stage_is_asked_decided_and_resolved(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "approve")
    told = host.until_method("approval/requested")
    asked = host.until_method("approval/request")
    assert told == asked
    assert asked["subject"]["kind"] == "fileAccess"
    pending = host.ask("approval/listPending", {"sessionId": session})
    assert pending == {"approvals": [asked], "userInputs": []}
    assert decide(host, asked, "allow_session")["terminal"] is True
    resolved = host.until_method("approval/resolved")
    assert (resolved["decision"], resolved["policyResult"]) == ("approvedForSession", "allow")
    assert resolved["amendment"]["durability"] == "session"
    tool = host.until_method("item/completed")["item"]
    assert (tool["status"], tool["approvalId"]) == ("completed", asked["approvalId"])
    host.until_method("turn/completed", turnId=turn)


def test_the_status_says_that_consent_is_waited_for(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "approve")
    assert host.until_method("session/statusChanged", attention=["approvalPending"])["status"] == "running"
    read = host.ask("session/read", {"sessionId": session})
    assert read["session"]["attention"] == ["approvalPending"]
    assert read["pendingRequests"][0]["kind"] == "approval"


def test_a_rejection_carries_feedback_and_is_no_failure_of_the_turn(host: SimHost) -> None:
    host.prompt(host.start(), "approve")
    asked = host.until_method("approval/request")
    decide(host, asked, "abort", feedback="not now — later")
    assert host.until_method("approval/resolved")["policyResult"] == "deny"
    tool = host.until_method("item/completed")["item"]
    assert tool["status"] == "rejected"
    assert "not now — later" in tool["failureReason"]
    assert host.until_method("turn/completed")["terminal"] == "completed"


@pytest.mark.parametrize("profile", PROFILES)
def test_how_an_approval_reaches_the_client_depends_on_the_version(tmp_path: Path, profile: str) -> None:
    with sim_host(tmp_path, profile) as host:
        host.handshake()
        host.prompt(host.start(), "approve3")
        asked = host.until_method("approval/requested")
        heard = methods(host.settled())
        assert ("approval/request" in heard) == (profile != "1.3.0")
        assert [stage["resolution"]["kind"] for stage in asked["subject"]["stages"]] == [
            "unresolved",
            "known_safe",
            "unresolved",
        ]
        assert decide(host, asked, "allow_once")["terminal"] is False
        moved = host.until_method("approval/updated")
        assert moved["change"]["kind"] == "stageResolved"
        assert moved["currentRequirementId"] == {"approvalId": asked["approvalId"], "sourceIndex": 2}
        assert ("approval/request" in methods(host.settled())) == (profile not in ("1.2.1", "1.3.0"))
        assert decide(host, moved, "allow_once")["terminal"] is True
        resolved = host.until_method("approval/resolved")
        assert [stage["position"] for stage in resolved["stageEvidence"]] == [1, 3]
        assert host.until_method("turn/completed")["terminal"] == "completed"


def test_a_decision_that_does_not_fit_is_refused_and_the_approval_stays_open(host: SimHost) -> None:
    host.prompt(host.start(), "approve3")
    asked = host.until_method("approval/request")
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_everything")
    assert (caught.value.code, caught.value.kind) == (-32052, "approvalChoiceInvalid")
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_once", feedback="fine")
    assert caught.value.code == -32052
    decide(host, asked, "allow_once")
    host.until_method("approval/updated")
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_once")
    assert (caught.value.code, caught.value.kind) == (-32053, "approvalRequirementStale")
    current = caught.value.data["currentRequirementId"]
    assert current["sourceIndex"] == 2
    decide(host, {**asked, "currentRequirementId": current}, "allow_once")
    with pytest.raises(Refused) as caught:
        decide(host, {**asked, "currentRequirementId": current}, "allow_once")
    assert caught.value.code == -32051
    assert caught.value.data["resolution"]["decision"] == "approved"
    with pytest.raises(Refused) as caught:
        decide(host, {**asked, "approvalId": "nobody"}, "allow_once")
    assert caught.value.code == -32050


@pytest.mark.parametrize(("word", "offered"), [("empty", 0), ("allowing", 2), ("unheard", 2)])
def test_odd_choices_are_offered_and_only_those_are_taken(host: SimHost, word: str, offered: int) -> None:
    host.prompt(host.start(), f"approve {word}")
    asked = host.until_method("approval/request")
    assert len(asked["availableChoices"]) == offered
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_once")
    assert caught.value.code == -32052
    if offered:
        decide(host, asked, asked["availableChoices"][0]["choiceId"])
        allowed = word == "allowing"
        assert (host.until_method("approval/resolved")["policyResult"] == "allow") == allowed


def test_an_approval_can_be_settled_by_somebody_else(host: SimHost) -> None:
    host.prompt(host.start(), "approve elsewhere 0.1")
    asked = host.until_method("approval/request")
    assert host.until_method("approval/resolved")["resolvedBy"] == "llmJudge"
    assert host.until_method("turn/completed")["terminal"] == "completed"
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_once")
    assert caught.value.code == -32051


def test_an_approval_that_fell_into_a_gap_is_found_by_listing(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.3.0") as host:
        host.handshake()
        session = host.start()
        host.prompt(session, "approve lost")
        host.until_method("view/gap")
        assert not params_of(host.frames, "approval/requested")
        (asked,) = host.ask("approval/listPending", {"sessionId": session})["approvals"]
        decide(host, asked, "allow_once")
        assert host.until_method("turn/completed")["terminal"] == "completed"


def test_an_interrupt_withdraws_the_open_approval(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "approve")
    asked = host.until_method("approval/request")
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn})
    resolved = host.until_method("approval/resolved")
    assert (resolved["approvalId"], resolved["decision"]) == (asked["approvalId"], "abort")
    assert host.until_method("item/completed")["item"]["status"] == "cancelled"
    assert host.until_method("turn/completed")["terminal"] == "cancelled"


def test_the_approval_mode_can_settle_it_without_asking(host: SimHost) -> None:
    session = host.start(approvalMode="allowAll")
    frames = host.turn(session, "approve")
    assert items_of(frames, "toolCall")[0]["status"] == "completed"
    assert not params_of(frames, "approval/requested")
    changed = host.command("session/setApprovalMode", {"sessionId": session, "mode": "denyUnmatched"})
    assert changed["applyOutcome"] == "completed"
    assert host.until_method("session/approvalModeChanged")["mode"] == "denyUnmatched"
    frames = host.turn(session, "approve")
    assert params_of(frames, "approval/resolved")[0]["resolvedBy"] == "policy"
    assert items_of(frames, "toolCall")[0]["status"] == "rejected"
    again = host.command("session/setApprovalMode", {"sessionId": session, "mode": "denyUnmatched"})
    assert again["applyOutcome"] == "noop"


def test_after_a_resume_only_the_request_comes_again(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "approve")
    asked = host.until_method("approval/request")
    first_id = next(frame["id"] for frame in host.frames if frame.get("method") == "approval/request")
    host.ask("view/unsubscribe", {"sessionId": session})
    result = host.command("session/resume", {"sessionId": session, "history": "snapshot"})
    assert result["history"]["snapshot"]["state"]["pendingApprovals"][0]["approvalId"] == asked["approvalId"]
    frames = host.settled()
    assert methods(frames) == ["approval/request"]
    assert frames[0]["params"] == asked
    assert frames[0]["id"] > first_id
    decide(host, asked, "allow_once")
    host.until_method("turn/completed")


def test_a_question_is_asked_answered_and_settled(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "ask")
    told = host.until_method("userInput/requested")
    asked = host.until_method("userInput/request")
    assert told == asked
    answer = {"sessionId": session, "userInputId": asked["userInputId"], "answers": ANSWERS}
    host.command("userInput/answer", answer)
    settled = host.until_method("userInput/settled")
    assert (settled["outcome"], settled["answers"]) == ("answered", ANSWERS)
    tool = host.until_method("item/completed")["item"]
    assert tool["visibleOutput"] == "SQLite\nBackups, Replicas"
    with pytest.raises(Refused) as caught:
        host.command("userInput/answer", answer)
    assert (caught.value.code, caught.value.data["settlement"]["outcome"]) == (-32056, "answered")
    with pytest.raises(Refused) as caught:
        host.command("userInput/cancel", {"sessionId": session, "userInputId": "nobody"})
    assert caught.value.code == -32055


@pytest.mark.parametrize(
    "answers",
    [
        ANSWERS[:1],
        [*ANSWERS, ANSWERS[0]],
        [{"questionId": "db_choice", "selectedLabel": "Oracle"}, ANSWERS[1]],
        [{"questionId": "db_choice", "selectedLabels": ["SQLite"]}, ANSWERS[1]],
        [{"questionId": "db_choice", "selectedLabel": "SQLite", "freeText": "both"}, ANSWERS[1]],
        [{"questionId": "db_choice"}, ANSWERS[1]],
        [ANSWERS[0], {"questionId": "features", "selectedLabels": []}],
        [ANSWERS[0], {"questionId": "features", "selectedLabels": ["Backups", "Replicas", "Metrics — naïve"]}],
        [ANSWERS[0], {"questionId": "features", "freeText": "x" * 501}],
    ],
)
def test_an_answer_that_does_not_fit_leaves_the_question_open(host: SimHost, answers: list[dict[str, Any]]) -> None:
    session = host.start()
    host.prompt(session, "ask")
    asked = host.until_method("userInput/request")
    answer = {"sessionId": session, "userInputId": asked["userInputId"]}
    with pytest.raises(Refused) as caught:
        host.command("userInput/answer", {**answer, "answers": answers})
    assert caught.value.code == -32057
    free = [{"questionId": row["id"], "freeText": "whatever"} for row in asked["questions"]]
    host.command("userInput/answer", {**answer, "answers": free})
    assert host.until_method("userInput/settled")["outcome"] == "answered"


def test_a_question_can_be_cancelled_or_clarified(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "ask")
    asked = host.until_method("userInput/request")
    host.command("userInput/cancel", {"sessionId": session, "userInputId": asked["userInputId"], "reason": "no"})
    settled = host.until_method("userInput/settled")
    assert (settled["outcome"], settled["reason"]) == ("cancelled", "no")
    assert host.until_method("item/completed")["item"]["status"] == "cancelled"
    host.until_method("turn/completed")
    host.prompt(session, "ask")
    asked = host.until_method("userInput/request")
    clarification = {"content": "neither — use files", "format": "text"}
    params = {"sessionId": session, "userInputId": asked["userInputId"], "clarification": clarification}
    host.command("userInput/clarify", params)
    assert host.until_method("userInput/settled")["clarification"] == clarification
    assert host.until_method("item/completed")["item"]["visibleOutput"] == "neither — use files"


def test_a_question_runs_out_unless_the_user_is_at_it(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "ask 0.1")
    assert host.until_method("userInput/request")["autoResolutionMs"] == 100
    assert host.until_method("userInput/settled")["outcome"] == "timedOut"
    host.until_method("turn/completed")
    host.prompt(session, "ask 0.3")
    asked = host.until_method("userInput/request")
    host.notify("userInput/engaged", {"sessionId": session, "userInputId": asked["userInputId"]})
    assert "userInput/settled" not in methods(host.quiet(0.5))


def test_a_question_can_be_interrupted_with_what_was_answered(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "ask")
    asked = host.until_method("userInput/request")
    params = {"sessionId": session, "userInputId": asked["userInputId"], "answers": ANSWERS[:1]}
    host.command("userInput/interrupt", params)
    settled = host.until_method("userInput/settled")
    assert (settled["outcome"], settled["answers"]) == ("interrupted", ANSWERS[:1])
    assert host.until_method("turn/completed")["terminal"] == "cancelled"


def test_a_client_without_dialogs_gets_no_request(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake(userInputDialogs=False)
        host.prompt(host.start(), "ask")
        host.until_method("userInput/requested")
        assert "userInput/request" not in methods(host.settled())
