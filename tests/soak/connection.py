"""One run of the adapter, and the client's end of it: calls that several threads make, and what comes unasked."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from tests.oracles.seen import Seen

Json = dict[str, Any]

CANARY: Final = "canary-77d2e9b04f"
"""Is in a variable like that of a key; nobody may ever be told."""

STDERR_BYTES: Final = 20_000
"""How much of the end of the adapter's log is kept."""


class Lost(Exception):
    """The adapter has gone, and with it the answer."""


class Screen(Protocol):
    """Who is told what comes unasked for a session; called in the order of arrival."""

    def update(self, update: Json) -> None: ...

    def asked(self, connection: Connection, request_id: Any, method: str, params: Json) -> None: ...

    def withdrawn(self, request_id: Any) -> None: ...

    def sent(self, what: str) -> None: ...


class Call:
    """One request. `answered` is called with it when its answer arrives, before anything that came later is looked
    at; without a frame it will have none."""

    def __init__(self, method: str, params: Json, answered: Callable[[Call], None] | None = None) -> None:
        self.method = method
        self.params = params
        self.began = time.monotonic()
        self.ended = 0.0
        self.frame: Json | None = None
        self.over = threading.Event()
        self.taken_back = False
        self._answered = answered

    @property
    def error(self) -> Json | None:
        """The error it was answered with."""
        return None if self.frame is None else self.frame.get("error")

    @property
    def reason(self) -> str:
        """The stable word of the error."""
        return str((self.error or {}).get("data", {}).get("reason"))

    @property
    def result(self) -> Json:
        """The result of a call that has one."""
        assert self.frame is not None
        result: Json = self.frame["result"]
        return result

    def finish(self, frame: Json | None) -> None:
        """The answer has come, or never will."""
        self.frame, self.ended = frame, time.monotonic()
        if self._answered is not None:
            self._answered(self)
        self.over.set()


class Connection:
    """A running adapter. `problem` is told what should not have come."""

    def __init__(
        self, name: str, command: Sequence[str], env: dict[str, str], cwd: Path, problem: Callable[[str], None]
    ) -> None:
        self.name = name
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        self.stderr = b""
        self.seen: list[Seen] = []
        self.reads = threading.Event()
        """Unset while the client does not read."""
        self.reads.set()
        self.stops = 0.0
        """When the client began to end it."""
        self.offers: Json = {}
        """What the adapter says it can do with sessions; it need not know yet what its first host can do."""
        self.screens: dict[str, Screen] = {}
        self._problem = problem
        self._waiting: dict[int, Call] = {}
        self._asked: dict[Any, Screen] = {}
        self._next_id = 0
        self._writing = threading.Lock()
        self._gone = False
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_stdout, self._read_stderr)]
        for reader in self._readers:
            reader.start()

    # -- writing

    def begin(self, method: str, params: Json, answered: Callable[[Call], None] | None = None) -> Call:
        """Send a request."""
        call = Call(method, params, answered)
        with self._writing:
            self._next_id += 1
            request_id = self._next_id
            self._waiting[request_id] = call
            gone = self._gone or self.stops > 0
            if not gone:
                self._write({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        if gone and self._waiting.pop(request_id, None) is not None:
            call.finish(None)
        return call

    def call(self, method: str, params: Json, seconds: float = 60.0) -> Call:
        """A request with its answer.

        Raises:
            Lost: there will be none.
        """
        call = self.begin(method, params)
        if not call.over.wait(seconds):
            self._problem(f"{method} was not answered within {seconds:g} s: {params}")
        if call.frame is None:
            raise Lost
        return call

    def take_back(self, call: Call) -> None:
        """Ask that a request be given up."""
        request_id = next((number for number, each in list(self._waiting.items()) if each is call), None)
        if request_id is not None:
            call.taken_back = True
            self.notify("$/cancel_request", {"requestId": request_id})

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        screen = self.screens.get(params.get("sessionId", ""))
        if screen is not None:
            screen.sent(method)
        with self._writing:
            if not self._gone and not self.stops:
                self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request_id: Any, **outcome: Any) -> None:
        """Answer a request of the adapter: `result` or `error`."""
        with self._writing:
            self._asked.pop(request_id, None)
            if not self._gone and not self.stops:
                self._write({"jsonrpc": "2.0", "id": request_id, **outcome})

    def close_input(self) -> None:
        """Nothing more is sent."""
        with self._writing:
            self.stops = time.monotonic()
            assert self.process.stdin is not None
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def _write(self, frame: Json) -> None:
        assert self.process.stdin is not None
        self._keep(frame, from_adapter=False)
        with contextlib.suppress(OSError):
            self.process.stdin.write(orjson.dumps(frame) + b"\n")
            self.process.stdin.flush()

    def _keep(self, frame: Json, *, from_adapter: bool) -> None:
        """Keep what the oracles look at; texts and cards they do not."""
        if frame.get("method") == "session/update":
            return
        if frame.get("method") == "session/request_permission":
            kept = {name: frame["params"].get(name) for name in ("sessionId", "options", "_meta")}
            frame = {**frame, "params": kept}
        elif "result" in frame and frame["result"].get("outcome") is None:
            frame = {**frame, "result": {"sessionId": frame["result"].get("sessionId")}}
        elif frame.get("method") not in ("session/cancel", "$/cancel_request") and "params" in frame:
            frame = {**frame, "params": {"sessionId": frame["params"].get("sessionId")}}
        self.seen.append(Seen(time.monotonic_ns(), "client", self.name, from_adapter, frame))

    # -- reading

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if self.stops and not line.endswith(b"\n"):
                break  # it was killed in the middle of a line
            if CANARY.encode() in line:
                self._problem("something of the environment is told")
            try:
                self._take(orjson.loads(line))
            except Exception as error:
                self._problem(f"{type(error).__name__} at {line[:300]!r}: {error}")
            self.reads.wait()
        with self._writing:
            self._gone = True
            waiting, self._waiting = self._waiting, {}
        for call in waiting.values():
            call.finish(None)

    def _take(self, frame: Json) -> None:
        self._keep(frame, from_adapter=True)
        if "method" not in frame:
            call = self._waiting.pop(frame["id"], None)
            if call is None:
                self._problem(f"an answer to nothing: {frame}")
            else:
                call.finish(frame)
        elif frame["method"] == "$/cancel_request":
            screen = self._asked.pop(frame["params"]["requestId"], None)
            if screen is not None:
                screen.withdrawn(frame["params"]["requestId"])
        elif (screen := self.screens.get(frame["params"].get("sessionId"))) is None:
            self._problem(f"{frame['method']} of a session that is not open: {str(frame)[:300]}")
        elif "id" in frame:
            self._asked[frame["id"]] = screen
            screen.asked(self, frame["id"], frame["method"], frame["params"])
        else:
            screen.update(frame["params"]["update"])

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 65536):
            self.stderr = self.stderr[-STDERR_BYTES:] + data
            if CANARY.encode() in self.stderr:
                self._problem("something of the environment is in the log")
                self.stderr = b""

    def wait_exit(self, seconds: float) -> int | None:
        """The exit code, None if it does not end."""
        self.reads.set()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        for reader in self._readers:
            reader.join(seconds)
        return code
