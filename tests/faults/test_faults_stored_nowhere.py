"""What happens to sessions that only their host has, and to those whose host does not let go of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.bridge import sessions
from adapter.msp.session import LEAVE_SECONDS, UNSUBSCRIBE_SECONDS
from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.ending import end
from tests.faults.hosts_that_store_nothing import LetsGoLate, StoresNothing
from tests.hurried import hurried
from tests.output_clients import stored
from tests.scripted_hosts import place


def failure(adapter: AdapterProcess, session_id: str, text: str) -> Json:
    error: Json = adapter.response(adapter.begin_prompt(session_id, text))["error"]
    return error


def test_n12_a_login_that_has_run_out_costs_no_session_of_a_host_that_stores_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", StoresNothing)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        idle, working = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        assert adapter.prompt(idle, "go")["stopReason"] == "end_turn"
        assert failure(adapter, working, "auth")["code"] == -32000
        for session_id in (idle, working):
            assert adapter.prompt(session_id, "go")["stopReason"] == "end_turn"
        assert len(host.pids("serve.pids")) == 1
        third = adapter.new_session(tmp_path)
        assert len(host.pids("serve.pids")) == 2, "a new session is for a host that looks at the login anew"
        for session_id in (idle, working, third):
            assert adapter.prompt(session_id, "go")["stopReason"] == "end_turn"
        end(adapter, host)


def test_e2_a_session_that_is_lost_is_said_to_be_lost_everywhere(tmp_path: Path) -> None:
    host = place(tmp_path / "host", StoresNothing)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "go")
        listed = adapter.call("session/list", {})["sessions"]
        assert [row["sessionId"] for row in listed] == [session_id]
        errors = [failure(adapter, session_id, text) for text in ("die", "go")]
        errors += [
            adapter.refused(method, stored(session_id, tmp_path)) for method in ("session/load", "session/resume")
        ]
        for error in errors:
            assert (error["code"], error["data"]["reason"]) == (-32002, "sessionLost")
            assert error["data"]["sessionId"] == session_id
        assert adapter.call("session/list", {})["sessions"] == []
        end(adapter, host)


@pytest.mark.parametrize(
    "never", [["view/unsubscribe"], ["session/leave"], []], ids=["unsubscribe", "leave", "conclusion"]
)
def test_g6_a_close_does_not_wait_for_a_host_that_does_not_let_go(tmp_path: Path, never: list[str]) -> None:
    """The session can be opened again, once the host has let go of it or has had its time."""
    host = place(tmp_path / "host", LetsGoLate, never=never)
    with running_adapter(tmp_path, muse=host.muse, command=hurried(msp__session__LEAVE_SECONDS=1.5)) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "go")
        closing = adapter.begin("session/close", {"sessionId": session_id})
        assert adapter.response(closing)["result"] == {}
        assert not host.received("session/resume")
        adapter.call("session/load", stored(session_id, tmp_path))
        left = [
            frame["method"] for frame in host.received() if frame.get("method") in ("session/leave", "session/resume")
        ]
        assert left[-2:] == ["session/leave", "session/resume"], "what is opened anew is not let go of"
        assert adapter.prompt(session_id, "go")["stopReason"] == "end_turn"
        end(adapter, host)


def test_the_answer_to_a_close_comes_before_clients_give_up() -> None:
    assert sessions.ANSWER_SECONDS < UNSUBSCRIBE_SECONDS <= 2 < LEAVE_SECONDS <= 10


def test_g4_an_adapter_that_stops_while_its_host_is_silent_says_nothing_of_a_fault(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LetsGoLate, never=["skill/list", "model/list", "session/fork"])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        end(adapter, host)
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
