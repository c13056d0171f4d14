"""What the first answer says, whatever the client says at first, and what it promises (`acp.md §2, §25` 25 to 35)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import Json, running_adapter

EVERYTHING = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "elicitation": {"form": {}},
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "_meta": {"terminal_output": True, "muse/output": 1, "muse/steering": 1, "muse/asyncTasks": 1, "steering": True},
}
ODD: list[Any] = [
    None,
    [],
    "all",
    {"fs": True, "terminal": "yes", "auth": [], "elicitation": {}, "session": 1, "_meta": 7},
    {"fs": {"readTextFile": "true"}, "auth": {"terminal": {}}, "orchard": {"pears": True}},
]
NOBODY = "01900000-0000-7000-8000-00000000feed"


@pytest.mark.acp(28, 30)
@pytest.mark.parametrize("version", PROFILES)
@pytest.mark.parametrize("capabilities", [{}, EVERYTHING], ids=["nothing", "everything"])
def test_the_answer_always_says_who_and_what(tmp_path: Path, version: str, capabilities: Json) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        answer = adapter.initialize(clientCapabilities=capabilities)
        assert answer["agentInfo"].keys() == {"name", "title", "version"}
        assert answer["authMethods"] and all(method["id"] and method["name"] for method in answer["authMethods"])
        offered = answer["agentCapabilities"]
        assert type(offered["loadSession"]) is bool
        assert {type(value) for value in offered["promptCapabilities"].values()} == {bool}
        assert {type(value) for value in offered["mcpCapabilities"].values()} == {bool}
        assert all(marker == {} for marker in offered["sessionCapabilities"].values())
        assert offered["auth"] == {"logout": {}}
        assert adapter.finish() == 0


@pytest.mark.acp(31, 34)
@pytest.mark.parametrize("capabilities", ODD, ids=str)
@pytest.mark.parametrize(
    "info", [None, 7, {"name": 1}, {"name": "x" * 5000, "version": None}], ids=lambda v: str(v)[:20]
)
def test_what_a_client_says_oddly_counts_as_not_said(tmp_path: Path, capabilities: Any, info: Any) -> None:
    with running_adapter(tmp_path) as adapter:
        # Odd on purpose, so it is not remembered for the check of what was exchanged.
        answer = adapter.initialize(clientCapabilities=capabilities, clientInfo=info)
        assert [method["id"] for method in answer["authMethods"]] == ["muse-login"]
        assert "_meta" not in answer
        assert adapter.prompt(adapter.new_session(tmp_path), "hello")["stopReason"] == "end_turn"
        assert not [frame for frame in adapter.frames if "method" in frame and "id" in frame]


SESSION_METHODS: dict[str, Json] = {
    "list": {},
    "resume": {"sessionId": NOBODY, "cwd": "/", "mcpServers": []},
    "fork": {"sessionId": NOBODY, "cwd": "/", "mcpServers": []},
    "close": {"sessionId": NOBODY},
    "delete": {"sessionId": NOBODY},
}


@pytest.mark.acp(29)
@pytest.mark.parametrize("version", PROFILES)
def test_what_is_advertised_is_there_and_what_is_not_is_not(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        offered = adapter.initialize(clientCapabilities=EVERYTHING)["agentCapabilities"]
        for name, params in SESSION_METHODS.items():
            response = adapter.response(adapter.begin(f"session/{name}", params))
            missing = response.get("error", {}).get("code") == -32601
            assert missing == (name not in offered["sessionCapabilities"]), (name, response)
        stored = {"sessionId": NOBODY, "cwd": str(tmp_path), "mcpServers": []}
        assert adapter.refused("session/load", stored)["code"] == -32002
        more = {"cwd": str(tmp_path), "mcpServers": [], "additionalDirectories": [str(tmp_path.parent)]}
        response = adapter.response(adapter.begin("session/new", more))
        assert ("result" in response) == ("additionalDirectories" in offered["sessionCapabilities"]), response
        assert adapter.call("logout", {}) == {}
        assert adapter.finish() == 0


@pytest.mark.acp(33)
def test_a_second_greeting_changes_nothing_for_sessions(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        first = adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 1")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        assert adapter.initialize()["agentCapabilities"] == first["agentCapabilities"]
        assert adapter.response(running)["result"] == {"stopReason": "end_turn"}
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.acp(25)
def test_the_answer_needs_no_muse_no_network_and_no_login(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path), "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    with running_adapter(tmp_path, muse=None, env=nowhere) as adapter:
        assert adapter.initialize()["protocolVersion"] == 1
        error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert error["data"]["reason"] in {"museNotFound", "hostStartFailed"}
        assert adapter.finish() == 0


@pytest.mark.acp(34, 106)
@pytest.mark.parametrize("prompt", ["think", "shell 3000", "edit", "todo", "subagent", "approve", "ask"])
def test_a_client_without_capabilities_is_asked_for_permissions_and_nothing_else(tmp_path: Path, prompt: str) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.answer = lambda request: {"result": {"outcome": {"outcome": "cancelled"}}}
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, prompt)["stopReason"] in {"end_turn", "cancelled"}
        asked = {frame["method"] for frame in adapter.frames if "method" in frame and "id" in frame}
        assert asked == ({"session/request_permission"} if prompt == "approve" else set())
        shown = {update["sessionUpdate"] for update in adapter.updates()}
        assert shown.isdisjoint({"notice", "compaction_update", "compaction_summary_chunk"})
        assert adapter.finish() == 0
