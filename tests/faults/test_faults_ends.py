"""Faults of group E, the host's side: a host that dies or closes a pipe. Real processes, real ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.adapter_process import EXIT_SECONDS, Json, permission, running_adapter
from tests.faults.ending import end, is_failed_card, is_open_card
from tests.faults.hosts_that_end import (
    ClosesStdin,
    ClosesStdout,
    DiesInTheFirstTurn,
    Exits,
    KeepsHistory,
    RecordsAtTheEnd,
    Works,
)
from tests.processes import wait_until
from tests.scripted_hosts import place

# -- E1


@pytest.mark.parametrize(
    ("at", "reason"), [("initialize", "hostStartFailed"), ("session/start", "hostDied")], ids=["handshake", "session"]
)
def test_e1_closed_stdout_fails_the_new_session(tmp_path: Path, at: str, reason: str) -> None:
    host = place(tmp_path / "host", ClosesStdout, at=at)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert error["data"]["reason"] == reason
        assert "closed its output" in error["data"]["details"]
        end(adapter, host)


@pytest.mark.parametrize("at", ["turn/start", "turn/interrupt"])
def test_e1_closed_stdout_ends_the_prompt(tmp_path: Path, at: str) -> None:
    host = place(tmp_path / "host", ClosesStdout, at=at)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "go")
        if at == "turn/interrupt":
            adapter.wait_for_update(is_open_card)
            adapter.notify("session/cancel", {"sessionId": session_id})
            assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        else:
            error = adapter.response(prompt)["error"]
            assert error["data"]["reason"] == "hostDied"
            assert "closed its output" in error["data"]["details"]
        end(adapter, host)


# -- E2


@pytest.mark.acp(66)
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=lambda value: value.name)
@pytest.mark.parametrize("asks", [False, True], ids=["tool", "dialog"])
def test_e2_killed_in_a_turn(tmp_path: Path, signum: signal.Signals, asks: bool) -> None:
    host = place(tmp_path / "host", DiesInTheFirstTurn, asks=asks)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "go")
        card = adapter.wait_for_update(is_open_card)
        if asks:
            asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        [victim] = host.pids("serve.pids")
        os.kill(victim, signum)
        response = adapter.response(prompt)
        assert response["error"]["data"]["reason"] == "hostDied"
        assert f"signal {signum.value}" in response["error"]["data"]["details"]

        before = adapter.frames[: adapter.frames.index(response)]
        [failed] = [frame for frame in before if is_failed_card(frame)]
        assert failed["params"]["update"]["toolCallId"] == card["toolCallId"]
        if asks:
            taken_back = adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
            assert taken_back["params"] == {"requestId": asked["id"]}
        else:
            assert not [frame for frame in before if frame.get("method") == "$/cancel_request"]

        assert adapter.prompt(session_id, "again") == {"stopReason": "end_turn"}
        assert adapter.prompt(adapter.new_session(tmp_path), "and a new one") == {"stopReason": "end_turn"}
        assert len(host.received("session/resume")) == 1
        end(adapter, host)


def test_e2_killed_while_idle(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "hello") == {"stopReason": "end_turn"}
        wait_until(lambda: len(adapter.children()) == 1)  # The other one tells its version.
        [victim] = adapter.hosts()
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in adapter.children())
        assert adapter.prompt(session_id, "hello again") == {"stopReason": "end_turn"}
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == {"stopReason": "end_turn"}
        wait_until(lambda: len(adapter.children()) == 1)
        end(adapter)


def test_e2_every_session_hears_of_it_once(tmp_path: Path) -> None:
    host = place(tmp_path / "host", KeepsHistory)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        opened = {"cwd": str(tmp_path), "mcpServers": []}
        session_id, closed = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        for _ in range(3):
            adapter.call("session/load", {"sessionId": session_id, **opened})
            adapter.call("session/load", {"sessionId": closed, **opened})
        adapter.call("session/close", {"sessionId": closed})
        prompt = adapter.begin_prompt(session_id, "go")
        adapter.wait_for_update(lambda update: update.get("content", {}) == {"type": "text", "text": "working"})
        cards = [update["toolCallId"] for update in adapter.updates() if is_open_card(update)]
        assert len(cards) == len(set(cards)) >= 6
        before = len(adapter.frames)
        os.kill(host.pids("serve.pids")[0], signal.SIGKILL)
        assert "error" in adapter.response(prompt)
        ended = [frame["params"] for frame in adapter.frames[before:] if is_failed_card(frame)]
        assert {params["sessionId"] for params in ended} == {session_id}
        names = [params["update"]["toolCallId"] for params in ended]
        assert len(names) == len(set(names)) == 2, "the call of the last load, and that of the turn"
        end(adapter, host)


def test_e2_the_next_host_is_told_of_the_mcp_servers(tmp_path: Path) -> None:
    host = place(tmp_path / "host", DiesInTheFirstTurn)
    server = {"name": "demo", "command": "/bin/demo", "args": ["-v"], "env": [{"name": "A", "value": "b"}]}
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", {"cwd": str(tmp_path), "mcpServers": [server]})["sessionId"]
        prompt = adapter.begin_prompt(session_id, "go")
        adapter.wait_for_update(is_open_card)
        os.kill(host.pids("serve.pids")[0], signal.SIGKILL)
        assert "error" in adapter.response(prompt)
        assert adapter.prompt(session_id, "again") == {"stopReason": "end_turn"}
        [started], [resumed] = host.received("session/start"), host.received("session/resume")
        assert started["params"]["config"]["mcpServers"]["demo"]["command"] == "/bin/demo"
        assert resumed["params"]["config"] == started["params"]["config"]
        end(adapter, host)


# -- E3


@pytest.mark.parametrize("at", ["spawn", "byte", "initialize", "initialized", "session/start"])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"code": 7}, "exit 7"),
        ({"code": 3}, "exit 3"),
        ({"code": 0}, "shut down"),
        ({"signal": int(signal.SIGABRT)}, "signal 6"),
    ],
    ids=["seven", "three", "zero", "signal"],
)
def test_e3_exit_names_the_code_and_the_last_words(
    tmp_path: Path, at: str, settings: dict[str, int], words: str
) -> None:
    host = place(tmp_path / "host", Exits, at=at, **settings)
    with running_adapter(tmp_path, muse=host.muse, env={"DEMO_API_KEY": "demo-secret-123"}) as adapter:
        adapter.initialize()
        error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        details = error["data"]["details"]
        assert words in details
        assert "cannot open the store" in details
        assert "demo-secret-123" not in details
        end(adapter, host)
        assert b"demo-secret-123" not in adapter.stderr


@pytest.mark.acp(66)
def test_e3_exit_in_a_turn(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Exits, at="turn/start")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        error = adapter.response(adapter.begin_prompt(adapter.new_session(tmp_path), "go"))["error"]
        assert "exit 7" in error["data"]["details"]
        end(adapter, host)


# -- E4


@pytest.mark.parametrize("what", ["decision", "interrupt", "close"])
@pytest.mark.parametrize("order", ["dies first", "dies later"])
def test_e4_host_dies_with_things_left_to_send(tmp_path: Path, what: str, order: str) -> None:
    host = place(tmp_path / "host", Works, asks=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "go")
        asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        [victim] = host.pids("serve.pids")
        # A stopped host takes nothing in, so what is sent to it is surely still to be read when it dies.
        os.kill(victim, signal.SIGSTOP)
        if order == "dies first":
            os.kill(victim, signal.SIGKILL)
        if what == "decision":
            adapter.send({"jsonrpc": "2.0", "id": asked["id"], **permission("yes")})
        elif what == "interrupt":
            adapter.notify("session/cancel", {"sessionId": session_id})
        else:
            adapter.close_input()
        if order == "dies later":
            os.kill(victim, signal.SIGKILL)
        answer = adapter.response(prompt)
        assert answer.get("result") == {"stopReason": "cancelled"} or answer["error"]["data"]["reason"] == "hostDied"
        end(adapter, host)


def test_e4_host_no_longer_reads(tmp_path: Path) -> None:
    host = place(tmp_path / "host", ClosesStdin)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.answer = lambda request: permission("yes")
        adapter.initialize()
        error = adapter.response(adapter.begin_prompt(adapter.new_session(tmp_path), "go"))["error"]
        assert error["data"]["reason"] == "hostDied"
        assert adapter.stderr.count(b"a decision did not reach the host") <= 1
        end(adapter, host)


# -- E7


@pytest.mark.acp(21, 74)
def test_e7_turn_is_interrupted_before_the_host_is_stopped(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Works)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        prompt = adapter.begin_prompt(adapter.new_session(tmp_path), "go")
        adapter.wait_for_update(is_open_card)
        adapter.close_input()
        response = adapter.response(prompt)
        assert response["result"] == {"stopReason": "cancelled"}
        assert any(is_failed_card(frame) for frame in adapter.frames[: adapter.frames.index(response)])
        end(adapter, host)
        assert len(host.received("turn/interrupt")) == 1


INTERRUPTED = pytest.mark.parametrize(
    "prompt", ["work 600", "approve", "approve3"], ids=["running", "waiting", "waiting for a part"]
)
"""What runs when the client goes."""


def go_in_the_middle(home: Path, prompt: str) -> str:
    """Close the input while a call runs or waits; gives the session."""
    with running_adapter(home) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(home)
        adapter.begin_prompt(session_id, prompt)
        if prompt.startswith("approve"):
            adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        else:
            adapter.wait_for_update(lambda update: "checking" in str(update.get("content")))
        adapter.close_input()
        end(adapter)
    return session_id


@INTERRUPTED
def test_e7_stored_session_has_no_dangling_call(tmp_path: Path, prompt: str) -> None:
    session_id = go_in_the_middle(tmp_path, prompt)
    calls = [item for item in stored_items(tmp_path, session_id) if item["kind"] == "toolCall"]
    assert calls and all(item["status"] not in {"inProgress", "completed"} for item in calls), calls


@INTERRUPTED
def test_e7_a_reload_shows_the_call_as_ended(tmp_path: Path, prompt: str) -> None:
    session_id = go_in_the_middle(tmp_path, prompt)
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.call("session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        statuses: dict[str, str] = {}
        for update in adapter.updates(session_id):
            if update["sessionUpdate"].startswith("tool_call") and "status" in update:
                statuses[update["toolCallId"]] = update["status"]
        assert list(statuses.values()) == ["failed"]
        end(adapter)


def stored_items(home: Path, session_id: str) -> list[Json]:
    """The items of a session as a host that was started for it alone has them."""
    hello = {"clientInfo": {"name": "tests", "version": "1"}, "capabilities": {}}
    resume = {"sessionId": session_id, "commandId": "0198f000-0000-7000-8000-000000000001"}
    frames: list[Json] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "session/resume", "params": resume},
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "adapter.hosts.simulated", "serve"],
        input=b"".join(orjson.dumps(frame) + b"\n" for frame in frames),
        capture_output=True,
        timeout=EXIT_SECONDS,
        env={**os.environ, "HOME": str(home)},
        check=False,
    )
    answers = {frame.get("id"): frame for frame in map(orjson.loads, ran.stdout.splitlines())}
    result = answers[2]["result"]
    items: list[Json] = (result.get("history") or result["state"])["items"]
    return items


@pytest.mark.parametrize("ends", ["input", "signal"])
def test_e7_a_host_has_the_time_to_record_what_was_running(tmp_path: Path, ends: str) -> None:
    host = place(tmp_path / "host", RecordsAtTheEnd)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        if ends == "signal":
            adapter.process.send_signal(signal.SIGTERM)
            adapter.wait_exit()
        end(adapter, host)
    assert (host.directory / "recorded").exists()
