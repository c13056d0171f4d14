"""Copies of sessions whose host dies meanwhile: there is one, or the user is told that there may be."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, running_adapter
from tests.option_clients import faulty, told, witnessed
from tests.output_clients import stored
from tests.processes import wait_until


def listed(adapter: AdapterProcess) -> set[str]:
    return {row["sessionId"] for row in adapter.call("session/list", {})["sessions"]}


def kill_at(adapter: AdapterProcess, witness: Path, method: str, times: int) -> None:
    """Kill the host when it has been asked this so often, before it answers."""
    wait_until(lambda: len(witnessed(witness, method)) >= times)
    wait_until(lambda: len(adapter.children()) == 1)
    os.kill(adapter.hosts()[0], signal.SIGKILL)


@pytest.mark.parametrize("version", ["1.2.1", "1.4.2"])
@pytest.mark.parametrize("step", ["session/fork", "session/resume"])
def test_e2_a_host_that_dies_while_it_copies_leaves_one_copy(tmp_path: Path, version: str, step: str) -> None:
    witness = tmp_path / "witness"
    late = {"at": step, "do": "delayAck", "seconds": 1.5, "times": None}
    env = faulty(late) | {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        source = adapter.new_session(tmp_path)
        adapter.prompt(source, "hello there")
        before = len(witnessed(witness, step))
        request = adapter.begin("session/fork", stored(source, tmp_path))
        kill_at(adapter, witness, step, before + 1)
        answer = adapter.response(request)["result"]
        copy = answer["sessionId"]
        assert answer["_meta"]["muse/fork"]["sourceSessionId"] == source
        assert listed(adapter) == {source, copy}
        adapter.prompt(copy, "recall")
        assert "hello there" in adapter.text(copy)
        assert told(adapter, source, "session_info_update") == []
        assert adapter.finish() == 0


def test_e2_a_copy_of_which_nobody_knows_is_not_made_twice(tmp_path: Path) -> None:
    with running_adapter(tmp_path, env=faulty({"at": "session/fork", "do": "die"})) as adapter:
        adapter.initialize()
        source = adapter.new_session(tmp_path)
        adapter.prompt(source, "hello")
        data = adapter.refused("session/fork", stored(source, tmp_path))["data"]
        assert (data["reason"], data["retryable"]) == ("hostDied", False)
        assert "There may be a copy" in data["details"]
        assert adapter.prompt(source, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
