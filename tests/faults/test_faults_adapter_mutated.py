"""The kind beyond the cases of groups A, B and D: lines that were damaged at random, thousands of them, to one adapter.
Those of a client may not end it, go unanswered or be answered twice; those of a host may not end it or hold a prompt.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapter_process import permission, running_adapter
from tests.faults.hosts_of_bytes import Interjects
from tests.faults.with_host import opened
from tests.oracles.acp_schema import check_agent_frame
from tests.scripted_hosts import ScriptedHost, place

LINES: Final = 2000
BATCH: Final = 50

PIECES: Final = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"null", b"true", b"1e999", b"NaN", b"-0", b"1.5", b"\\ud800"),
    *(
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\x00",
        b"\r",
        b"\n",
        b"\r\n",
        b"9" * 400,
        b"[" * 600,
        b'"id":null,',
        b" " * 99,
    ),
)
"""What is put somewhere into a line."""


def templates(session_id: str, cwd: Path) -> list[Any]:
    """Sound messages; their id is set later."""
    text = [{"type": "text", "text": "温室🌳 go"}]
    calls = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}),
        ("session/new", {"cwd": str(cwd), "mcpServers": []}),
        ("session/prompt", {"sessionId": session_id, "prompt": text}),
        ("session/prompt", {"sessionId": session_id, "prompt": [{"type": "image", "data": "AA==", "mimeType": "x"}]}),
        ("authenticate", {"methodId": "muse-login"}),
        ("session/list", {"cursor": "x", "_meta": {"a": [1, {"b": None}]}}),
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


def mutated(chance: random.Random, message: dict[str, Any], number: int) -> bytes:
    """One damaged line; the id is `number` where the message has one of its own and the damage leaves it."""
    if message.get("id") == 0:
        message = message | {"id": number if chance.random() < 0.5 else f"id-{number}"}
    line = bytearray(json.dumps(message, ensure_ascii=chance.random() < 0.5).encode())
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(line) + 1)
        damage = chance.randrange(5)
        if damage == 0:
            line[at:at] = chance.choice(PIECES)
        elif damage == 1:
            del line[at : at + chance.randrange(1, 30)]
        elif damage == 2 and at < len(line):
            line[at] = chance.randrange(256)
        elif damage == 3:
            line[at:at] = line[at : at + chance.randrange(1, 30)]
        else:
            line = line[at:] + line[:at] if chance.random() < 0.2 else line
    return bytes(line) + b"\n"


def answered_as(line: bytes) -> Any:
    """Under which id a line is answered, told from the rules by other means than ours: `Nothing` if not at all."""
    if not line.strip():
        return Nothing
    try:
        value = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    usable = value.get("id")
    if isinstance(usable, str):
        # Half a character cannot be written back; it is answered as what readers make of it.
        usable = usable.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if (
        isinstance(usable, bool)
        or not isinstance(usable, int | str)
        or (isinstance(usable, str) and len(usable) > 1024)
    ):
        usable = None
    if "method" not in value and ("result" in value or "error" in value):
        return Nothing
    sound = value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str)
    return Nothing if sound and "id" not in value else usable


class Nothing:
    """The line is not answered."""


def _refuse(word: str) -> float:
    raise ValueError(word)


def _finite(word: str) -> float:
    return float(word) if math.isfinite(float(word)) else _refuse(word)


def _integer(word: str) -> int | float:
    return int(word) if len(word) < 25 and -(2**63) <= int(word) < 2**64 else _finite(word)


def _key(request_id: Any) -> str:
    """`1`, `"1"` and no id are three things."""
    return repr(request_id)


@pytest.mark.acp(15, 107)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_b_d_damaged_lines_are_each_answered_as_they_should_be(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        adapter._next_id = 1_000_000
        adapter.initialize()
        sound = templates(adapter.new_session(tmp_path), tmp_path)
        before = len(adapter.frames)
        owed: Counter[str] = Counter()
        probes: list[int] = []
        for batch in range(LINES // BATCH):
            lines = [mutated(chance, chance.choice(sound), batch * BATCH + number) for number in range(BATCH)]
            adapter.write(b"".join(lines))
            for line in b"".join(lines).split(b"\n"):
                owed[_key(answered_as(line))] += 1
            # Also keeps requests with the same id from being open at once, which would be refused without an id.
            probes.append(adapter.begin("orchard/probe", {}))
            adapter.response(probes[-1])
        adapter.close_input()
        assert adapter.wait_exit() == 0
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
        del owed[_key(Nothing)]
        frames = [frame for frame in adapter.frames[before:] if "method" not in frame]
        given = Counter(_key(frame["id"]) for frame in frames)
        assert given == owed + Counter(map(_key, probes))
        assert len(frames) > LINES // 2
        for frame in adapter.frames[before:]:
            if "result" not in frame:
                check_agent_frame(frame)


def host_templates() -> list[Any]:
    """Sound messages of a host in a turn, the end of the turn not among them."""
    item = {"itemId": "i", "kind": "agentMessage", "turnId": "$T", "revision": 1, "status": "inProgress", "text": "a"}
    call = {**item, "itemId": "c", "kind": "toolCall", "tool": "bash", "args": '{"command":"ls"}', "visibleOutput": "x"}
    choice = {"choiceId": "no", "label": "No", "decision": "denied", "scope": "once"}
    asked: dict[str, Any] = {"approvalId": "apr", "turnId": "$T", "itemId": "c", "toolName": "bash", "rawArgs": "{}"}
    asked |= {"subject": {"kind": "shell", "command": "ls"}, "availableChoices": [choice], "currentRequirementId": {}}
    events: list[tuple[str, dict[str, Any]]] = [
        *((f"item/{stage}", {"item": each}) for stage in ("started", "updated", "completed") for each in (item, call)),
        *(
            ("item/delta", {"itemId": each, "delta": "温", "field": field})
            for each in "ic"
            for field in ("text", "output")
        ),
        ("turn/started", {"turnId": "$T", "commandId": "x"}),
        (
            "turn/completed",
            {"turnId": "another", "terminal": "failed", "error": {"kind": "modelError", "message": "m"}},
        ),
        ("approval/requested", asked),
        ("approval/updated", asked | {"change": {"kind": "stageResolved"}}),
        ("approval/resolved", asked | {"decision": "denied"}),
        ("userInput/requested", {"userInputId": "u", "turnId": "$T", "questions": []}),
        ("session/todoListChanged", {"items": [{"content": "a", "status": "pending"}]}),
        ("session/contextUsage", {"used": 1, "size": 2}),
        ("view/gap", {"after": "v:1", "next": "v:2"}),
    ]
    place = {"sessionId": "$S", "viewCursor": "v:0", "sourceRange": {}}
    notes = [{"jsonrpc": "2.0", "method": method, "params": place | params} for method, params in events]
    requests = [
        {"jsonrpc": "2.0", "id": 0, "method": f"{kind}/request", "params": place | asked} for kind in ("approval", "x")
    ]
    return [*notes, *requests, {"jsonrpc": "2.0", "id": 7, "result": {}}, {"jsonrpc": "2.0", "id": 7, "error": None}]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_b_d_damaged_lines_of_a_host_hold_nothing_up(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    sound = host_templates()
    raw = b"".join(mutated(chance, chance.choice(sound), number) for number in range(LINES)).decode("latin-1")
    with opened(tmp_path, Interjects, raw=raw) as case:
        case.adapter.answer = lambda request: permission("no")
        for _ in range(2):
            response = case.adapter.response(case.begin())
            assert "result" in response or response["error"]["data"]["reason"] == "hostError", response
