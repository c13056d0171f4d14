"""Faults on purpose: what the host does wrong, and when. Given as a JSON list, in a file or in `MUSE_SIMULATED_FAULTS`.

Each fault is an object. `at` says when: a method that is received, a notification or server request about to be sent,
or `spawn`, `handshake` (on `initialize`), `turn` (when a turn has begun). `after` lets it pass so many times first (0),
`times` says how often it strikes (1; null for ever), `flag` limits it to hosts that were started with that flag.
`do` says what:

| `do` | what happens |
|---|---|
| `die` | the process kills itself with SIGKILL |
| `exit` | it ends with `code` (1) |
| `hang` | the request is never answered and has no effect; at `spawn` the host never reads |
| `garbage` | lines that are no frames are written (`lines`, or a set of usual ones) |
| `slow` | it stands still for `seconds` (1) |
| `delayAck` | the answer waits `seconds` (0.1), its events do not |
| `closeStdout` | stdout is closed, the process lives on |
| `error` | the request is refused: `code` or `kind` (internal), `message`, and members for `data` |
| `stderr` | `bytes` (1 MiB) of log lines are written to stderr |
| `ignoreEof` | end of stdin does not end the host |
| `ignoreTerm` | SIGTERM does not end the host |
| `raw` | `chunks` are written as they are, `pause` seconds apart; a chunk is text or `{"base64": ...}` |
| `drop` | the notification is not sent |
| `params` | `set` is merged into the request's params, as if the client had sent it |
| `result` | `set` is merged into the request's result, so that it lies |

`raw` and `garbage` come before the frame at hand; with `"instead": true` they take its place, which makes a request
unanswered. In a chunk of text, `{id}` stands for the id of the request at hand.
"""

from __future__ import annotations

import base64
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

from adapter.hosts.simulated.errors import CODES
from adapter.wire.envelope import Id, Request, RpcError

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.output import Output

ENVIRONMENT: Final = "MUSE_SIMULATED_FAULTS"

GARBAGE: Final = ("\x1b[32mMuse\x1b[0m", "ready", "[]", "42", "", "Loading profile")
"""What shells and launchers print before and between frames (`fault-cases.md C3`)."""

ACTIONS: Final = (
    *("die", "exit", "hang", "garbage", "slow", "delayAck", "closeStdout", "error"),
    *("stderr", "ignoreEof", "ignoreTerm", "raw", "drop", "params", "result"),
)


class BadFaults(Exception):
    """The list cannot be used; the text says why."""


class Fault(msgspec.Struct):
    """One fault; which members count depends on `do`."""

    at: str
    do: str
    after: int = 0
    times: int | None = 1
    flag: str | None = None
    code: int | None = None
    kind: str = "internal"
    message: str = "a fault on purpose"
    data: dict[str, Any] = {}
    seconds: float | None = None
    bytes: int = 1024 * 1024
    lines: tuple[str, ...] = GARBAGE
    chunks: list[str | dict[str, str]] = []
    pause: float = 0.0
    instead: bool = False
    set: dict[str, Any] = {}

    def due(self) -> bool:
        """Whether it strikes this time."""
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class Plan:
    """What is to happen to one request or notification."""

    def __init__(self, request_id: Id | None = None, params: dict[str, Any] | None = None) -> None:
        self.request_id = request_id
        self.params = {} if params is None else params
        self.result: dict[str, Any] = {}
        self.hangs = False
        self.ack_seconds = 0.0
        self.error: RpcError | None = None


class Faults:
    """The faults of one run."""

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults
        self.ignores_end = False

    def watches(self, at: str) -> bool:
        """Whether any fault waits for that moment."""
        return any(fault.at == at for fault in self._faults)

    def spawn(self, output: Output) -> None:
        """The process has started and has read nothing yet."""
        self._run("spawn", output, Plan())

    def plan(self, host: Host, request: Request) -> Plan:
        """A request has arrived."""
        plan = Plan(request.id, request.params)
        if request.method == "initialize":
            self._run("handshake", host.output, plan)
        self._run(request.method, host.output, plan)
        return plan

    def strike(self, host: Host, at: str) -> bool:
        """A notification is about to be sent or has arrived, or a turn has begun; gives whether to go on with it."""
        plan = Plan()
        self._run(at, host.output, plan)
        return not plan.hangs

    def _run(self, at: str, output: Output, plan: Plan) -> None:
        for fault in self._faults:
            if fault.at == at and fault.due():
                self._do(fault, output, plan)

    def _do(self, fault: Fault, output: Output, plan: Plan) -> None:
        if fault.do == "die":
            output.flush()
            if sys.platform == "win32":
                # Nothing can be caught there.
                os.kill(os.getpid(), signal.SIGTERM)
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        elif fault.do == "exit":
            output.flush()
            os._exit(1 if fault.code is None else fault.code)
        elif fault.do in ("hang", "drop"):
            plan.hangs = True
            if fault.at == "spawn":
                time.sleep(3600)
        elif fault.do == "slow":
            output.flush()
            time.sleep(1.0 if fault.seconds is None else fault.seconds)
        elif fault.do == "delayAck":
            plan.ack_seconds = 0.1 if fault.seconds is None else fault.seconds
        elif fault.do == "error":
            code = CODES.get(fault.kind, -32603) if fault.code is None else fault.code
            plan.error = RpcError(code, fault.message, {"kind": fault.kind, **fault.data})
        elif fault.do == "closeStdout":
            output.close()
        elif fault.do == "stderr":
            _log(fault.bytes)
        elif fault.do == "ignoreEof":
            self.ignores_end = True
        elif fault.do == "ignoreTerm":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif fault.do == "params":
            plan.params.update(fault.set)
        elif fault.do == "result":
            plan.result = fault.set
        else:
            _write(fault, output, plan.request_id)
            plan.hangs = plan.hangs or fault.instead


def _write(fault: Fault, output: Output, request_id: Id | None) -> None:
    if fault.do == "garbage":
        output.put_bytes("".join(f"{line}\n" for line in fault.lines).encode())
        return
    for chunk in fault.chunks:
        if isinstance(chunk, str):
            output.put_bytes(chunk.encode().replace(b"{id}", orjson.dumps(request_id)))
        else:
            output.put_bytes(base64.b64decode(chunk["base64"]))
        if fault.pause:
            output.flush()
            time.sleep(fault.pause)


def _log(size: int) -> None:
    line = b"simulated host: a line of log on purpose, as long as lines of log are, and of no use to anybody\n"
    for _ in range(-(-size // len(line))):
        os.write(2, line)


def read_faults(path: str | None, flags: list[str]) -> Faults:
    """The faults of the file, else those of the environment, else none; those for other `flags` are left out.

    Raises:
        BadFaults: they cannot be read.
    """
    try:
        text = Path(path).read_bytes() if path is not None else os.environ.get(ENVIRONMENT, "[]").encode()
        faults = msgspec.convert(orjson.loads(text), list[Fault])
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise BadFaults(f"the faults cannot be used: {error}") from None
    for fault in faults:
        if fault.do not in ACTIONS:
            raise BadFaults(f"the faults cannot be used: there is no {fault.do!r}; there are {', '.join(ACTIONS)}")
    return Faults([fault for fault in faults if fault.flag is None or fault.flag in flags])
