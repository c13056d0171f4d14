"""A client whose reading can be slow, or stop; and what its adapter has taken."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson

from tests.adapter_process import COMMAND, INITIALIZE, Json
from tests.benchmarks.client import bare_environ, status

PATIENCE: Final = 600.0
"""Seconds in which everything here is over; only what hangs takes longer."""

EXIT_SECONDS: Final = 20.0

CANARY: Final = "canary-5e07aa91c3"
"""Is in a variable like that of a key; nobody may ever be told."""

LOG_BYTES: Final = 100_000
"""How much of the end of the adapter's log is kept."""

SLOW_BYTES: Final = 4096
SLOW_PAUSE: Final = 0.05
"""What a slow client reads at once, and how long it rests then."""


class LoadClient:
    """`answers` are the responses by id, `text` the text of messages by session, `cards` the newest members of each
    card, `chunks` how many updates with text there were."""

    def __init__(self, home: Path, muse: str, command: Sequence[str]) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [*command, "--muse", muse],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=bare_environ(home) | {"ORCHARD_API_KEY": CANARY},
            cwd=home,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.answers: dict[int, Json] = {}
        self.problems: list[str] = []
        """Answers that nobody asked for, and what the log must not hold."""
        self._unanswered: set[int] = set()
        self.text: defaultdict[str, list[str]] = defaultdict(list)
        self.cards: defaultdict[str, Json] = defaultdict(dict)
        self.chunks = 0
        self.bytes = 0
        self.slow = False
        self._reads = threading.Event()
        self._reads.set()
        self._changed = threading.Condition()
        self._over = False
        self._next_id = 0
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_log)]
        for reader in self._readers:
            reader.start()

    # -- speaking

    def ask(self, method: str, params: Json) -> int:
        """Send a request and give its id."""
        self._next_id += 1
        with self._changed:
            self._unanswered.add(self._next_id)
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def notify(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: int, seconds: float = PATIENCE) -> Json:
        """The response to a request, which is not kept any more."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: request_id in self.answers or self._over, seconds)
            assert arrived and request_id in self.answers, f"request {request_id} has no answer"
            return self.answers.pop(request_id)

    def wait_for(self, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Wait until what has been read is so."""
        with self._changed:
            assert self._changed.wait_for(condition, seconds), "it does not come"

    def call(self, method: str, params: Json, seconds: float = PATIENCE) -> Json:
        """The result of a request, which must succeed."""
        response = self.answer(self.ask(method, params), seconds)
        assert "result" in response, response
        result: Json = response["result"]
        return result

    def new_session(self) -> str:
        session_id: str = self.call("session/new", {"cwd": str(self.home), "mcpServers": []})["sessionId"]
        return session_id

    def play(self, session_id: str, play: str, **arguments: object) -> int:
        """Prompt for something that the host is to send; the id of the request."""
        return self.prompt(session_id, orjson.dumps({"play": play, **arguments}).decode())

    def prompt(self, session_id: str, text: str) -> int:
        return self.ask("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})

    def stop_reading(self) -> None:
        self._reads.clear()

    def read_on(self) -> None:
        self._reads.set()

    def message(self, session_id: str) -> str:
        """All text of messages of a session so far."""
        return "".join(self.text[session_id])

    # -- what it takes

    def peak(self) -> float:
        """The most memory the adapter ever had, in MiB."""
        return status(self._proc, "VmHWM") / 1024

    def descriptors(self) -> int:
        return len(list((self._proc / "fd").iterdir()))

    def threads(self) -> int:
        return status(self._proc, "Threads")

    @property
    def _proc(self) -> Path:
        return Path(f"/proc/{self.process.pid}")

    # -- inside

    def _send(self, frame: Json) -> None:
        data = memoryview(orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE))
        while data:
            data = data[os.write(self._stdin, data) :]

    def _read(self) -> None:
        held = b""
        while True:
            self._reads.wait()
            data = os.read(self._stdout, SLOW_BYTES if self.slow else 1024 * 1024)
            if not data:
                break
            self.bytes += len(data)
            if CANARY.encode() in data:
                self.problems.append("something of the environment is told")
            if b"\n" in data:
                *lines, held = (held + data).split(b"\n")
                self._take([orjson.loads(line) for line in lines])
            else:
                held += data
            if self.slow:
                time.sleep(SLOW_PAUSE)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        kept = b""
        while data := os.read(self.process.stderr.fileno(), 65536):
            # What is looked for may be cut by two reads.
            kept = kept[-LOG_BYTES:] + data
            if b"Traceback (most recent call last)" in kept:
                self.problems.append(f"a traceback: {kept[-3000:].decode(errors='replace')}")
                kept = b""
            if CANARY.encode() in kept:
                self.problems.append("something of the environment is in the log")
                kept = b""

    def _take(self, frames: list[Json]) -> None:
        with self._changed:
            for frame in frames:
                if "method" not in frame:
                    if frame["id"] not in self._unanswered:
                        self.problems.append(f"an answer nobody asked for, or the second one: {str(frame)[:300]}")
                    self._unanswered.discard(frame["id"])
                    self.answers[frame["id"]] = frame
                elif frame["method"] == "session/update":
                    self._update(frame["params"]["sessionId"], frame["params"]["update"])
            self._changed.notify_all()

    def _update(self, session_id: str, update: Json) -> None:
        kind = update["sessionUpdate"]
        if kind == "agent_message_chunk":
            self.chunks += 1
            self.text[session_id].append(update["content"]["text"])
        elif kind in ("tool_call", "tool_call_update"):
            self.cards[update["toolCallId"]] |= update

    def finish(self) -> int:
        """Close its input and wait until it is gone; its exit code. All must be answered by then, and nothing twice."""
        assert self.process.stdin is not None
        self.read_on()
        self.slow = False
        self.process.stdin.close()
        code = self.process.wait(EXIT_SECONDS)
        for reader in self._readers:
            reader.join(EXIT_SECONDS)
        assert not self.problems, self.problems[:5]
        assert not self._unanswered, f"never answered: {sorted(self._unanswered)[:20]}"
        return code


@contextmanager
def load_client(home: Path, muse: str, meta: Json, command: Sequence[str] = COMMAND) -> Iterator[LoadClient]:
    """A client with its adapter, initialized with these extensions; gone afterwards."""
    client = LoadClient(home, muse, command)
    try:
        client.call("initialize", INITIALIZE | {"clientCapabilities": {"_meta": meta}})
        yield client
    finally:
        client.read_on()
        if client.process.poll() is None:
            client.process.kill()
        client.process.wait()
        with contextlib.suppress(OSError):
            for pipe in (client.process.stdout, client.process.stderr):
                assert pipe is not None
                pipe.close()
