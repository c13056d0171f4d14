"""Several approvals at once, those of subagents, every kind of choice, what a dead host had asked (`msp.md §15`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim_driver import Json, Refused, SimHost, items_of, params_of, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def decide(host: SimHost, asked: Json, choice: str, session: str | None = None, **params: str) -> Json:
    decision = {"sessionId": session or asked["sessionId"], "approvalId": asked["approvalId"]}
    requirement = {"requirementId": asked["currentRequirementId"]}
    return host.command("approval/decide", {**decision, **requirement, "choiceId": choice, **params})


def asked_for(host: SimHost, count: int) -> list[Json]:
    """The next approvals that are requested, in order."""
    return [host.until_method("approval/requested") for _ in range(count)]


def last_words(host: SimHost) -> str:
    text: str = items_of(host.frames, "agentMessage")[-1]["text"]
    return text


def test_many_are_open_at_once_and_each_decides_for_itself(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "many 3")
    asked = asked_for(host, 3)
    assert len({row["approvalId"] for row in asked}) == len({row["itemId"] for row in asked}) == 3
    pending = host.ask("approval/listPending", {"sessionId": session})["approvals"]
    assert [row["approvalId"] for row in pending] == [row["approvalId"] for row in asked]
    for row, choice in ((asked[2], "allow_once"), (asked[0], "abort"), (asked[1], "allow_once")):
        decide(host, row, choice)
    assert host.until_method("turn/completed")["terminal"] == "completed"
    ended = {item["itemId"]: item["status"] for item in items_of(host.frames, "toolCall")}
    assert [ended[row["itemId"]] for row in asked] == ["rejected", "completed", "completed"]
    assert last_words(host) == "2 of 3 parts are made."


def test_an_interrupt_withdraws_them_all(host: SimHost) -> None:
    session = host.start()
    turn_id = host.prompt(session, "many 3")
    asked = asked_for(host, 3)
    decide(host, asked[0], "allow_once")
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn_id})
    assert host.until_method("turn/completed")["terminal"] == "cancelled"
    assert {row["decision"] for row in params_of(host.frames, "approval/resolved")} == {"approved", "abort"}
    assert len(params_of(host.frames, "approval/resolved")) == 3
    assert host.ask("approval/listPending", {"sessionId": session}) == {"approvals": [], "userInputs": []}
    ended = sorted(item["status"] for item in items_of(host.frames, "toolCall"))
    assert ended == ["cancelled", "cancelled", "completed"]


def test_what_was_open_in_a_killed_host_is_asked_again_under_new_ids(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.prompt(session, "many 3")
        lost = asked_for(first, 3)
        decide(first, lost[1], "allow_once")
        first.until_method("item/completed", sessionId=session)
    with sim_host(tmp_path) as second:
        second.handshake()
        resumed = second.command("session/resume", {"sessionId": session})
        assert len(resumed["pendingRequests"]) == 2
        again = [second.until_method("approval/request") for _ in range(2)]
        assert [row["itemId"] for row in again] == [lost[0]["itemId"], lost[2]["itemId"]]
        assert not {row["approvalId"] for row in again} & {row["approvalId"] for row in lost}
        for row in again:
            decide(second, row, "allow_once")
        assert second.until_method("turn/completed")["terminal"] == "completed"
        assert last_words(second) == "3 of 3 parts are made."


@pytest.mark.parametrize("prompt", ["approve", "many 2"])
def test_a_host_that_asks_nothing_again_fails_the_turn_and_withdraws(tmp_path: Path, prompt: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"reopenApprovals": False}))
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.prompt(session, prompt)
        first.until_method("approval/requested")
        first.settled()
    with sim_host(tmp_path) as second:
        second.handshake()
        resumed = second.command("session/resume", {"sessionId": session})
        assert resumed["pendingRequests"] == []
        assert resumed["lastTurn"]["terminal"] == "failed"
        assert second.ask("approval/listPending", {"sessionId": session})["approvals"] == []
        events = [event for page in second.pages(session) for event in page["events"]]
        resolved = [event["params"] for event in events if event["method"] == "approval/resolved"]
        assert {row["decision"] for row in resolved} == {"abort"}


def test_every_kind_of_choice_and_a_reason_that_is_repeated(host: SimHost) -> None:
    host.prompt(host.start(), "approve wide")
    asked = host.until_method("approval/requested")
    offered = [(row["decision"], row["scope"], row.get("acceptsFeedback", False)) for row in asked["availableChoices"]]
    assert offered == [
        ("approved", "once", False),
        ("approvedForSession", "session", False),
        ("approvedPolicyAmendment", "localPersistent", False),
        ("denied", "once", True),
        ("abort", "once", False),
    ]
    decide(host, asked, "deny", feedback="use the lock file — bitte")
    host.until_method("turn/completed")
    assert "use the lock file — bitte" in last_words(host)


@pytest.mark.parametrize(("choice", "summary"), [("allow_once", "the manifest is new ✓"), ("abort", "nobody let me ✗")])
def test_a_subagent_asks_through_its_parent(host: SimHost, choice: str, summary: str) -> None:
    session = host.start()
    host.prompt(session, "approve child")
    asked = host.until_method("approval/requested")
    (agent,) = items_of(host.frames, "subagent", "item/started")
    assert asked["sessionId"] == session
    assert asked["subagentOrigin"]["childSessionId"] == agent["childSessionId"]
    decide(host, asked, choice)
    assert host.until_method("approval/resolved")["subagentOrigin"] == asked["subagentOrigin"]
    host.until_method("turn/completed")
    assert items_of(host.frames, "subagent")[0]["result"]["summary"] == summary
    assert not items_of(host.frames, "toolCall"), "the child's call is not in the parent's transcript"


def test_a_subagent_asks_in_its_own_session(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "approve kid")
    asked = host.until_method("approval/requested")
    (agent,) = items_of(host.frames, "subagent", "item/started")
    kid = agent["childSessionId"]
    assert kid.startswith("kid-")
    assert asked["sessionId"] == kid != session
    assert len(host.ask("approval/listPending", {"sessionId": kid})["approvals"]) == 1
    with pytest.raises(Refused) as caught:
        decide(host, asked, "allow_once", session=session)
    assert (caught.value.code, caught.value.kind) == (-32050, "approvalNotFound")
    decide(host, asked, "allow_once")
    assert host.until_method("turn/completed", sessionId=session)["terminal"] == "completed"
    assert items_of(host.frames, "subagent")[0]["status"] == "completed"
    with pytest.raises(Refused) as caught:
        host.prompt(kid, "hello")
    assert caught.value.code == -32020
    assert [row["sessionId"] for row in host.ask("session/list")["sessions"]] == [session]


def test_the_session_of_a_subagent_can_be_followed(host: SimHost) -> None:
    host.prompt(host.start(), "approve kid")
    asked = host.until_method("approval/requested")
    kid = asked["sessionId"]
    read = host.ask("session/read", {"sessionId": kid, "excludeItems": False})
    assert (read["session"]["status"], read["session"]["kind"]) == ("running", "subagent")
    assert [item["kind"] for item in read["history"]["items"]] == ["toolCall"]
    assert [pending["approvalId"] for pending in read["pendingRequests"]] == [asked["approvalId"]]
    cursor = host.ask("view/subscribe", {"sessionId": kid})["viewCursor"]
    host.ask("view/unsubscribe", {"sessionId": kid})
    decide(host, asked, "allow_once")
    host.until_method("turn/completed")
    assert not params_of(host.frames, "approval/resolved"), "nobody listens to the subagent any more"
    host.ask("view/subscribe", {"sessionId": kid, "after": cursor})
    assert host.until_method("approval/resolved")["sessionId"] == kid


def test_a_subagent_that_waited_is_gone_with_its_host(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.prompt(session, "approve kid")
        first.until_method("approval/requested")
    with sim_host(tmp_path) as second:
        second.handshake()
        resumed = second.command("session/resume", {"sessionId": session})
        assert (resumed["lastTurn"]["terminal"], resumed["pendingRequests"]) == ("failed", [])
        assert second.turn(session, "hello")[-1]["params"]["terminal"] == "completed"


def test_an_interrupt_ends_the_subagent_too(host: SimHost) -> None:
    session = host.start()
    turn_id = host.prompt(session, "approve kid")
    kid = host.until_method("approval/requested")["sessionId"]
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn_id})
    assert host.until_method("turn/completed", sessionId=session)["terminal"] == "cancelled"
    ends = {params["sessionId"]: params["terminal"] for params in params_of(host.frames, "turn/completed")}
    assert ends == {kid: "cancelled", session: "cancelled"}
    assert items_of(host.frames, "subagent")[0]["status"] == "cancelled"
    assert params_of(host.frames, "approval/resolved")[0]["sessionId"] == kid
