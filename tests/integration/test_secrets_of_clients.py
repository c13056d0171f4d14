"""What a client says, in any place where it can be wrong: none of it is in the log, and no error repeats it.

An error names fields, methods and ids, and the folder that cannot be used; values it does not tell.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.adapter_process import Json, running_adapter

CANARY: Final = "canary-quince-0815"
NOBODY: Final = "01900000-0000-7000-8000-00000000feed"

ECHOED: Final = frozenset({"sessionId", "cwd", "additionalDirectories", "clientInfo"})
"""What an error, or the log, may name."""

SERVERS: Final = [
    {"name": "one", "command": "/bin/true", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
    {"type": "http", "name": "two", "url": "https://x.invalid/", "headers": [{"name": "B", "value": "2"}]},
    {"type": "sse", "name": "three", "url": "https://x.invalid/", "headers": [{"name": "B", "value": "2"}]},
]
BLOCKS: Final = [
    {"type": "text", "text": "hello"},
    {"type": "image", "data": "AAAA", "mimeType": "image/png", "uri": "file:///x"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///x", "name": "x"},
    {"type": "resource", "resource": {"uri": "file:///x", "text": "x", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "file:///x", "blob": "AAAA", "mimeType": "text/plain"}},
]


def requests(cwd: str, session_id: str) -> dict[str, Json]:
    """A request of each method; none of them is more than nearly right when something in it is replaced."""
    stored = {"sessionId": NOBODY, "cwd": cwd, "mcpServers": SERVERS, "additionalDirectories": ["/"]}
    return {
        "initialize": {"protocolVersion": 1, "clientCapabilities": {"fs": {}}, "clientInfo": {"name": "x"}},
        "authenticate": {"methodId": "none"},
        "session/new": {"cwd": cwd, "mcpServers": SERVERS, "additionalDirectories": ["/"]},
        "session/load": stored,
        "session/resume": stored,
        "session/fork": stored | {"_meta": {"muse/fork": {"lastTurnId": "x"}}},
        "session/list": {"cwd": cwd, "cursor": "x"},
        "session/close": {"sessionId": NOBODY},
        "session/delete": {"sessionId": NOBODY},
        "session/set_mode": {"sessionId": session_id, "modeId": "none"},
        "session/set_config_option": {"sessionId": session_id, "configId": "none", "value": "none", "type": "id"},
        "session/prompt": {"sessionId": session_id, "prompt": [{"type": "none"}, *BLOCKS]},
        "_muse/readOutput": {"sessionId": session_id, "itemId": "x", "outputRefId": "x", "offsetBytes": 0},
        "_muse/steer": {"sessionId": session_id, "prompt": BLOCKS},
        "_session/steering": {"sessionId": session_id, "prompt": BLOCKS},
        "_muse/task": {"sessionId": session_id, "taskId": "x", "action": "x"},
        "fs/read_text_file": {"path": "/x"},
    }


def spoilt(params: Json) -> Iterator[Json]:
    """The params with a canary in the place of each value, in each wrong shape, and under a name nobody knows."""
    for path in paths(params):
        if not ECHOED & set(path):
            for wrong in (CANARY, [CANARY], {CANARY: CANARY}, {"text": CANARY, "value": CANARY}):
                yield put(params, path, wrong)
    yield params | {CANARY: CANARY}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield (*path, name)
        yield from paths(member, (*path, name))


def put(params: Json, path: tuple[Any, ...], value: Any) -> Json:
    changed: Any = copy.deepcopy(params)
    inside = changed
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return dict(changed)


@pytest.mark.acp(103, 104)
def test_q2_no_error_and_no_line_of_the_log_repeats_a_parameter(tmp_path: Path) -> None:
    with running_adapter(tmp_path, "--log-level", "debug", muse="simulated:1.4.13") as adapter:
        adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1, "muse/steering": 1, "steering": True}})
        session_id = adapter.new_session(tmp_path)
        asked: list[tuple[int, str]] = []
        for method, params in requests(str(tmp_path), session_id).items():
            for changed in spoilt(params):
                asked.append((adapter.begin(method, changed), method))
        answers = {request_id: adapter.response(request_id, 60) for request_id, _ in asked}
        refused = {method for request_id, method in asked if "error" in answers[request_id]}
        repeated = {
            orjson.dumps(answers[request_id]["error"])
            for request_id, _ in asked
            if CANARY.encode() in orjson.dumps(answers[request_id].get("error"))
        }
        adapter.close_input()
        adapter.wait_exit()
        assert repeated == set()
        assert CANARY.encode() not in adapter.stderr, adapter.stderr.decode()
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
        assert len(refused) >= 15, "most of them are wrong, so the silence shows something"


ANSWERS: Final[list[Json]] = [
    {"error": {"code": -32603, "message": CANARY, "data": {CANARY: CANARY}}},
    {"error": {"code": -32601, "message": CANARY}},
    {"error": CANARY},
    {"result": CANARY},
    {"result": {"outcome": {"outcome": CANARY, "optionId": CANARY}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": CANARY}}},
    {"result": {"outcome": CANARY, "action": CANARY, "content": CANARY}},
    {"result": {"action": "accept", "content": {CANARY: CANARY}}},
    {"result": {"outcome": {"outcome": "cancelled"}}, "error": {"code": 1, "message": CANARY}},
]
LINES: Final = [
    orjson.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": CANARY}}),
    orjson.dumps({"jsonrpc": "2.0", "id": CANARY, "result": CANARY}),
    orjson.dumps({"jsonrpc": "2.0", "method": CANARY, "params": {CANARY: CANARY}}),
    orjson.dumps({"jsonrpc": CANARY, "id": 1, "method": CANARY}),
    orjson.dumps({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": CANARY}}),
    orjson.dumps({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": CANARY}}),
    orjson.dumps([CANARY]),
    orjson.dumps(CANARY),
    CANARY.encode(),
    b'{"jsonrpc":"2.0","id":1,"params":{"text":"' + CANARY.encode(),
    b"\xff" + CANARY.encode(),
]


@pytest.mark.acp(104)
@pytest.mark.parametrize("prompt", ["approve", "ask"])
def test_q2_what_a_client_answers_is_in_no_log(tmp_path: Path, prompt: str) -> None:
    with running_adapter(tmp_path, "--log-level", "debug") as adapter:
        adapter.initialize(clientCapabilities={"elicitation": {"form": {}}})
        for answer in ANSWERS:
            session_id = adapter.new_session(tmp_path)
            adapter.answer = lambda request, answer=answer: answer  # type: ignore[misc]
            running = adapter.begin_prompt(session_id, prompt)
            # Whether it ends by itself or not: a dialog that was answered with nothing may be open.
            asked = adapter.wait_for(lambda frame: "method" in frame and "id" in frame)
            assert asked["method"] in ("session/request_permission", "elicitation/create")
            adapter.notify("session/cancel", {"sessionId": session_id})
            adapter.response(running)
        for line in LINES:
            adapter.write(line + b"\n")
        adapter.new_session(tmp_path)
        adapter.close_input()
        adapter.wait_exit()
        assert CANARY.encode() not in adapter.stderr, adapter.stderr.decode()
