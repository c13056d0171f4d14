"""Sessions in which everything is allowed: only with the start option, however they came to be so."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.option_clients import choices, choose, faulty, opened, told, values
from tests.output_clients import stored

FLAG: Final = "--allow-all"
each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])


def allowing(tmp_path: Path, version: str) -> str:
    """A stored session that was left in `allowAll`."""
    with running_adapter(tmp_path, FLAG, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id: str = opened(adapter, tmp_path)["sessionId"]
        choose(adapter, session_id, "approval_mode", "allowAll")
        assert adapter.prompt(session_id, "approve")["stopReason"] == "end_turn", "nobody is asked"
        assert adapter.finish() == 0
    return session_id


def asks(adapter: AdapterProcess, session_id: str) -> bool:
    """Whether a prompt that needs permission asks for it."""
    prompt = adapter.begin_prompt(session_id, "approve")
    frame = adapter.wait_for(lambda frame: frame.get("id") == prompt or frame.get("method") == ASKING)
    if frame.get("method") == ASKING:
        adapter.send({"jsonrpc": "2.0", "id": frame["id"], "result": permission("reject_once")})
        adapter.response(prompt)
        return True
    return False


ASKING: Final = "session/request_permission"


@each_version
@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/fork"])
def test_a_session_found_so_asks_again(tmp_path: Path, version: str, method: str) -> None:
    session_id = allowing(tmp_path, version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(clientCapabilities={"session": {"notices": {}}})
        result: Json = adapter.call(method, stored(session_id, tmp_path))
        opened_id = result.get("sessionId", session_id)
        approvals = next(option for option in result["configOptions"] if option["id"] == "approval_mode")
        assert approvals["currentValue"] == "promptUnmatched" and "allowAll" not in choices(approvals)
        assert asks(adapter, opened_id)
        remarks = [update["title"] for update in told(adapter, opened_id, "notice")]
        assert sum("allowed everything" in remark for remark in remarks) == 1
        assert adapter.finish() == 0


def test_no_prompt_runs_where_the_host_leaves_it_so(tmp_path: Path) -> None:
    session_id = allowing(tmp_path, "1.4.13")
    fault = {"at": "session/setApprovalMode", "do": "error", "code": -32030, "times": 2}
    with running_adapter(tmp_path, muse="simulated:1.4.13", env=faulty(fault)) as adapter:
        adapter.initialize()
        options = adapter.call("session/load", stored(session_id, tmp_path))["configOptions"]
        assert values(options)["approval_mode"] == "allowAll", "what is in force is shown"
        error = adapter.response(adapter.begin_prompt(session_id, "approve"))["error"]
        assert (error["code"], error["data"]["reason"]) == (-32600, "allowAllNotAllowed")
        assert error["data"]["retryable"] is False
        assert asks(adapter, session_id), "the third time it is changed"
        assert adapter.finish() == 0


def test_with_the_start_option_it_stays(tmp_path: Path) -> None:
    session_id = allowing(tmp_path, "1.4.13")
    with running_adapter(tmp_path, FLAG, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        options = adapter.call("session/load", stored(session_id, tmp_path))["configOptions"]
        assert values(options)["approval_mode"] == "allowAll"
        assert not asks(adapter, session_id)
        assert adapter.finish() == 0
