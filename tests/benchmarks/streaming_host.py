"""A host that costs nothing: it answers what a prompt needs and writes a long answer that was encoded beforehand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from adapter.hosts.simulated.profiles import NEWEST

SESSION = "0198f0aa-1111-7000-8000-0000000000aa"
TURN = "0198f0aa-2222-7000-8000-0000000000bb"


def deltas(count: int, items: int) -> bytes:
    """`count` text deltas that belong to `items` messages in turn, one a line."""
    return b"".join(
        _line(
            {
                "jsonrpc": "2.0",
                "method": "item/delta",
                "params": {
                    "sessionId": SESSION,
                    "viewCursor": f"v:{SESSION}:{number}",
                    "itemId": _item_id(number % items),
                    "field": "text",
                    "delta": f"word {number:06d} of the answer ",
                },
                "emittedAtMs": 1754590941100,
            }
        )
        for number in range(count)
    )


def script(repository: Path, count: int, items: int) -> str:
    """The text of an executable that is such a host, without its first line."""
    lines = [
        "import sys",
        f"sys.path.insert(0, {str(repository)!r})",
        "from tests.benchmarks.streaming_host import main",
        f"main({count}, {items})",
    ]
    return "\n".join(lines)


def main(count: int, items: int) -> None:
    """Be `muse`: `--version`, or serve until end of input."""
    if "--version" in sys.argv:
        print("Muse Code 1.3.0 (1.3.0-R3401.1)")
        return
    answer = _answer(count, items)
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        frame = orjson.loads(line)
        result = _RESULTS.get(frame.get("method"))
        if result is not None and "id" in frame:
            out.write(_line({"jsonrpc": "2.0", "id": frame["id"], "result": result}))
            if frame["method"] == "turn/start":
                out.write(answer)
            out.flush()


def _answer(count: int, items: int) -> bytes:
    begun = [_event("turn/started", turnId=TURN)]
    begun += [
        _event("item/started", item={"itemId": _item_id(number), "kind": "agentMessage", "turnId": TURN, "revision": 1,
                                     "status": "inProgress", "text": ""})
        for number in range(items)
    ]  # fmt: skip
    return b"".join([*begun, deltas(count, items), _event("turn/completed", turnId=TURN, terminal="completed")])


def _event(method: str, **params: Any) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method, "params": {"sessionId": SESSION, **params}})


def _line(frame: dict[str, Any]) -> bytes:
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def _item_id(number: int) -> str:
    return f"0198f0ac-4242-7000-8000-{number:012d}"


_RESULTS: dict[Any, dict[str, Any]] = {
    "initialize": {
        "serverInfo": {"name": "streaming-host", "version": "1.3.0"},
        "userAgent": "streaming-host",
        "museHome": "/nowhere",
        "platformFamily": "unix",
        "platformOs": "linux",
        # The official client takes no host of another schema than its own.
        "schema": {"version": 1, "fingerprint": NEWEST.fingerprint},
        "grantedCapabilities": [],
        "experimentalApi": False,
    },
    "session/start": {"session": {"sessionId": SESSION}, "viewCursor": f"v:{SESSION}:0"},
    "turn/start": {"status": "accepted", "turnId": TURN, "disposition": "started", "startedNewTurn": True},
}
