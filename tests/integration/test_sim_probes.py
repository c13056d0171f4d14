"""How a client learns what a simulated host has, and leaving, stopping and resuming what runs (`msp.md §10.7, §22,
§28.6`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.sim_driver import Json, Refused, SimHost, items_of, params_of, sim_host

NOBODY = "01900000-0000-7000-8000-00000000dead"
NIL = "00000000-0000-0000-0000-000000000000"
TEXT = [{"type": "text", "text": "x"}]

COMMANDS: dict[str, Json] = {
    "session/rename": {"name": "x"},
    "session/compact": {},
    "session/setModel": {"model": {"modelId": "muse-small-1"}},
    "session/setReasoningEffort": {"reasoningEffort": "low"},
    "session/setApprovalMode": {"mode": "onRequest"},
    "session/fork": {},
    "session/leave": {},
    "goal/set": {"objective": "x"},
    "goal/clear": {},
    "task/stop": {"taskId": "x"},
    "task/stopAll": {},
    "turn/steer": {"expectedTurnId": "x", "input": TEXT},
    "turn/unqueue": {"turnId": "x"},
    "turn/interrupt": {"turnId": "x"},
    "workflow/cancel": {"workflowRunId": "x"},
    "subagent/stop": {"subagentId": "x"},
    "userInput/interrupt": {"userInputId": "x"},
}
QUERIES: dict[str, Json] = {"skill/list": {}, "task/list": {}, "view/subscribe": {}}


def refusal(host: SimHost, method: str, params: Json) -> Refused:
    with pytest.raises(Refused) as caught:
        (host.ask if method in QUERIES else host.command)(method, params)
    return caught.value


@pytest.mark.parametrize("version", PROFILES)
def test_a_made_up_session_tells_which_methods_there_are_and_changes_nothing(tmp_path: Path, version: str) -> None:
    with sim_host(tmp_path, version) as host:
        host.handshake()
        for method, params in {**COMMANDS, **QUERIES}.items():
            refused = refusal(host, method, {"sessionId": NOBODY, **params})
            there = method in PROFILES[version].methods
            assert (refused.code, refused.kind) == (
                (-32020, "sessionNotFound") if there else (-32601, "methodNotFound")
            ), method
        deletion = refusal(host, "session/delete", {"sessionId": NIL})
        assert deletion.code == (-32602 if version == "1.4.2" else -32601)
        assert not params_of(host.settled(), "session/statusChanged")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("version", PROFILES)
def test_a_missing_method_is_missing_whatever_it_is_given(tmp_path: Path, version: str) -> None:
    with sim_host(tmp_path, version) as host:
        host.handshake()
        for method in {**COMMANDS, **QUERIES, "session/delete": {}}:
            if method not in PROFILES[version].methods:
                with pytest.raises(Refused) as caught:
                    host.ask(method, {"sessionId": 7})
                assert caught.value.code == -32601, method


@pytest.mark.parametrize("free", [True, False])
def test_a_session_that_is_not_loaded_says_so(tmp_path: Path, free: bool) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.turn(session, "hello")
        with sim_host(tmp_path) as second:
            second.handshake()
            expected = (-32021, "sessionInUse")
            if free:
                first.close()
                expected = (-32024, "sessionNotLoaded")
            for method, params in COMMANDS.items():
                if method != "session/fork":
                    refused = refusal(second, method, {"sessionId": session, **params})
                    assert (refused.code, refused.kind) == expected, method


# -- leaving


def test_a_session_is_left_and_free_for_another_host(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first, sim_host(tmp_path) as second:
        first.handshake()
        second.handshake()
        session = first.start()
        first.turn(session, "hello")
        assert refusal(second, "session/resume", {"sessionId": session}).kind == "sessionInUse"
        first.command("session/leave", {"sessionId": session})
        assert first.until_method("session/leaveCompleted")["outcome"] == "released"
        assert params_of(first.frames, "session/closed")[0]["reason"] == "leave"
        assert second.command("session/resume", {"sessionId": session})["lastTurn"]["terminal"] == "completed"
        assert refusal(first, "turn/start", {"sessionId": session, "input": TEXT}).kind == "sessionInUse"
        assert refusal(first, "session/leave", {"sessionId": session}).kind == "sessionInUse"


def test_a_session_that_works_is_left_only_if_it_is_to_stop(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        host.prompt(session, "slow 30")
        host.command("session/leave", {"sessionId": session})
        failed = host.until_method("session/leaveCompleted")
        assert (failed["outcome"], failed["reason"]) == ("failed", "timeout")
        assert host.ask("session/read", {"sessionId": session})["session"]["status"] == "running"
        host.command("session/leave", {"sessionId": session, "stop": True})
        assert host.until_method("session/leaveCompleted")["outcome"] == "released"
        assert params_of(host.frames, "turn/completed")[0]["terminal"] == "cancelled"


# -- what runs


def test_a_running_turn_is_picked_up_by_a_resume(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        turn_id = host.prompt(session, "slow 0.5")
        host.until_method("item/delta")
        host.ask("view/unsubscribe", {"sessionId": session})
        resumed = host.command("session/resume", {"sessionId": session})
        assert resumed["session"]["status"] == "running"
        assert host.until_method("item/delta")["delta"] == "done ✓"
        assert host.until_method("turn/completed", turnId=turn_id)["terminal"] == "completed"


@pytest.mark.parametrize(
    ("prompt", "kind", "method", "member"),
    [
        ("background 30", "toolCall", "task/stop", "itemId"),
        ("workflow 30", "workflow", "workflow/cancel", "workflowRunId"),
        ("workflow 30", "workflow", "task/stop", "itemId"),
        ("subagent 30", "subagent", "subagent/stop", "subagentId"),
        ("subagent 30", "subagent", "task/stop", "itemId"),
        ("subagent 30", "subagent", "task/stopAll", ""),
    ],
)
def test_what_goes_on_after_its_turn_can_be_stopped(
    tmp_path: Path, prompt: str, kind: str, method: str, member: str
) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        assert host.turn(session, prompt)[-1]["params"]["terminal"] == "completed"
        (begun,) = items_of(host.frames, kind, "item/started")
        named = {"taskId" if member == "itemId" else member: begun[member]} if member else {}
        host.command(method, {"sessionId": session, **named})
        ended = host.until_method("item/completed")["item"]
        assert (ended["itemId"], ended["status"]) == (begun["itemId"], "cancelled")
        assert ended.get("controlStatus") == ("closed" if kind == "subagent" else None)
        assert host.ask("task/list", {"sessionId": session}) == {"tasks": []}
        assert host.close() == 0


def test_a_subagent_that_ran_on_reports_after_its_turn(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        host.turn(host.start(), "subagent 0.2")
        ended = host.until_method("item/completed")["item"]
        assert (ended["kind"], ended["status"], ended["controlStatus"]) == ("subagent", "completed", "closed")
