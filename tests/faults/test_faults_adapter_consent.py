"""Faults of group I: what the user is asked, and what an answer means. The adapter as a process, a host that checks
every decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapter_process import Json, permission
from tests.faults.hosts_that_ask import CHOICES, Asks, MovesOnByItself, Repeats
from tests.faults.with_host import Opened, opened

END_TURN: Final[Json] = {"stopReason": "end_turn"}
CANCELLED: Final[Json] = {"stopReason": "cancelled"}
CANCELS: Final[Json] = {"result": {"outcome": {"outcome": "cancelled"}}}


def dialogs(case: Opened) -> list[Json]:
    """The params of the permission requests so far."""
    return [frame["params"] for frame in case.adapter.frames if frame.get("method") == "session/request_permission"]


def next_dialog(case: Opened) -> Json:
    """The next permission request."""
    return case.adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")


def decided(case: Opened) -> list[str]:
    """The choices the host was given so far."""
    case.adapter.new_session(case.host.directory)
    return [frame["params"]["choiceId"] for frame in case.host.received("approval/decide")]


def reply(case: Opened, asked: Json, answer: Json) -> None:
    """Answer a permission request."""
    case.adapter.send({"jsonrpc": "2.0", "id": asked["id"], **answer})


# -- I1: stages


def test_i1_each_stage_is_asked_and_decided(tmp_path: Path) -> None:
    parts = [["cd", "orchard"], ["ls"], ["rm", "-r", "build"]]
    stages = [
        {"requirementId": {"approvalId": "apr", "sourceIndex": number}, "position": number, "argv": argv}
        for number, argv in enumerate(parts)
    ]
    call = {
        "approvalId": "apr",
        "stages": [0, 2],
        "subject": {"kind": "shell", "command": "cd orchard; ls; rm -r build", "stages": stages},
        "currentRequirementId": {"approvalId": "apr", "sourceIndex": 0},
    }
    with opened(tmp_path, Asks, calls=[call]) as case:
        case.answer_permission("yes")
        assert case.prompt() == END_TURN
        first, second = dialogs(case)
        assert first["toolCall"]["toolCallId"] == second["toolCall"]["toolCallId"]
        assert "part 1 of 3: cd orchard" in str(first["toolCall"]["content"])
        assert "part 3 of 3: rm -r build" in str(second["toolCall"]["content"])
        requirements = [frame["params"]["requirementId"] for frame in case.host.received("approval/decide")]
        assert [each["sourceIndex"] for each in requirements] == [0, 2]
        [card] = case.cards().values()
        assert card["status"] == "completed"


def test_i1_consent_to_one_stage_is_not_used_for_the_next(tmp_path: Path) -> None:
    with opened(tmp_path, MovesOnByItself, calls=[{"stages": [0, 1]}]) as case:
        prompt = case.begin()
        first = next_dialog(case)
        case.adapter.new_session(tmp_path)
        second = next_dialog(case)
        case.adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
        reply(case, first, permission("always"))
        assert decided(case) == []
        reply(case, second, permission("no"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert decided(case) == ["no"]


@pytest.mark.parametrize("via", [["notification"], ["request"], ["notification", "request"]], ids="-".join)
def test_i1_a_stage_is_asked_once_however_often_it_is_told(tmp_path: Path, via: list[str]) -> None:
    with opened(tmp_path, Repeats, via=via, calls=[{"stages": [0, 1]}]) as case:
        prompt = case.begin()
        asked = next_dialog(case)
        case.adapter.new_session(tmp_path)
        reply(case, asked, permission("yes"))
        reply(case, next_dialog(case), permission("no"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert len(dialogs(case)) == 2
        assert decided(case) == ["yes", "no"]


@pytest.mark.parametrize(
    ("code", "kind"), [(-32052, "approvalChoiceInvalid"), (-32053, "approvalRequirementStale")], ids=["choice", "stage"]
)
def test_i1_a_refused_decision_is_asked_again(tmp_path: Path, code: int, kind: str) -> None:
    fewer = [choice for choice in CHOICES if choice["choiceId"] != "always"]
    with opened(tmp_path, Asks, refuses_first=(code, kind), new_choices=fewer) as case:
        prompt = case.begin()
        reply(case, next_dialog(case), permission("always"))
        again = next_dialog(case)
        assert [option["optionId"] for option in again["params"]["options"]] == ["yes", "no"]
        reply(case, again, permission("yes"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert decided(case) == ["always", "yes"]


# -- I3: what an answer means


@pytest.mark.parametrize("picked", ["always", "yes", "no"])
def test_i3_the_host_gets_exactly_what_was_picked(tmp_path: Path, picked: str) -> None:
    with opened(tmp_path, Asks) as case:
        case.answer_permission(picked)
        assert case.prompt() == END_TURN
        [asked] = dialogs(case)
        assert [(option["optionId"], option["kind"]) for option in asked["options"]] == [
            ("always", "allow_always"),
            ("yes", "allow_once"),
            ("no", "reject_once"),
        ]
        assert decided(case) == [picked]


@pytest.mark.parametrize(
    "answer",
    [
        permission("allow"),
        permission(""),
        {"result": {}},
        {"result": None},
        {"result": {"outcome": None}},
        {"result": {"outcome": "selected", "optionId": "yes"}},
        {"result": {"outcome": {"outcome": "selected"}}},
        {"result": {"outcome": {"outcome": "selected", "optionId": ["yes"]}}},
        {"result": {"outcome": {"outcome": "Selected", "optionId": "yes"}}},
        {"result": {"outcome": {"outcome": "allowed", "optionId": "yes"}}},
        {"result": "yes"},
        {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}, "error": {"code": 1, "message": "x"}},
        {"error": {"code": -32603, "message": "no window"}},
        {"error": {"code": -32601, "message": "no such method"}},
        {"error": "no"},
    ],
)
def test_i3_anything_but_a_clear_choice_is_a_refusal(tmp_path: Path, answer: Json) -> None:
    with opened(tmp_path, Asks) as case:
        case.adapter.answer = lambda request: answer
        assert case.prompt() == END_TURN
        assert decided(case) == ["no"]


def test_i3_cancelled_stops_the_turn_and_allows_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, Asks) as case:
        case.adapter.answer = lambda request: CANCELS
        assert case.prompt() == CANCELLED
        assert set(decided(case)) <= {"no"}
        assert len(case.host.received("turn/interrupt")) == 1


def test_i3_without_a_usable_choice_the_turn_is_stopped(tmp_path: Path) -> None:
    odd: list[Any] = [
        {"choiceId": "yes", "label": "Sure", "decision": "granted", "scope": "once"},
        {"choiceId": ["yes"], "decision": "approved"},
        {"choiceId": None, "decision": "approved"},
        {"choiceId": "what", "decision": {"approved": True}},
        "yes",
        None,
    ]
    with opened(tmp_path, Asks, calls=[{"availableChoices": odd}]) as case:
        assert case.prompt() == CANCELLED
        assert dialogs(case) == []
        assert decided(case) == []


def test_i3_odd_choices_are_not_offered_and_spoil_nothing(tmp_path: Path) -> None:
    odd = [{"choiceId": ["x"], "decision": "denied"}, {"choiceId": {}, "decision": "approved"}, 7, *CHOICES]
    with opened(tmp_path, Asks, calls=[{"availableChoices": odd, "turnId": {}}]) as case:
        case.adapter.answer = lambda request: permission("nothing offered")
        case.begin()
        case.adapter.wait_for_update(lambda update: update.get("status") == "failed")
        assert decided(case) == ["no"]
        case.adapter.notify("session/cancel", {"sessionId": case.session_id})


# -- I5: cancel with a dialog open


@pytest.mark.parametrize(
    "answer", [CANCELS, permission("yes"), permission("always")], ids=["cancelled", "once", "always"]
)
def test_i5_an_answer_after_the_cancel_allows_nothing(tmp_path: Path, answer: Json) -> None:
    with opened(tmp_path, Asks, stops_at_once=False) as case:
        prompt = case.begin()
        asked = next_dialog(case)
        case.adapter.notify("session/cancel", {"sessionId": case.session_id})
        case.adapter.new_session(tmp_path)
        reply(case, asked, answer)
        assert case.adapter.response(prompt)["result"] == CANCELLED
        assert decided(case) == ["no"]
        assert {card["status"] for card in case.cards().values()} == {"failed"}


def test_i5_a_cancel_withdraws_the_dialog(tmp_path: Path) -> None:
    with opened(tmp_path, Asks) as case:
        prompt = case.begin()
        asked = next_dialog(case)
        case.adapter.notify("session/cancel", {"sessionId": case.session_id})
        assert case.adapter.response(prompt)["result"] == CANCELLED
        withdrawn = [frame["params"] for frame in case.adapter.frames if frame.get("method") == "$/cancel_request"]
        assert withdrawn == [{"requestId": asked["id"]}]
        reply(case, asked, permission("yes"))
        assert decided(case) == []


# -- I6, I7, I10: what is shown


@pytest.mark.parametrize("announces", [True, False], ids=["item-first", "approval-first"])
def test_i6_a_dialog_belongs_to_a_card_that_is_there(tmp_path: Path, announces: bool) -> None:
    with opened(tmp_path, Asks, calls=[{}, {}], announces=announces) as case:
        prompt = case.begin()
        asked = [next_dialog(case), next_dialog(case)]
        assert {card["status"] for card in case.cards().values()} == {"pending"}
        # In which order they are asked is left to the event loop.
        asked.sort(key=lambda each: list(case.cards()).index(each["params"]["toolCall"]["toolCallId"]))
        assert [each["params"]["toolCall"]["toolCallId"] for each in asked] == list(case.cards())
        for each in asked:
            before = case.adapter.frames[: case.adapter.frames.index(each)]
            card = each["params"]["toolCall"]["toolCallId"]
            assert any(card == frame.get("params", {}).get("update", {}).get("toolCallId") for frame in before)
        reply(case, asked[1], permission("yes"))
        reply(case, asked[0], permission("no"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert [card["status"] for card in case.cards().values()] == ["failed", "completed"]


def test_i7_the_command_is_shown_and_not_its_description(tmp_path: Path) -> None:
    call = {
        "rawArgs": '{"command":"rm -r build","description":"list files"}',
        "subject": {"kind": "shell", "command": "rm -r build", "description": "list files"},
    }
    with opened(tmp_path, Asks, calls=[call]) as case:
        case.answer_permission("no")
        case.prompt()
        [asked] = dialogs(case)
        assert asked["toolCall"]["title"] == "rm -r build"
        assert "rm -r build" in asked["toolCall"]["content"][0]["content"]["text"]
        assert asked["toolCall"]["rawInput"]["subject"]["command"] == "rm -r build"
        assert asked["toolCall"]["rawInput"]["arguments"]["command"] == "rm -r build"


def test_i7_a_command_too_long_to_show_says_so(tmp_path: Path) -> None:
    command = "echo " + "x" * 6_000_000 + " && rm -r build"
    call = {"rawArgs": f'{{"command":"{command}"}}', "subject": {"kind": "shell", "command": "y" * 2_000_000}}
    with opened(tmp_path, Asks, calls=[call]) as case:
        case.answer_permission("no")
        assert case.prompt() == END_TURN
        [asked] = dialogs(case)
        assert "of 2000000 bytes" in asked["toolCall"]["content"][0]["content"]["text"]
        assert len(str(asked)) < 500_000
        assert decided(case) == ["no"]


def test_i10_a_lasting_choice_has_a_standard_kind_and_says_what_it_does(tmp_path: Path) -> None:
    amend = {"decision": "approvedPolicyAmendment", "scope": "localPersistent", "rulePreview": "make *"}
    deny = {"decision": "deniedPolicyAmendment", "scope": "localPersistent"}
    choices = [
        {"choiceId": "amend", "label": "Always allow", **amend},
        {"choiceId": "never", "label": "Never", **deny},
        {"choiceId": "stop", "label": "Reject", "decision": "abort", "scope": "once"},
    ]
    with opened(tmp_path, Asks, calls=[{"availableChoices": choices}]) as case:
        case.answer_permission("amend")
        assert case.prompt() == END_TURN
        [asked] = dialogs(case)
        assert [(option["optionId"], option["name"], option["kind"]) for option in asked["options"]] == [
            ("amend", "Always allow (make *, also in later sessions)", "allow_always"),
            ("never", "Never (also in later sessions)", "reject_always"),
            ("stop", "Reject", "reject_once"),
        ]
        assert decided(case) == ["amend"]
