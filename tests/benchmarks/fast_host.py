"""Hosts that cost next to nothing: they answer what a session needs, and write what was encoded beforehand.

A kind of host is a class below `FastHost`, named in `__all__` of its module; `place` makes an executable that is one.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

REPOSITORY: Final = Path(__file__).resolve().parents[2]

SESSION: Final = "0198f0aa-1111-7000-8000-0000000000aa"
TURN: Final = "0198f0aa-2222-7000-8000-0000000000bb"

METHOD_NOT_FOUND: Final = -32601

Json = dict[str, Any]


def line(frame: Json) -> bytes:
    """A frame as it goes over the wire."""
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def event(method: str, session_id: str = SESSION, **params: Any) -> bytes:
    """A notification of a session."""
    return line({"jsonrpc": "2.0", "method": method, "params": {"sessionId": session_id, **params}})


def stored(method: str, number: int, session_id: str = SESSION, **params: Any) -> Json:
    """An event of a session's history, the one of this number."""
    place = {"viewCursor": f"v:{session_id}:{number}", "sourceRange": {"first": {"sequence": number}}}
    return {"method": method, "params": {"sessionId": session_id, **place, **params}}


def item_id(number: int) -> str:
    """The id of an item, the longest that hosts give."""
    return f"0198f0ac-4242-7000-8000-{number:012d}"


def delta(number: int, item: str, text: str, session_id: str = SESSION, **more: Any) -> bytes:
    """A piece of a message."""
    return event(
        "item/delta",
        session_id,
        viewCursor=f"v:{session_id}:{number}",
        itemId=item,
        field="text",
        delta=text,
        **more,
    )


class FastHost:
    """`muse serve`, version `VERSION`: a method `on_METHOD` for each request that it answers, which gives the result.
    What is to come behind the answer is left in `behind`."""

    VERSION = "1.4.13"

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self.behind = b""
        self.sessions = 0

    def take(self, frame: Json) -> None:
        """Answer a frame, if it asks."""
        method, request_id = frame.get("method"), frame.get("id")
        if not isinstance(method, str):
            self.answered(request_id, frame.get("result"))
        elif request_id is not None:
            handle = getattr(self, "on_" + method.replace("/", "_"), None)
            if handle is None:
                error = {"code": METHOD_NOT_FOUND, "message": method, "data": {"kind": "methodNotFound"}}
                self.out.write(line({"jsonrpc": "2.0", "id": request_id, "error": error}))
            else:
                self.out.write(line({"jsonrpc": "2.0", "id": request_id, "result": handle(frame["params"])}))
            behind, self.behind = self.behind, b""
            self.out.write(behind)
        self.out.flush()

    def answered(self, request_id: Any, result: Any) -> None:
        """The answer to a request of the host."""

    def on_initialize(self, params: Json) -> Json:
        from adapter.hosts.simulated.profiles import NEWEST

        return {
            "serverInfo": {"name": "fast-host", "version": self.VERSION},
            "userAgent": "fast-host",
            "museHome": "/nowhere",
            "platformFamily": "unix",
            "platformOs": "linux",
            # The official client takes no host of another schema than its own.
            "schema": {"version": 1, "fingerprint": NEWEST.fingerprint},
            "sessionDurability": "durable",
            "grantedCapabilities": [],
            "experimentalApi": False,
        }

    def on_session_start(self, params: Json) -> Json:
        session_id = SESSION if self.sessions == 0 else f"{SESSION[:-6]}{self.sessions:06d}"
        self.sessions += 1
        return {"session": self.row(session_id), "viewCursor": f"v:{session_id}:0"}

    def on_turn_start(self, params: Json) -> Json:
        return {"status": "accepted", "turnId": TURN, "disposition": "started", "startedNewTurn": True}

    @staticmethod
    def row(session_id: str) -> Json:
        """A session as hosts tell of it."""
        return {"sessionId": session_id, "workspaceRoot": "/", "status": "idle", "activeTurnId": None}


def place(folder: Path, kind: type[FastHost], *arguments: Any) -> Path:
    """An executable in `folder` that is such a host, made with these arguments."""
    path = folder / "-".join(["muse", kind.__name__.lower(), *map(str, arguments)])
    lines = [
        f"#!{sys.executable} -S",
        "import sys",
        f"sys.path[:0] = {[str(REPOSITORY), *(each for each in sys.path if each.endswith('site-packages'))]!r}",
        "from tests.benchmarks.fast_host import be",
        f"be({kind.__module__!r}, {kind.__name__!r}, {arguments!r})",
    ]
    path.write_text("\n".join([*lines, ""]))
    path.chmod(0o755)
    return path


def be(module: str, name: str, arguments: tuple[Any, ...]) -> None:
    """Be that host: say the version, or serve until end of input."""
    kind: type[FastHost] = getattr(importlib.import_module(module), name)
    if "--version" in sys.argv:
        print(f"Muse Code {kind.VERSION} ({kind.VERSION}-R3401.1)")
        return
    host = kind(sys.stdout.buffer, *arguments)
    for received in sys.stdin.buffer:
        host.take(orjson.loads(received))
