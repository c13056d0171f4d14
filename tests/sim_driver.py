"""A plain blocking client of the simulated host: it sends what it is told and checks every frame that comes back
against the official types."""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.oracles.msp_types import check_client_frame, check_server_frame

ANSWER_SECONDS = 20.0
"""How long any single frame may take to come; a bound for a hang, not a measure of speed."""

Json = dict[str, Any]


class Refused(Exception):
    """The host answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.data: Json = error.get("data", {})
        self.kind: str = self.data.get("kind", "")


class Ended(Exception):
    """The host closed its stdout."""


class SimHost:
    """One host process and this client's end of it."""

    def __init__(
        self,
        home: Path,
        profile: str = "1.4.13",
        *flags: str,
        faults: list[Json] | None = None,
        strict: bool = True,
        witness: Path | None = None,
    ) -> None:
        self.profile = profile
        self.strict = strict
        self.tolerant = False
        """Whether methods and members that nobody declared are let pass."""
        self.frames: list[Json] = []
        """Everything the host sent, in order."""
        self.junk: list[bytes] = []
        """Lines that were no JSON objects."""
        environment = {**os.environ, "MUSE_SIMULATED_HOME": str(home)}
        environment.pop("MUSE_SIMULATED_FAULTS", None)
        if witness is not None:
            environment["MUSE_SIMULATED_WITNESS"] = str(witness)
        if faults is not None:
            environment["MUSE_SIMULATED_FAULTS"] = json.dumps(faults)
        command = [sys.executable, "-m", "adapter.hosts.simulated", "--profile", profile, "serve", *flags]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        self._methods: dict[Any, str] = {}
        self._ids = itertools.count(1)
        self._commands = itertools.count(1)
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.stderr = b""
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read_out, self._read_err)]
        for thread in self._threads:
            thread.start()

    def _read_out(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_err(self) -> None:
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read()

    # -- sending

    def write(self, data: bytes) -> None:
        """Raw bytes to the host."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def post(self, method: str, params: Json | None = None, request_id: Any = None) -> Any:
        """Send a request without waiting; gives its id. A request we ourselves get wrong is sent as it is."""
        request_id = next(self._ids) if request_id is None else request_id
        frame: Json = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            frame["params"] = params
        self._methods[request_id] = method
        self.write(json.dumps(frame).encode() + b"\n")
        return request_id

    def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        frame: Json = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        check_client_frame(frame)
        self.write(json.dumps(frame).encode() + b"\n")

    def ask(self, method: str, params: Json | None = None) -> Json:
        """Send a query and wait for its result; what arrives before it is kept in `frames`.

        Raises:
            Refused: the host answered with an error.
        """
        return self.answer(self.post(method, params))

    def command(self, method: str, params: Json, command_id: str | None = None) -> Json:
        """The same for a command, with a `commandId`."""
        return self.ask(method, {**params, "commandId": command_id or self.command_id()})

    def command_id(self) -> str:
        """A fresh command id."""
        return f"01900000-0000-7000-8000-{self.process.pid % 0xFFFF:04x}{next(self._commands):08x}"

    # -- receiving

    def next(self, seconds: float = ANSWER_SECONDS) -> Json:
        """The next frame.

        Raises:
            Ended: there is none any more.
        """
        while True:
            try:
                line = self._lines.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"no frame in {seconds} s; last: {self.frames[-3:]}") from None
            if not line:
                self._lines.put(b"")
                raise Ended
            try:
                frame = json.loads(line)
                assert type(frame) is dict
            except (ValueError, AssertionError):
                self.junk.append(line)
                continue
            self._check(frame)
            self.frames.append(frame)
            return frame

    def _check(self, frame: Json) -> None:
        if self.strict:
            method = self._methods.get(frame["id"]) if "method" not in frame and frame.get("id") is not None else None
            check_server_frame(frame, method, profile=self.profile, closed=not self.tolerant)

    def answer(self, request_id: Any) -> Json:
        """The result of a request that was sent."""
        frame = self.until(lambda frame: "method" not in frame and frame.get("id") == request_id)
        if "error" in frame:
            raise Refused(frame["error"])
        result: Json = frame["result"]
        return result

    def until(self, wanted: Callable[[Json], bool], seconds: float = ANSWER_SECONDS) -> Json:
        """The first further frame that is `wanted`."""
        deadline = time.monotonic() + seconds
        while True:
            frame = self.next(max(0.01, deadline - time.monotonic()))
            if wanted(frame):
                return frame

    def until_method(self, method: str, **members: Any) -> Json:
        """The params of the next call of a method whose params have these members."""

        def wanted(frame: Json) -> bool:
            params = frame.get("params", {})
            return frame.get("method") == method and all(params.get(key) == value for key, value in members.items())

        frame = self.until(wanted)
        if "id" in frame:
            self.write(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": {}}).encode() + b"\n")
        params: Json = frame.get("params", {})
        return params

    def settled(self) -> list[Json]:
        """Everything that comes because of what was sent so far, without what waits for a time."""
        before = len(self.frames)
        for _ in range(3):
            # One question is answered before the next step of a turn that has just begun.
            self.ask("model/list")
        return [frame for frame in self.frames[before:] if "models" not in frame.get("result", {})]

    def quiet(self, seconds: float) -> list[Json]:
        """What arrives until nothing has for so long."""
        found: list[Json] = []
        while True:
            try:
                found.append(self.next(seconds))
            except AssertionError:
                return found

    # -- the usual dialogue

    def handshake(self, **capabilities: Any) -> Json:
        """`initialize` and `initialized`; gives the result."""
        params: Json = {"clientInfo": {"name": "tests", "version": "1"}}
        if capabilities:
            params["capabilities"] = capabilities
        result = self.ask("initialize", params)
        self.notify("initialized")
        return result

    def start(self, **params: Any) -> str:
        """`session/start`; gives the session id."""
        result = self.command("session/start", {"workspaceRoot": str(Path.cwd()), **params})
        session_id: str = result["session"]["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str, **params: Any) -> str:
        """`turn/start`; gives the turn id as soon as it is admitted."""
        params = {"sessionId": session_id, "input": [{"type": "text", "text": text}], **params}
        turn_id: str = self.command("turn/start", params)["turnId"]
        return turn_id

    def turn(self, session_id: str, text: str, **params: Any) -> list[Json]:
        """A whole turn: every frame from its start to its end."""
        before = len(self.frames)
        turn_id = self.prompt(session_id, text, **params)
        if not any(_ends(frame, turn_id) for frame in self.frames[before:]):
            self.until(lambda frame: _ends(frame, turn_id))
        return self.frames[before:]

    def pages(self, session_id: str, limit: int = 100, **params: Any) -> Iterator[Json]:
        """Every page of a session's view, forward."""
        cursor: str | None = None
        while True:
            more = {"cursor": cursor} if cursor is not None else {}
            page = self.ask("view/page", {"sessionId": session_id, "limit": limit, **params, **more})
            yield page
            cursor = page["nextCursor"]
            if cursor is None:
                return

    # -- the end

    def close(self, seconds: float = ANSWER_SECONDS) -> int:
        """Close stdin, take what still comes, and give the exit code."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            while True:
                self.next(seconds)
        except Ended:
            return self.process.wait(seconds)

    def kill(self) -> None:
        """End the process now and wait until it is gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(ANSWER_SECONDS)
        for thread in self._threads:
            thread.join(ANSWER_SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


def _ends(frame: Json, turn_id: str) -> bool:
    return frame.get("method") == "turn/completed" and frame["params"]["turnId"] == turn_id


@contextmanager
def sim_host(
    home: Path,
    profile: str = "1.4.13",
    *flags: str,
    faults: list[Json] | None = None,
    strict: bool = True,
    witness: Path | None = None,
) -> Iterator[SimHost]:
    """A host that is gone afterwards, whatever happens."""
    host = SimHost(home, profile, *flags, faults=faults, strict=strict, witness=witness)
    try:
        yield host
    finally:
        host.kill()


def methods(frames: list[Json]) -> list[str]:
    """The methods of frames that have one, in order."""
    return [frame["method"] for frame in frames if "method" in frame]


def params_of(frames: list[Json], method: str) -> list[Json]:
    """The params of every frame of a method."""
    return [frame["params"] for frame in frames if frame.get("method") == method]


def items_of(frames: list[Json], kind: str, method: str = "item/completed") -> list[Json]:
    """The items of a kind in frames of a method."""
    return [params["item"] for params in params_of(frames, method) if params["item"]["kind"] == kind]
