"""The adapter as a child process, driven over its pipes by a client that checks every frame it gets.

Plain blocking code with one reader thread, so that what is tested cannot lend its own machinery to the test.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from tests.processes import is_guardian, proc

Json = dict[str, Any]

ANSWER_SECONDS: Final = 20.0
"""How long a test waits for a frame; far more than anything takes, so that only a hang meets it."""

EXIT_SECONDS: Final = 15.0
COMMAND: Final = (sys.executable, "-m", "adapter.cli.entry")
INITIALIZE: Final[Json] = {"protocolVersion": 1, "clientInfo": {"name": "tests", "version": "1"}}


class AdapterProcess:
    """One running adapter. `frames` are the frames it wrote so far, `stderr` what it logged so far."""

    def __init__(self, args: list[str], env: dict[str, str], cwd: Path, command: Sequence[str] = COMMAND) -> None:
        self.process = subprocess.Popen(
            [*command, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        self.lines: list[bytes] = []
        self.sent: list[bytes] = []
        self.frames: list[Json] = []
        self.stderr = b""
        self.answer: Callable[[Json], Json | None] = lambda request: None
        """Called for each request of the adapter; a returned `{"result": …}` or `{"error": …}` is sent back."""
        self.watch: Callable[[bool, Json], None] = lambda from_adapter, frame: None
        """Told of each frame as it passes."""
        self.pause = 0.0
        """Seconds between two lines that are read: more than none makes a slow client."""
        self._arrived: queue.Queue[Json | None] = queue.Queue()
        self._unread: list[Json] = []
        self._next_id = 0
        self._together: bytearray | None = None
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    # -- writing

    def write(self, data: bytes) -> None:
        """Raw bytes to the adapter's stdin."""
        if self._together is not None:
            self._together += data
            return
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    @contextmanager
    def one_write(self) -> Iterator[None]:
        """What is written inside goes out at the end, all at once."""
        self._together = bytearray()
        yield
        together, self._together = self._together, None
        self.write(bytes(together))

    def send(self, frame: Json) -> None:
        """One frame."""
        line = orjson.dumps(frame) + b"\n"
        self.sent.append(line)
        self.watch(False, frame)
        self.write(line)

    def notify(self, method: str, params: Json) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    @property
    def asked(self) -> int:
        """The id of the last request that `begin` sent."""
        return self._next_id

    def begin(self, method: str, params: Json) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    # -- reading

    def wait_for(self, wanted: Callable[[Json], bool], seconds: float = ANSWER_SECONDS) -> Json:
        """The first frame not yet waited for that is `wanted`; others stay for later calls."""
        for index, frame in enumerate(self._unread):
            if wanted(frame):
                return self._unread.pop(index)
        deadline = time.monotonic() + seconds
        while True:
            try:
                arrived = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no such frame within {seconds:g} s; unread: {self._unread[-5:]}") from None
            if arrived is None:
                self._arrived.put(None)
                raise AssertionError(f"the adapter closed its output; stderr: {self.stderr[-2000:]!r}")
            if wanted(arrived):
                return arrived
            self._unread.append(arrived)

    def response(self, request_id: Any, seconds: float = ANSWER_SECONDS) -> Json:
        """The response with this id."""
        return self.wait_for(lambda frame: "method" not in frame and frame["id"] == request_id, seconds)

    def call(self, method: str, params: Json) -> Json:
        """The result of a request, which must succeed."""
        response = self.response(self.begin(method, params))
        assert "result" in response, response
        result: Json = response["result"]
        return result

    def refused(self, method: str, params: Json) -> Json:
        """The error of a request, which must fail."""
        response = self.response(self.begin(method, params))
        assert "error" in response, response
        error: Json = response["error"]
        return error

    # -- a conversation

    def initialize(self, **members: Any) -> Json:
        return self.call("initialize", INITIALIZE | members)

    def new_session(self, cwd: Path) -> str:
        session_id: str = self.call("session/new", {"cwd": str(cwd), "mcpServers": []})["sessionId"]
        return session_id

    def begin_prompt(self, session_id: str, text: str) -> int:
        return self.begin("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})

    def prompt(self, session_id: str, text: str) -> Json:
        """The answer to a prompt that must not fail."""
        response = self.response(self.begin_prompt(session_id, text))
        assert "result" in response, response
        result: Json = response["result"]
        return result

    def updates(self, session_id: str | None = None) -> list[Json]:
        """The updates so far, of one session or all; without the lists of commands, which come when they are known."""
        return [
            frame["params"]["update"]
            for frame in self.frames
            if is_told(frame) and session_id in (None, frame["params"]["sessionId"])
        ]

    def commands(self, session_id: str) -> Json:
        """The slash commands of a session as they were told last, by their name; waits until they are."""
        self.wait_for(lambda frame: _are_commands(frame) and frame["params"]["sessionId"] == session_id)
        told = [frame["params"] for frame in self.frames if _are_commands(frame)]
        last = [params["update"] for params in told if params["sessionId"] == session_id][-1]
        return {command["name"]: command for command in last["availableCommands"]}

    def text(self, session_id: str | None = None, variant: str = "agent_message_chunk") -> str:
        """All text of one kind of chunk so far."""
        return "".join(
            update["content"]["text"] for update in self.updates(session_id) if update["sessionUpdate"] == variant
        )

    def wait_for_update(self, wanted: Callable[[Json], bool]) -> Json:
        """The first update not yet waited for that is `wanted`."""
        frame = self.wait_for(lambda frame: is_told(frame) and wanted(frame["params"]["update"]))
        update: Json = frame["params"]["update"]
        return update

    def children(self) -> list[int]:
        """Process ids of the adapter's direct children, without its guardian."""
        pid = self.process.pid
        found: list[int] = []
        for task in (proc() / str(pid) / "task").iterdir():
            # A thread may end while we look.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found += [int(word) for word in (task / "children").read_text().split()]
        return [pid for pid in found if not is_guardian(pid)]

    def hosts(self) -> list[int]:
        """Those of them that serve; others only tell their version or their flags, and are gone soon."""
        found = []
        for pid in self.children():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"serve" in words and b"--help" not in words:
                    found.append(pid)
        return found

    # -- the end

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def finish(self, seconds: float = EXIT_SECONDS) -> int:
        """Close stdin, wait for the exit, check every frame that was exchanged, and return the exit code."""
        # Here, because it takes a second: hosts that stand in a module of tests import this one too, and do without.
        from tests.oracles.acp_schema import check_transcript

        with contextlib.suppress(OSError):
            self.close_input()
        code = self.wait_exit(seconds)
        check_transcript(self.lines, self.sent)
        return code

    def wait_exit(self, seconds: float = EXIT_SECONDS) -> int:
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(seconds)
        return code

    def kill(self) -> None:
        """End whatever is left of it."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(EXIT_SECONDS)

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            frame = orjson.loads(line)
            self.watch(True, frame)
            self.frames.append(frame)
            if "method" in frame and "id" in frame:
                answer = self.answer(frame)
                if answer is not None:
                    # It may be gone, and so may we: the pipe is closed then.
                    with contextlib.suppress(OSError, ValueError):
                        self.send({"jsonrpc": "2.0", "id": frame["id"], **answer})
            self._arrived.put(frame)
            if self.pause:
                time.sleep(self.pause)
        self._arrived.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 65536):
            self.stderr += data


@contextmanager
def running_adapter(
    home: Path,
    *args: str,
    muse: str | None = "simulated",
    env: dict[str, str] | None = None,
    command: Sequence[str] = COMMAND,
) -> Iterator[AdapterProcess]:
    """An adapter with a home directory of its own, ended whatever happens."""
    if os.name != "posix":
        import pytest  # here, because those who record run without it

        pytest.skip("an adapter is ended as POSIX ends one")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    environ |= {"HOME": str(home), **(env or {})}
    choice = ["--muse", muse] if muse is not None else []
    adapter = AdapterProcess([*choice, *args], environ, home, command)
    try:
        yield adapter
    finally:
        adapter.kill()


def is_told(frame: Json) -> bool:
    """Whether a frame is an update of a conversation, and not the list of commands beside it."""
    return frame.get("method") == "session/update" and not _are_commands(frame)


def _are_commands(frame: Json) -> bool:
    update = frame.get("params", {}).get("update", {})
    return bool(update.get("sessionUpdate") == "available_commands_update")


def permission(option_id: str) -> Json:
    """The answer that selects an option."""
    return {"result": {"outcome": {"outcome": "selected", "optionId": option_id}}}
