"""A request that is taken back leaves no session open at the host (`fault-cases.md L2, N5` by kind)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapter_process import ANSWER_SECONDS, AdapterProcess, running_adapter

NEWEST = "simulated:1.4.13"
"""The version whose host lets go of a session when it is asked to."""


def can_be_opened_elsewhere(home: Path, session_id: str) -> bool:
    """Whether another process gets the session."""
    with running_adapter(home, muse=NEWEST) as other:
        other.initialize()
        asked = other.begin("session/load", {"sessionId": session_id, "cwd": str(home), "mcpServers": []})
        return "result" in other.response(asked)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + ANSWER_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def take_back(adapter: AdapterProcess, request_id: int) -> None:
    adapter.notify("$/cancel_request", {"requestId": request_id})
    response = adapter.response(request_id)
    assert "error" not in response or response["error"]["code"] == -32800


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_an_opening_that_is_taken_back_is_undone(tmp_path: Path, method: str) -> None:
    witness = tmp_path / "witness.ndjson"
    slow = '[{"at": "session/resume", "do": "slow", "seconds": 0.5}]'
    env = {"MUSE_SIMULATED_FAULTS": slow, "MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=NEWEST) as maker:
        maker.initialize()
        session_id = maker.new_session(tmp_path)
        maker.prompt(session_id, "hello")
        assert maker.finish() == 0
    with running_adapter(tmp_path, muse=NEWEST, env=env) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        asked = adapter.begin(method, {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        wait_until(lambda: "session/resume" in witness.read_text())
        take_back(adapter, asked)
        adapter.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert can_be_opened_elsewhere(tmp_path, session_id)
        assert adapter.finish() == 0


def test_a_close_that_is_taken_back_is_finished_all_the_same(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=NEWEST) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "slow 30")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        take_back(adapter, adapter.begin("session/close", {"sessionId": session_id}))
        assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        adapter.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert can_be_opened_elsewhere(tmp_path, session_id)
        assert adapter.finish() == 0
