"""Modes of sessions on the simulated hosts: what is read-only runs where nothing can be written, and nowhere else."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.adapter_process import running_adapter
from tests.option_clients import (
    choose,
    faulty,
    is_restricted,
    opened,
    option_updates,
    set_mode,
    told,
    values,
    witnessed,
)
from tests.output_clients import stored

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])


@pytest.mark.acp(97)
def test_modes_and_the_option_are_one_thing(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "plan")
        choose(adapter, session_id, "mode", "readOnly")
        set_mode(adapter, session_id, "readOnly")
        set_mode(adapter, session_id, "default")
        modes = ["plan", "readOnly", "default"]
        assert [each["currentModeId"] for each in told(adapter, session_id, "current_mode_update")] == modes
        assert [each["mode"] for each in option_updates(adapter, session_id)] == modes
        assert adapter.finish() == 0


@each_version
def test_a_restricted_mode_moves_the_session_before_its_next_prompt(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        for mode in ("default", "readOnly", "plan", "default"):
            set_mode(adapter, session_id, mode)
            assert adapter.prompt(session_id, f"hello from {mode}")["stopReason"] == "end_turn"
        asked = witnessed(witness, "turn/start")
        assert [is_restricted(entry) for entry in asked] == [False, True, True, False]
        assert asked[1]["pid"] == asked[2]["pid"], "plan needs no other host than read-only"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_prompt_waits_for_the_turn_before_it_if_the_session_has_to_move(
    tmp_path: Path, version: str, cancelled: bool
) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        first = adapter.begin_prompt(session_id, "slow 30" if cancelled else "slow 1")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        set_mode(adapter, session_id, "readOnly")
        second = adapter.begin_prompt(session_id, "hello")
        if cancelled:
            adapter.notify("session/cancel", {"sessionId": session_id})
        reason = "cancelled" if cancelled else "end_turn"
        assert adapter.response(first)["result"]["stopReason"] == reason
        assert adapter.response(second)["result"]["stopReason"] == reason
        assert adapter.prompt(session_id, "and on")["stopReason"] == "end_turn"
        expected = [False, True] if cancelled else [False, True, True]
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == expected
        assert adapter.finish() == 0


@each_version
def test_a_plan_is_asked_for_in_words_the_transcript_does_not_show(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "plan")
        adapter.prompt(session_id, "rebuild the orchard")
        # The host answers with the first line of what it was asked.
        assert "You said: Plan only." in adapter.text(session_id)
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        result = adapter.call("session/load", stored(session_id, tmp_path))
        assert adapter.text(session_id, "user_message_chunk") == "rebuild the orchard"
        # L12: what is in force after the load is what is shown.
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "default"
        assert adapter.finish() == 0


def test_another_session_at_work_keeps_an_older_host_from_ending(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        adapter.initialize()
        one, two = (opened(adapter, tmp_path)["sessionId"] for _ in range(2))
        adapter.prompt(one, "hello")
        busy = adapter.begin_prompt(two, "slow 30")
        adapter.wait_for_update(
            lambda update: update["sessionUpdate"] == "agent_message_chunk" and "This" in str(update)
        )
        set_mode(adapter, one, "readOnly")
        error = adapter.response(adapter.begin_prompt(one, "hello"))["error"]
        assert error["data"]["reason"] == "hostBusy" and error["data"]["retryable"] is True
        adapter.notify("session/cancel", {"sessionId": two})
        assert adapter.response(busy)["result"]["stopReason"] == "cancelled"
        assert adapter.prompt(one, "hello")["stopReason"] == "end_turn"
        assert adapter.prompt(two, "hello")["stopReason"] == "end_turn", "the other one comes back by itself"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
@pytest.mark.parametrize("work", ["background 1", "subagent 1", "workflow 1"])
def test_what_a_session_does_in_the_background_keeps_it_where_it_is(tmp_path: Path, version: str, work: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        adapter.prompt(session_id, work)
        set_mode(adapter, session_id, "readOnly")
        error = adapter.response(adapter.begin_prompt(session_id, "hello"))["error"]
        assert error["data"]["reason"] == "hostBusy" and error["data"]["retryable"] is True
        for _ in range(100):
            response = adapter.response(adapter.begin_prompt(session_id, "hello"))
            if "result" in response:
                break
            time.sleep(0.05)
        assert response["result"]["stopReason"] == "end_turn"
        statuses = [update.get("status") for update in adapter.updates(session_id)]
        assert "completed" in statuses and "failed" not in statuses
        assert adapter.finish() == 0


@each_version
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_restricted_session_can_be_opened_anew(tmp_path: Path, version: str, method: str) -> None:
    """It is on the other host, and an older one lets go of nothing that is closed."""
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        # Open all the time: it keeps its mode.
        result = adapter.call(method, stored(session_id, tmp_path))
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "readOnly"
        adapter.prompt(session_id, "hello again")
        # Closed and opened: the mode is gone, and what is shown holds.
        adapter.call("session/close", {"sessionId": session_id})
        result = adapter.call(method, stored(session_id, tmp_path))
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "default"
        adapter.prompt(session_id, "and again")
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == [True, True, False]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_copy_of_a_restricted_session_is_restricted(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        copy = adapter.call("session/fork", stored(session_id, tmp_path))
        assert copy["modes"]["currentModeId"] == values(copy["configOptions"])["mode"] == "readOnly"
        adapter.prompt(copy["sessionId"], "hello from the copy")
        set_mode(adapter, copy["sessionId"], "default")
        adapter.prompt(copy["sessionId"], "and from the other host")
        adapter.prompt(session_id, "the first is where it was")
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == [True, True, False, True]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_restricted_session_stays_so_when_its_host_dies(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        os.kill(witnessed(witness, "turn/start")[-1]["pid"], signal.SIGKILL)
        assert adapter.prompt(session_id, "hello again")["stopReason"] == "end_turn"
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")][-1] is True
        assert option_updates(adapter, session_id)[-1]["mode"] == "readOnly"
        assert adapter.finish() == 0


def test_a_restricted_session_is_deleted_where_it_is(tmp_path: Path) -> None:
    """The one version that deletes does so only at the host that started the session; that is gone, and is said."""
    with running_adapter(tmp_path, muse="simulated:1.4.2") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        error = adapter.refused("session/delete", {"sessionId": session_id})
        assert error["data"]["reason"] == "hostError" and "running host has started" in error["data"]["details"]
        assert adapter.call("session/load", stored(session_id, tmp_path))["modes"]["currentModeId"] == "readOnly"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_restricted_host_that_does_not_start_costs_a_prompt_and_no_session(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    fault = {"at": "spawn", "do": "exit", "code": 1, "flag": "--disable-shell", "times": None}
    env = faulty(fault) | {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        error = adapter.response(adapter.begin_prompt(session_id, "hello"))["error"]
        assert error["data"]["reason"] == "hostStartFailed"
        assert witnessed(witness, "turn/start") == [], "it never runs where it may write"
        set_mode(adapter, session_id, "default")
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
