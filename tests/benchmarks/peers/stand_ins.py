"""What pi-acp and zcode-acp start, as small as it can be: a long answer that was encoded beforehand.

Pi (`pi --mode rpc`) reads commands with a type and an id and writes responses and events, a line each. The real one
repeats with each piece the message so far; that is left out here, which is to the good of pi-acp.

The engine of ZCode (`node zcode.cjs app-server --stdio`) speaks JSON-RPC without the member that says so. It is asked
for other things every two seconds while an answer streams, and answers between two blocks of that.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any, Final

import orjson

Json = dict[str, Any]

SESSION: Final = "0198f0aa-1111-7000-8000-0000000000aa"
MESSAGE: Final = "0198f0ac-4242-7000-8000-000000000001"
BLOCK: Final = 200
"""Lines written at once."""

MODEL: Final = {"provider": "none", "id": "none", "name": "none"}
_PI_DATA: Final[dict[str, Json]] = {
    "get_state": {"sessionId": SESSION, "model": MODEL, "thinkingLevel": "off"},
    "get_available_models": {"models": [MODEL]},
    "get_available_thinking_levels": {"levels": ["off"]},
    "get_commands": {"commands": []},
}


def piece(number: int) -> str:
    """The text of one delta."""
    return f"word {number:06d} of the answer "


class Pi:
    """`pi --mode rpc`."""

    STARTS_A_TURN: Final = "prompt"

    def reply(self, asked: Json) -> list[Json]:
        """What a command is answered with."""
        data = _PI_DATA.get(asked["type"], {})
        return [{"id": asked["id"], "type": "response", "command": asked["type"], "success": True, "data": data}]

    def turn(self, count: int) -> list[Json]:
        """What an answer of so many pieces looks like."""
        deltas = [{"type": "text_delta", "contentIndex": 0, "delta": piece(number)} for number in range(count)]
        updates = [{"type": "message_update", "assistantMessageEvent": delta} for delta in deltas]
        return [{"type": "agent_start"}, *updates, {"type": "agent_end", "messages": []}, {"type": "agent_settled"}]


class ZCode:
    """`zcode.cjs app-server --stdio`."""

    STARTS_A_TURN: Final = "session/send"

    def __init__(self) -> None:
        self._tokens = 0

    def reply(self, asked: Json) -> list[Json]:
        """What a request is answered with. A new session first asks the client for what it prefers, which it is known
        by; an answer of the client gets nothing."""
        method = asked.get("method")
        if method is None:
            return []
        before: list[Json] = []
        result: Json = {}
        if method == "session/create":
            params = {"sessionId": SESSION, "scope": "runtime-materialization"}
            before.append({"id": "server-1", "method": "session/requestRuntimePreferences", "params": params})
        elif method == "session/usage":
            # The adapter waits for half a second if a turn used nothing.
            self._tokens += 1
            result = {"totalTokens": self._tokens}
        return [*before, {"id": asked["id"], "result": result}]

    def turn(self, count: int) -> list[Json]:
        """What an answer of so many pieces looks like."""
        member = {"kind": "text_delta", "assistantMessageId": MESSAGE}
        deltas = [_event("model.streaming", {**member, "delta": piece(number)}) for number in range(count)]
        return [*deltas, _event("turn.completed", {})]


STAND_INS: Final[dict[str, Callable[[], Pi | ZCode]]] = {"pi-acp": Pi, "zcode-acp": ZCode}


def script(repository: Path, peer: str, count: int) -> str:
    """The text of an executable that is what this peer starts."""
    lines = [
        f"#!{sys.executable}",
        "import sys",
        f"sys.path.insert(0, {str(repository)!r})",
        "from tests.benchmarks.peers.stand_ins import main",
        f"main({peer!r}, {count})",
    ]
    return "\n".join(lines)


def main(peer: str, count: int) -> None:
    """Serve until end of input."""
    host = STAND_INS[peer]()
    lines = [_line(frame) for frame in host.turn(count)]
    blocks = [b"".join(lines[start : start + BLOCK]) for start in range(0, len(lines), BLOCK)]
    unwritten: deque[bytes] = deque()
    # Unbuffered, so that what is not read yet can be waited for.
    requests, out = open(0, "rb", buffering=0), sys.stdout.buffer  # noqa: SIM115
    while True:
        while unwritten and not select([requests], [], [], 0)[0]:
            out.write(unwritten.popleft())
            out.flush()
        line = requests.readline()
        if not line:
            return
        asked = orjson.loads(line)
        out.write(b"".join(map(_line, host.reply(asked))))
        out.flush()
        if host.STARTS_A_TURN in (asked.get("type"), asked.get("method")):
            unwritten.extend(blocks)


def _event(kind: str, payload: Json) -> Json:
    return {"method": "session/event", "params": {"sessionId": SESSION, "type": kind, "payload": payload}}


def _line(frame: Json) -> bytes:
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)
