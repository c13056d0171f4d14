"""Faults of group G, second part: a cancel before there is a turn, and what comes after the end of one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import orjson
import pytest

from tests.adapter_process import Json, permission, running_adapter
from tests.faults.cancelling import (
    CANCELLED,
    END_TURN,
    Cancel,
    after,
    begin_and_wait,
    both_ways,
    cancel_request,
    cancel_session,
    end,
    texts_of,
)
from tests.faults.hosts_hard_to_stop import Busy, Gated, LeavesSubagent, TalksAfterTheEnd
from tests.processes import wait_until
from tests.scripted_hosts import place

# -- G8


@pytest.mark.parametrize("gated", ["initialize", "session/resume"])
@both_ways
def test_g8_cancel_while_the_host_comes_back(tmp_path: Path, gated: str, cancel: Cancel) -> None:
    gate, reached = tmp_path / "gate", tmp_path / "gate.reached"
    host = place(tmp_path / "host", Gated, gated=gated, gate=str(gate))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "hello") == END_TURN
        gate.touch()
        [victim] = host.pids("serve.pids")
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in adapter.children())
        prompt = adapter.begin_prompt(session_id, "never to be run")
        wait_until(reached.exists)
        cancel(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        gate.unlink()
        assert adapter.prompt(session_id, "hello again") == END_TURN
        assert b"never to be run" not in orjson.dumps(host.received("turn/start"))
        end(adapter)


@pytest.mark.acp(78)
def test_g8_cancel_in_line_starts_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Busy)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        waiting = [adapter.begin_prompt(session_id, "waits") for _ in range(3)]
        wait_until(lambda: len(host.received("turn/start")) == 4)
        turns = [f"turn-of-{frame['params']['commandId']}" for frame in host.received("turn/start")]
        cancel_request(adapter, session_id, waiting[1])
        assert adapter.response(waiting[1])["result"] == CANCELLED
        assert [frame["params"]["turnId"] for frame in host.received("turn/unqueue")] == [turns[2]]
        assert not host.received("turn/interrupt"), "the others go on"
        cancel_session(adapter, session_id, first)
        for prompt in (first, waiting[0], waiting[2]):
            assert adapter.response(prompt)["result"] == CANCELLED
        # What waits is reclaimed before what runs is stopped, or it would begin for a moment.
        assert [frame["params"]["turnId"] for frame in host.received("turn/interrupt")] == [turns[0]]
        assert {frame["params"]["turnId"] for frame in host.received("turn/unqueue")} == set(turns[1:])
        assert texts_of(adapter.updates(session_id)).count("text of turn 2") == 0
        end(adapter)


def test_g8_a_prompt_whose_predecessor_is_not_acknowledged_is_never_sent(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    host = place(tmp_path / "host", Gated, gated="turn/start", gate=str(gate))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        gate.touch()
        first = adapter.begin_prompt(session_id, "acknowledged late")
        wait_until(lambda: bool(host.received("turn/start")))
        second = adapter.begin_prompt(session_id, "never to be run")
        third = adapter.begin_prompt(session_id, "runs")
        cancel_request(adapter, session_id, second)
        assert adapter.response(second)["result"] == CANCELLED
        gate.unlink()
        assert adapter.response(first)["result"] == adapter.response(third)["result"] == END_TURN
        said = [frame["params"]["input"][0]["text"] for frame in host.received("turn/start")]
        assert said == ["acknowledged late", "runs"]
        end(adapter)


# -- G9


@pytest.mark.parametrize("at", ["at once", "next prompt", "next turn"])
def test_g9_late_events_of_a_cancelled_turn(tmp_path: Path, at: str) -> None:
    host = place(tmp_path / "host", TalksAfterTheEnd, at=at)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        cancel_session(adapter, session_id, first)
        response = adapter.response(first)
        assert response["result"] == CANCELLED
        assert adapter.prompt(session_id, "again") == END_TURN
        assert texts_of(after(adapter, response)) == ["the second answer"]
        end(adapter)


@pytest.mark.parametrize(
    ("answer", "choice"),
    [(permission("yes"), "yes"), ({"result": {"outcome": {"outcome": "cancelled"}}}, "no")],
    ids=["allowed", "cancelled"],
)
def test_g9_a_subagent_may_ask_beyond_its_turn(tmp_path: Path, answer: Json, choice: str) -> None:
    host = place(tmp_path / "host", LeavesSubagent)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "go") == END_TURN
        asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        assert not any(frame.get("method") == "$/cancel_request" for frame in adapter.frames)
        adapter.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
        wait_until(lambda: bool(host.received("approval/decide")))
        assert [frame["params"]["choiceId"] for frame in host.received("approval/decide")] == [choice]
        end(adapter)


def test_g9_a_closed_session_asks_nothing_more(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LeavesSubagent)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "go") == END_TURN
        asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        adapter.call("session/close", {"sessionId": session_id})
        taken_back = [frame["params"] for frame in adapter.frames if frame.get("method") == "$/cancel_request"]
        assert taken_back == [{"requestId": asked["id"]}]
        end(adapter)
