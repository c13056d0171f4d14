"""Faults of groups I and M about whom a question is for: subagents that the client never saw, clients that cannot
answer, questions that come early. The adapter as a process, a host that checks what it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapter_process import Json, permission, running_adapter
from tests.faults.hosts_that_ask import Asks, AsksBeforeItAnswers, HasALateChild, HasChildren, Inquires, InquiresAgain
from tests.faults.test_faults_adapter_consent import CANCELLED, CANCELS, END_TURN, dialogs, next_dialog, reply
from tests.faults.with_host import Opened, opened, serves_on
from tests.scripted_hosts import place

FORMS: Json = {"elicitation": {"form": {}}}


def decisions(case: Opened) -> list[tuple[str, str]]:
    """Under which session what was chosen so far."""
    case.adapter.new_session(case.host.directory)
    frames = case.host.received("approval/decide")
    return [(frame["params"]["sessionId"], frame["params"]["choiceId"]) for frame in frames]


# -- I2: subagents


@pytest.mark.parametrize("via", [["notification"], ["request"], ["notification", "request"]], ids="-".join)
@pytest.mark.parametrize(
    ("names", "tells"), [(True, True), (True, False), (False, True), (False, False)], ids=lambda is_so: str(is_so)
)
def test_i2_a_subagent_asks_in_a_session_of_its_own(tmp_path: Path, via: list[str], names: bool, tells: bool) -> None:
    with opened(tmp_path, HasChildren, via=via, names=names, tells=tells, calls=[{}, {}]) as case:
        prompt = case.begin()
        asked = [next_dialog(case), next_dialog(case)]
        assert {each["params"]["sessionId"] for each in asked} == {case.session_id}
        reply(case, asked[1], permission("no"))
        reply(case, asked[0], permission("always"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        kid_of = {f"kid-{number}": number for number in (1, 2)}
        picked = {"always": asked[0], "no": asked[1]}
        told = decisions(case)
        assert sorted(kid for kid, _ in told) == ["kid-1", "kid-2"]
        for kid, choice in told:
            assert picked[choice]["params"]["toolCall"]["toolCallId"].endswith(f"call-{kid_of[kid]}")
        assert len(dialogs(case)) == 2
        assert "a subagent talks" not in case.text()


def test_i2_each_stage_a_subagent_asks_for_is_decided_under_its_id(tmp_path: Path) -> None:
    with opened(tmp_path, HasChildren, calls=[{"stages": [0, 1]}]) as case:
        case.answer_permission("yes")
        assert case.prompt() == END_TURN
        assert decisions(case) == [("kid-1", "yes")] * 2
        assert [params["_meta"]["museRequirementId"]["sourceIndex"] for params in dialogs(case)] == [0, 1]


@pytest.mark.parametrize("choices", [[], [{"choiceId": "x", "decision": "perhaps"}]], ids=["none", "unheard"])
def test_i2_what_cannot_be_shown_stops_the_subagent_alone(tmp_path: Path, choices: list[Json]) -> None:
    calls = [{"availableChoices": choices}, {}]
    with opened(tmp_path, HasChildren, calls=calls) as case:
        case.answer_permission("yes")
        assert case.prompt() == END_TURN
        assert decisions(case) == [("kid-2", "yes")]
        [stopped] = case.host.received("subagent/stop")
        assert (stopped["params"]["sessionId"], stopped["params"]["subagentId"]) == (case.session_id, "agent-1")
        assert case.host.received("turn/interrupt") == []


def test_i2_a_dialog_of_a_subagent_that_is_cancelled_refuses_and_does_not_stop_the_turn(tmp_path: Path) -> None:
    with opened(tmp_path, HasChildren, calls=[{}, {}]) as case:
        prompt = case.begin()
        asked = [next_dialog(case), next_dialog(case)]
        reply(case, asked[0], CANCELS)
        reply(case, asked[1], permission("yes"))
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert sorted(choice for _, choice in decisions(case)) == ["no", "yes"]
        assert case.host.received("turn/interrupt") == []


@pytest.mark.acp(73, 79)
def test_i2_the_parents_cancel_refuses_what_subagents_ask(tmp_path: Path) -> None:
    with opened(tmp_path, HasChildren, calls=[{}], stops_at_once=False) as case:
        prompt = case.begin()
        asked = next_dialog(case)
        case.adapter.notify("session/cancel", {"sessionId": case.session_id})
        case.adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
        reply(case, asked, permission("always"))
        assert case.adapter.response(prompt)["result"] == CANCELLED
        assert decisions(case) == [("kid-1", "no")]


def test_i2_what_may_be_of_either_of_two_sessions_is_shown_in_neither(tmp_path: Path) -> None:
    """The host does not say whose subagent it is: nobody is asked in the wrong session, and nothing waits for ever."""
    with opened(tmp_path, HasALateChild, names=False, tells=False) as case:
        first = case.begin()
        case.adapter.wait_for_update(lambda update: update["sessionUpdate"] == "tool_call")
        other = case.adapter.new_session(tmp_path)
        assert case.adapter.prompt(other, "go") == END_TURN
        assert dialogs(case) == []
        assert decisions(case) == [("kid-1", "no")]
        case.adapter.notify("session/cancel", {"sessionId": case.session_id})
        assert case.adapter.response(first)["result"] == CANCELLED


# -- I4: clients that cannot answer


@pytest.mark.acp(91)
def test_i4_a_client_without_the_method_is_asked_once_and_told_why(tmp_path: Path) -> None:
    with opened(tmp_path, Asks) as case:
        case.adapter.answer = lambda request: {"error": {"code": -32601, "message": "no such method"}}
        assert [case.prompt(), case.prompt(), case.prompt()] == [END_TURN] * 3
        assert len(dialogs(case)) == 1
        assert [choice for _, choice in decisions(case)] == ["no"] * 3
        assert case.text().count("this editor has no way to show such a question") == 1


# -- I8: questions


@pytest.mark.acp(94)
@pytest.mark.parametrize("via", [["notification"], ["request"], ["notification", "request"]], ids="-".join)
def test_i8_a_question_is_really_answered(tmp_path: Path, via: list[str]) -> None:
    placed = place(tmp_path / "host", Inquires, via=via)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize(clientCapabilities=FORMS)
        session_id = adapter.new_session(tmp_path)
        adapter.answer = lambda request: {"result": {"action": "accept", "content": {"name": "orchard"}}}
        assert adapter.prompt(session_id, "go") == END_TURN
        [told] = placed.received("userInput/answer")
        assert told["params"]["answers"] == [{"questionId": "name", "freeText": "orchard"}]
        assert adapter.text(session_id) == "answered"
        serves_on(adapter, tmp_path)


@pytest.mark.acp(94)
def test_i8_without_forms_the_question_is_text_and_the_next_message_its_answer(tmp_path: Path) -> None:
    with opened(tmp_path, Inquires) as case:
        assert case.prompt() == END_TURN
        assert "What is it called?" in case.text()
        assert case.prompt("orchard") == END_TURN
        [told] = case.host.received("userInput/answer")
        assert told["params"]["answers"] == [{"questionId": "name", "freeText": "orchard"}]
        assert len(case.host.received("turn/start")) == 1


@pytest.mark.acp(94)
@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"action": "decline"}},
        {"result": {"action": "accept", "content": {"name": 7}}},
        {"result": {"action": "accept", "content": "orchard"}},
        {"result": {"action": "accept"}},
        {"result": None},
        {"result": "orchard"},
        {"error": {"code": -32602, "message": "no such mode"}},
        {"error": "no"},
    ],
    ids=str,
)
def test_i8_no_answer_is_told_as_none(tmp_path: Path, answer: Json) -> None:
    placed = place(tmp_path / "host", Inquires)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize(clientCapabilities=FORMS)
        session_id = adapter.new_session(tmp_path)
        adapter.answer = lambda request: answer
        assert adapter.prompt(session_id, "go") == END_TURN
        assert placed.received("userInput/answer") == []
        assert len(placed.received("userInput/cancel")) == 1
        serves_on(adapter, tmp_path)


def test_i8_a_client_without_forms_is_never_sent_one(tmp_path: Path) -> None:
    with opened(tmp_path, Inquires) as case:
        case.prompt()
        case.prompt("orchard")
        assert not [frame for frame in case.adapter.frames if frame.get("method") == "elicitation/create"]


# -- M4: early questions


def test_m4_a_question_before_the_session_is_there_is_put_when_it_is(tmp_path: Path) -> None:
    with opened(tmp_path, AsksBeforeItAnswers) as case:
        asked = next_dialog(case)
        sessions = [
            number for number, frame in enumerate(case.adapter.frames) if "sessionId" in frame.get("result", {})
        ]
        assert case.adapter.frames.index(asked) > sessions[0]
        reply(case, asked, permission("yes"))
        case.adapter.wait_for_update(lambda update: update.get("status") == "completed")
        assert decisions(case) == [("ses-1", "yes")]


# -- questions that were open before the session was


@pytest.mark.acp(94)
@pytest.mark.parametrize("forms", [True, False], ids=["forms", "text"])
def test_i8_a_question_found_open_is_put_and_answered(tmp_path: Path, forms: bool) -> None:
    placed = place(tmp_path / "host", InquiresAgain)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize(clientCapabilities=FORMS if forms else {})
        adapter.answer = lambda request: {"result": {"action": "accept", "content": {"name": "orchard"}}}
        params = {"sessionId": "ses-before", "cwd": str(tmp_path), "mcpServers": []}
        resumed = adapter.response(adapter.begin("session/resume", params))
        assert "result" in resumed, resumed
        if not forms:
            adapter.wait_for_update(lambda update: "What is it called?" in str(update))
            assert adapter.prompt("ses-before", "orchard") == END_TURN
        adapter.wait_for_update(lambda update: "answered" in str(update))
        [told] = placed.received("userInput/answer")
        assert told["params"]["answers"] == [{"questionId": "name", "freeText": "orchard"}]
        after = adapter.frames[adapter.frames.index(resumed) :]
        assert "What is it called?" in str(after), "nothing before the answer"
        serves_on(adapter, tmp_path)
