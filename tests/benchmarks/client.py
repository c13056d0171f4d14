"""The least client there can be, and what can be measured of the adapter from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from tests.benchmarks.fast_host import REPOSITORY

CONSOLE_SCRIPT: Final = "import re, sys; from adapter.cli.entry import main; sys.exit(main())"
ADAPTER: Final = [sys.executable, "-P", "-c", CONSOLE_SCRIPT]
"""What the installed `muse-adapter` runs, with its imports; but the adapter is that of this tree (`bare_environ`), and
that need not be the one that is installed."""

COMPOSED: Final = [sys.executable, "-m", "tests.benchmarks.composed"]
"""An adapter made of the official SDKs."""

Json = dict[str, Any]


LINE_BUFFER: Final = 1024 * 1024
"""Bytes read at once: the client must not be what is slow."""


class Client:
    """One client and its adapter: it writes requests and reads lines."""

    def __init__(self, home: Path, command: Sequence[str], environ: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            bufsize=LINE_BUFFER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environ(home) | environ,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._next_id = 0

    def ask(self, method: str, params: Json) -> int:
        """Send a request and give its id."""
        self._next_id += 1
        frame = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.stdin.write(orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE))
        self.stdin.flush()
        return self._next_id

    def until_answered(self, request_id: int) -> list[Json]:
        """The frames up to the answer to a request, which is the last."""
        frames: list[Json] = []
        while not frames or frames[-1].get("id") != request_id:
            frames.append(orjson.loads(self.stdout.readline()))
        return frames

    def answer(self, method: str, params: Json) -> Json:
        """The result of a request; what comes before it is dropped."""
        result: Json = self.until_answered(self.ask(method, params))[-1]["result"]
        return result

    def initialize(self, **meta: Any) -> None:
        """Say hello, perhaps with extensions."""
        self.answer("initialize", {"protocolVersion": 1, "clientCapabilities": {"_meta": meta}})

    def new_session(self, home: Path) -> str:
        """Start a session and give its id."""
        session_id: str = self.answer("session/new", {"cwd": str(home), "mcpServers": []})["sessionId"]
        return session_id

    def begin_prompt(self, session_id: str, text: str) -> int:
        """Send a prompt and give the id of the request."""
        return self.ask("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})


def bare_environ(home: Path) -> dict[str, str]:
    """What a process needs, a home of its own, and this tree."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(REPOSITORY)}


@contextmanager
def client(home: Path, *args: str, command: Sequence[str] = ADAPTER, **environ: str) -> Iterator[Client]:
    """A client with its adapter, which is gone afterwards."""
    running = Client(home, [*command, *args], environ)
    try:
        yield running
    finally:
        running.stdin.close()
        try:
            running.process.wait(15)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()
        running.stdout.close()


def wake_ups(pid: int) -> int:
    """How often any thread of the process has gone to sleep so far."""
    return sum(status(task, "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").iterdir())


def peak_memory(pid: int) -> float:
    """The most memory the process ever had, in MiB."""
    return status(Path(f"/proc/{pid}"), "VmHWM") / 1024


def memory(pid: int) -> float:
    """The memory the process has, in MiB."""
    return status(Path(f"/proc/{pid}"), "VmRSS") / 1024


def cpu_seconds(pid: int) -> float:
    """Seconds that all threads of the process have run so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def status(entry: Path, name: str) -> int:
    for line in (entry / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)
