"""What the registry of ACP agents asks of one before it lists it, in our own words (`acp.md §18`)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, Final

import orjson

Json = dict[str, Any]

FIRST_LINE_SECONDS: Final = 60.0
PROBE_SECONDS: Final = 5.0
"""What the registry allows."""

INITIALIZE: Final[Json] = {
    "protocolVersion": 1,
    "clientInfo": {"name": "registry", "version": "1"},
    "clientCapabilities": {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
        "_meta": {"terminal_output": True, "terminal-auth": True},
    },
}

ANSWERS_THAT_COUNT: Final = frozenset({None, -32602, -32002})
"""A result, or an error that shows that the method exists."""

KINDS_THAT_COUNT: Final = frozenset({"agent", "terminal"})
"""Of logins."""

NEEDS_LOGIN: Final = -32000
NO_METHOD: Final = -32601


class Probe:
    """An agent as the registry runs it: an empty home, a dumb terminal, nothing of Muse in the environment."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: Queue[bytes] = Queue()
        Thread(target=self._read, daemon=True).start()
        self._next_id = 0

    def first_line(self) -> Json:
        """What the first line on stdout says in answer to `initialize`; anything but JSON fails here."""
        self._send("initialize", INITIALIZE)
        frame: Json = orjson.loads(self._lines.get(timeout=FIRST_LINE_SECONDS))
        return frame

    def code(self, method: str, params: Json) -> int | None:
        """The code of the error a method is answered with; None for a result.

        Raises:
            TimeoutError: the answer took too long.
        """
        request_id = self._send(method, params)
        while True:
            try:
                frame = orjson.loads(self._lines.get(timeout=PROBE_SECONDS))
            except Empty:
                raise TimeoutError(method) from None
            if frame.get("id") == request_id and "method" not in frame:
                return frame["error"]["code"] if "error" in frame else None

    def _send(self, method: str, params: Json) -> int:
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(request) + b"\n")
        self._process.stdin.flush()
        return self._next_id

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)


@contextmanager
def probing(command: Sequence[str], home: Path) -> Iterator[Probe]:
    """Run an agent, and end its process group the way the registry does."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=kept | {"HOME": str(home), "TERM": "dumb"},
        cwd=home,
        start_new_session=True,
    )
    try:
        yield Probe(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(2)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def login_kinds(first_line: Json) -> set[str]:
    """The kinds of login an agent offers that count, as the registry tells them apart; it refuses one that offers
    none."""
    methods = first_line.get("result", {}).get("authMethods", [])
    return {_kind(method) for method in methods if method["id"] and method["name"]} & KINDS_THAT_COUNT


def _kind(method: Json) -> str:
    marks = {"terminal-auth": "terminal", "agent-auth": "agent"}
    marked = next((kind for mark, kind in marks.items() if mark in method.get("_meta", {})), "agent")
    return str(method.get("type", marked))
