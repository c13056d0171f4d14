"""Sound messages of both sides, to be damaged. The id of a request is 0 and is set later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

_CORPUS: Final = Path(__file__).with_name("corpus") / "msp"


def of_client(session_id: str, cwd: Path) -> list[Any]:
    """What a client sends; `session_id` is an open session."""
    text = [{"type": "text", "text": "温室🌳 go"}]
    link = {"type": "resource_link", "uri": f"file://{cwd}/a.txt", "name": "a.txt"}
    embedded = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "words", "mimeType": "text/plain"}}
    server = {"name": "shed", "command": "/bin/true", "args": ["-x"], "env": [{"name": "A", "value": "b"}]}
    here = {"sessionId": session_id}
    calls = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}),
        ("session/new", {"cwd": str(cwd), "mcpServers": []}),
        ("session/new", {"cwd": str(cwd / "nowhere"), "mcpServers": [server]}),
        ("session/prompt", {**here, "prompt": text}),
        ("session/prompt", {**here, "prompt": [{"type": "image", "data": "AA==", "mimeType": "x"}]}),
        ("session/prompt", {**here, "prompt": [*text, link, embedded], "_meta": {"traceparent": "00-0-0-01"}}),
        ("session/set_mode", {**here, "modeId": "nothing"}),
        ("session/set_config_option", {**here, "configId": "reasoning_effort", "value": "nothing"}),
        ("session/load", {"sessionId": "ses-unknown", "cwd": str(cwd), "mcpServers": []}),
        ("session/close", {"sessionId": "ses-unknown"}),
        ("authenticate", {"methodId": "muse-login"}),
        ("session/list", {"cursor": "x", "_meta": {"a": [1, {"b": None}]}}),
        ("_muse/readOutput", {**here, "itemId": "i", "outputRef": "o", "offsetBytes": 0, "lengthBytes": 10}),
        ("_muse/task", {**here, "target": "a:b", "action": "cancel"}),
        ("orchard/unknown", {}),
    ]
    requests = [{"jsonrpc": "2.0", "id": 0, "method": method, "params": params} for method, params in calls]
    notes = [
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}},
        {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}},
    ]
    responses = [
        {"jsonrpc": "2.0", "id": 1, "result": {"outcome": {"outcome": "cancelled"}}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
    ]
    return [*requests, *notes, *responses]


def of_host() -> list[Any]:
    """What a host sends in a turn, the end of the turn not among it. `$S` and `$T` stand for the ids of session and
    turn, `$I`, `$A` and `$U` for those of an item, an approval and a question, `$C` for a cursor, and a revision of 1
    for any."""
    item = {"itemId": "$I", "kind": "agentMessage", "turnId": "$T", "revision": 1, "status": "inProgress", "text": "a"}
    call = {**item, "kind": "toolCall", "tool": "bash", "args": '{"command":"ls"}', "visibleOutput": "x"}
    choice = {"choiceId": "no", "label": "No", "decision": "denied", "scope": "once"}
    asked: dict[str, Any] = {"approvalId": "$A", "turnId": "$T", "itemId": "$I", "toolName": "bash", "rawArgs": "{}"}
    asked |= {"subject": {"kind": "shell", "command": "ls"}, "availableChoices": [choice], "currentRequirementId": {}}
    question = {"id": "q", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}
    events: list[tuple[str, dict[str, Any]]] = [
        *((f"item/{stage}", {"item": each}) for stage in ("started", "updated", "completed") for each in (item, call)),
        *(("item/delta", {"itemId": "$I", "delta": "温", "field": field}) for field in ("text", "output")),
        ("turn/started", {"turnId": "$T", "commandId": "x"}),
        (
            "turn/completed",
            {"turnId": "another", "terminal": "failed", "error": {"kind": "modelError", "message": "m"}},
        ),
        (
            "turn/retryScheduled",
            {"turnId": "$T", "nextAttempt": 2, "maxAttempts": 3, "retryDelayMs": 10, "reason": "x"},
        ),
        ("approval/requested", asked),
        ("approval/updated", asked | {"change": {"kind": "stageResolved"}}),
        ("approval/resolved", asked | {"decision": "denied"}),
        ("userInput/requested", {"userInputId": "$U", "turnId": "$T", "questions": [question]}),
        ("userInput/settled", {"userInputId": "$U", "outcome": "cancelled"}),
        ("session/todoListChanged", {"items": [{"content": "a", "status": "pending"}]}),
        ("session/contextUsage", {"used": 1, "size": 2, "pressure": "normal"}),
        ("session/tokenUsage", {"turnId": "$T", "finishReason": "stop", "cumulative": {"totalTokens": 3}}),
        ("session/modelChanged", {"modelId": "m", "providerId": "p"}),
        ("session/approvalModeChanged", {"mode": "onRequest"}),
        ("session/nameChanged", {"name": "n"}),
        ("session/statusChanged", {"status": "idle"}),
        ("skill/changed", {}),
        ("view/gap", {"after": "v:1", "next": "v:2"}),
    ]
    place = {"sessionId": "$S", "viewCursor": "$C", "sourceRange": {}}
    notes = [{"jsonrpc": "2.0", "method": method, "params": place | params} for method, params in events]
    requests = [
        {"jsonrpc": "2.0", "id": 0, "method": f"{kind}/request", "params": place | asked} for kind in ("approval", "x")
    ]
    requests.append(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "userInput/request",
            "params": {**place, "userInputId": "$U", "turnId": "$T", "questions": [question]},
        }
    )
    return [*notes, *requests, {"jsonrpc": "2.0", "id": 7, "result": {}}, {"jsonrpc": "2.0", "id": 7, "error": None}]


def recorded_of_host() -> list[Any]:
    """What the simulated host sends in its turns, as the corpus of events has it; each kind of event once, and no end
    of a turn that runs."""
    found: dict[str, Any] = {}
    for path in sorted(_CORPUS.iterdir()):
        for line in path.read_text("utf-8", "replace").splitlines():
            try:
                method, params = (frame := json.loads(line))["method"], frame["params"]
            except (ValueError, TypeError, KeyError):
                continue
            if isinstance(method, str) and isinstance(params, dict):
                item = params.get("item")
                what = item.get("tool", item.get("kind")) if isinstance(item, dict) else ""
                found.setdefault(f"{method} {what}", _placed(method, params))
    return list(found.values())


_STAND_INS: Final = {
    "sessionId": "$S",
    "turnId": "$T",
    "itemId": "$I",
    "approvalId": "$A",
    "userInputId": "$U",
    "viewCursor": "$C",
    "revision": 1,
}


def _placed(method: str, params: dict[str, Any]) -> dict[str, Any]:
    placed = _with_stand_ins(params)
    if method in ("turn/completed", "turn/unqueued"):
        placed["turnId"] = "another"
    message = {"jsonrpc": "2.0", "method": method, "params": placed}
    return message | ({"id": 0} if method.endswith("/request") else {})


def _with_stand_ins(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _with_stand_ins(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_stand_ins(member) for member in value]
    return _STAND_INS.get(name, value)
