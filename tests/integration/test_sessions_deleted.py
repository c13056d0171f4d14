"""`session/delete`: offered where the host can, ended when it has, and the same whoever asks how often."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from uuid import uuid4

import pytest

from tests.adapter_process import AdapterProcess, running_adapter
from tests.output_clients import error_of, stored
from tests.processes import wait_until
from tests.screens import VERSIONS, a_session

DELETES = "simulated:1.4.2"


def listed(adapter: AdapterProcess) -> list[str]:
    return [row["sessionId"] for row in adapter.call("session/list", {})["sessions"]]


@pytest.mark.acp(57)
def test_a_session_is_gone_when_the_answer_comes(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        assert adapter.initialize()["agentCapabilities"]["sessionCapabilities"]["delete"] == {}
        kept, gone = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        adapter.prompt(kept, "hello")
        turn = adapter.begin_prompt(gone, "slow 30")
        adapter.wait_for_update(lambda update: update.get("content", {}).get("text", "").startswith("This takes"))
        assert adapter.call("session/delete", {"sessionId": gone}) == {}
        assert adapter.response(turn)["result"]["stopReason"] == "cancelled", "an open one is closed first"
        assert listed(adapter) == [kept]
        for method, params in (
            ("session/load", stored(gone, tmp_path)),
            ("session/prompt", {"sessionId": gone, "prompt": []}),
        ):
            assert error_of(adapter.refused(method, params))[0] == -32002
        assert adapter.call("session/delete", {"sessionId": gone}) == {}, "twice is no error"
        assert adapter.prompt(kept, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.acp(57)
def test_what_never_was_is_as_good_as_deleted(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        adapter.initialize()
        for session_id in (str(uuid4()), "ses-gone", "0" * 36, "00000000-0000-0000-0000-000000000000", "../../etc"):
            assert adapter.call("session/delete", {"sessionId": session_id}) == {}
        assert adapter.finish() == 0


def test_many_requests_to_delete_one_session_are_one(tmp_path: Path) -> None:
    witness = tmp_path / "witness.ndjson"
    with running_adapter(tmp_path, muse=DELETES, env={"MUSE_SIMULATED_WITNESS": str(witness)}) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        asked_before = witness.read_text().count('"session/delete"')
        with adapter.one_write():
            requests = [adapter.begin("session/delete", {"sessionId": session_id}) for _ in range(5)]
        assert [adapter.response(request)["result"] for request in requests] == [{}] * 5
        assert witness.read_text().count('"session/delete"') == asked_before + 1
        assert adapter.finish() == 0


def test_what_a_host_may_not_delete_stays_and_that_is_said(tmp_path: Path) -> None:
    older, _ = a_session(tmp_path, "hello", version="1.4.2")
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        adapter.initialize()
        code, data = error_of(adapter.refused("session/delete", {"sessionId": older}))
        assert (code, data["reason"], data["hostKind"]) == (-32603, "hostError", "ownershipUnavailable")
        assert listed(adapter) == [older]
        adapter.call("session/load", stored(older, tmp_path))
        assert adapter.prompt(older, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_a_refused_deletion_leaves_an_open_session_and_its_turn_alone(tmp_path: Path) -> None:
    older, _ = a_session(tmp_path, "hello", version="1.4.2")
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        adapter.initialize()
        adapter.call("session/load", stored(older, tmp_path))
        turn = adapter.begin_prompt(older, "slow 1")
        adapter.wait_for_update(lambda update: update.get("content", {}).get("text", "").startswith("This takes"))
        code, data = error_of(adapter.refused("session/delete", {"sessionId": older}))
        assert (code, data["reason"], data["hostKind"]) == (-32603, "hostError", "ownershipUnavailable")
        assert adapter.response(turn)["result"]["stopReason"] == "end_turn"
        assert adapter.prompt(older, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_a_session_whose_host_was_replaced_is_not_called_older_than_the_adapter(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        data = adapter.refused("session/delete", {"sessionId": session_id})["data"]
        assert data["hostKind"] == "ownershipUnavailable" and "another host's" in data["details"]
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.parametrize(("told", "reason"), [("sessionInUse", "sessionInUse"), ("writerBusy", "sessionBusy")])
def test_what_is_in_use_may_be_deleted_later(tmp_path: Path, told: str, reason: str) -> None:
    fault = {"at": "session/delete", "do": "error", "code": -32030, "data": {"reason": told}}
    with running_adapter(tmp_path, muse=DELETES, env={"MUSE_SIMULATED_FAULTS": json.dumps([fault])}) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        code, data = error_of(adapter.refused("session/delete", {"sessionId": session_id}))
        assert (code, data["reason"], data["retryable"]) == (-32600, reason, True)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn", "it is still open"
        assert adapter.call("session/delete", {"sessionId": session_id}) == {}
        assert adapter.finish() == 0


def test_a_request_that_is_taken_back_does_not_stop_it(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=DELETES) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        with adapter.one_write():
            request = adapter.begin("session/delete", {"sessionId": session_id})
            adapter.notify("$/cancel_request", {"requestId": request})
        response = adapter.response(request)
        assert "result" in response or response["error"]["code"] == -32800
        assert adapter.call("session/delete", {"sessionId": session_id}) == {}
        assert listed(adapter) == []
        assert adapter.finish() == 0


def test_a_deletion_that_the_host_cannot_do_now_may_be_tried_again(tmp_path: Path) -> None:
    faults = [{"at": "session/delete", "do": "error", "code": -32030, "data": {"reason": "runtime_busy"}}]
    with running_adapter(tmp_path, muse=DELETES, env={"MUSE_SIMULATED_FAULTS": json.dumps(faults)}) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        code, data = error_of(adapter.refused("session/delete", {"sessionId": session_id}))
        assert (code, data["reason"]) == (-32600, "sessionBusy")
        assert adapter.call("session/delete", {"sessionId": session_id}) == {}
        assert adapter.finish() == 0


@pytest.mark.acp(29)
@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "1.4.2"])
def test_it_is_not_there_where_the_host_cannot(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        assert "delete" not in adapter.initialize()["agentCapabilities"]["sessionCapabilities"]
        session_id = adapter.new_session(tmp_path)
        assert error_of(adapter.refused("session/delete", {"sessionId": session_id}))[0] == -32601
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
