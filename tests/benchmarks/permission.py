"""One consent after the other: how many round trips there are in a second."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import IO, BinaryIO, Final, NamedTuple

import orjson

from tests.benchmarks.bare_loop import bare_loop
from tests.benchmarks.client import Json, client
from tests.benchmarks.fast_host import SESSION, TURN, FastHost, event, item_id, line, place
from tests.benchmarks.measuring import RUNS, Figure, in_turn, ratio

CONSENTS: Final = 10_000

SHORT: Final = 10
"""The short form has this many times less to do."""

SHORT_RUNS: Final = 3

ALLOW: Final = "allow_once"
COMMAND: Final = "make all"

BARE_LOOP: Final = """
import subprocess, sys, orjson
host = subprocess.Popen([sys.argv[1], "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
client, user = sys.stdin.buffer, sys.stdout.buffer
def tell(sink, frame):
    sink.write(orjson.dumps(frame) + b"\\n")
    sink.flush()
def ask(number, method, params):
    tell(host.stdin, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
ask(0, "turn/start", orjson.loads(client.readline()))
for line in host.stdout:
    frame = orjson.loads(line)
    method, params = frame.get("method"), frame.get("params")
    if method == "approval/request":
        tell(host.stdin, {"jsonrpc": "2.0", "id": frame["id"], "result": {}})
        tell(user, frame)
        chosen = orjson.loads(client.readline())["result"]["outcome"]["optionId"]
        decision = {name: params[name] for name in ("sessionId", "approvalId")}
        decision |= {"requirementId": params["currentRequirementId"], "choiceId": chosen, "commandId": str(frame["id"])}
        ask(frame["id"], "approval/decide", decision)
    elif method == "turn/completed":
        tell(user, frame)
        break
host.stdin.close()
sys.exit(host.wait(15))
"""
"""Does what the adapter does for a consent: takes in four lines of the host and one of the client, and writes two and
one."""


class Asked(NamedTuple):
    """What a consent is asked for: a tool call, and where it is."""

    session_id: str
    turn_id: str
    item_id: str

    @property
    def item(self) -> Json:
        """The call as hosts tell of it."""
        call = {"itemId": self.item_id, "kind": "toolCall", "turnId": self.turn_id, "tool": "bash", "callId": "call_0"}
        return call | {"args": orjson.dumps({"command": COMMAND}).decode()}

    def begun(self) -> bytes:
        """The host's word that the call has begun."""
        return event("item/started", self.session_id, item={**self.item, "revision": 1, "status": "inProgress"})


ONLY: Final = Asked(SESSION, TURN, item_id(0))
"""Where there is one session."""


def approval(number: int, asked: Asked = ONLY) -> Json:
    """What is asked: the same each time, but another approval."""
    approval_id = f"0198f0ad-5555-7000-8000-{number:012d}"
    requirement = {"approvalId": approval_id, "sourceIndex": 0}
    record = {"id": f"0198f0ae-6666-7000-8000-{number:012d}", "sequence": number}
    stage: Json = {"requirementId": requirement, "position": 1, "totalStages": 1, "argv": COMMAND.split()}
    stage |= {"argvComplete": True, "resolution": {"kind": "unresolved"}}
    return {
        "sessionId": asked.session_id,
        "viewCursor": f"v:{asked.session_id}:{number}-asked",
        "sourceRange": {"stream": {"kind": "run", "id": asked.turn_id}, "first": record, "last": record},
        "approvalId": approval_id,
        "turnId": asked.turn_id,
        "taskId": asked.item_id,
        "itemId": asked.item_id,
        "toolCallId": "call_0",
        "toolName": "bash",
        "rawArgs": orjson.dumps({"command": COMMAND}).decode(),
        "subject": {"kind": "shell", "command": COMMAND, "workspaceRoot": "/", "stages": [stage]},
        "currentRequirementId": requirement,
        "availableChoices": [
            {"choiceId": ALLOW, "label": "Allow once", "decision": "approved", "scope": "once"},
            {"choiceId": "abort", "label": "Reject", "decision": "abort", "scope": "once"},
        ],
        "protectedWrite": False,
        "judgeEscalated": False,
    }


def resolution(asked: Json, number: int) -> bytes:
    """The host's word that an approval is settled."""
    return event(
        "approval/resolved",
        asked["sessionId"],
        viewCursor=f"v:{asked['sessionId']}:{number}-resolved",
        sourceRange=asked["sourceRange"],
        approvalId=asked["approvalId"],
        itemId=asked["itemId"],
        turnId=asked["turnId"],
        decision="approved",
        policyResult="allow",
        resolvedBy="user",
        stageEvidence=[],
    )


def request(number: int, asked: Json) -> bytes:
    """The server request for an approval."""
    return line({"jsonrpc": "2.0", "id": number, "method": "approval/request", "params": asked})


def told(number: int, asked: Json) -> bytes:
    """An approval as hosts ask for it: an event, and the request."""
    return line({"jsonrpc": "2.0", "method": "approval/requested", "params": asked}) + request(number, asked)


def accepted(asked: Json, params: Json) -> Json:
    """The answer to a decision, which has to be the one that was hoped for."""
    wanted = asked["approvalId"], asked["currentRequirementId"], ALLOW
    assert (params["approvalId"], params["requirementId"], params["choiceId"]) == wanted, params
    ack = {"status": "accepted", "terminal": True}
    return {"commandId": params["commandId"], "approvalId": asked["approvalId"], **ack}


class AskingHost(FastHost):
    """Its turns ask for so many consents, one after the other."""

    def __init__(self, out: BinaryIO, consents: int) -> None:
        super().__init__(out)
        self.consents = consents
        self.number = 0
        self.asked: Json = {}

    def on_turn_start(self, params: Json) -> Json:
        self.behind = event("turn/started", turnId=TURN) + ONLY.begun() + self._next()
        return super().on_turn_start(params)

    def on_approval_decide(self, params: Json) -> Json:
        asked = self.asked
        self.behind = resolution(asked, self.number) + (self._next() if self.number < self.consents else self._end())
        return accepted(asked, params)

    def _next(self) -> bytes:
        self.number += 1
        self.asked = approval(self.number)
        return told(self.number, self.asked)

    def _end(self) -> bytes:
        done = {**ONLY.item, "revision": 2, "status": "completed", "visibleOutput": "done\n", "truncated": False}
        return event("item/completed", item=done) + event("turn/completed", turnId=TURN, terminal="completed")


class Consents(NamedTuple):
    """What the client was asked: how often, about how many different approvals, and the seconds from the first time to
    the end of the turn."""

    asked: int
    approvals: int
    seconds: float

    @property
    def rate(self) -> float:
        """Round trips a second."""
        return self.asked / self.seconds


def allowed(request_id: int) -> bytes:
    """The answer of a client that allows what was asked."""
    result = {"outcome": {"outcome": "selected", "optionId": ALLOW}}
    return line({"jsonrpc": "2.0", "id": request_id, "result": result})


def consent(stdin: IO[bytes], stdout: IO[bytes], prompt: int | None = None, asked: bytes = b"") -> Consents:
    """Allow whatever is asked, until the prompt is answered, or a host's turn has ended; `asked` is a line that has
    been read already."""
    began, count, approvals = 0.0, 0, set[str]()
    while True:
        frame = orjson.loads(asked or stdout.readline())
        asked = b""
        method, params = frame.get("method"), frame.get("params")
        if method in ("session/request_permission", "approval/request"):
            began = began or perf_counter()
            count += 1
            approvals.add(params["_meta"]["museApprovalId"] if prompt else params["approvalId"])
            stdin.write(allowed(frame["id"]))
            stdin.flush()
        elif method == "turn/completed" or (method is None and frame.get("id") == prompt):
            return Consents(count, len(approvals), perf_counter() - began)


def through_adapter(home: Path, consents: int) -> Consents:
    """The consents of one turn."""
    with client(home, "--muse", str(place(home, AskingHost, consents))) as running:
        running.initialize()
        prompt = running.begin_prompt(running.new_session(home), "go")
        return consent(running.stdin, running.stdout, prompt)


def through_loop(home: Path, consents: int) -> Consents:
    """The same of the same host, by a bare loop."""
    with bare_loop(BARE_LOOP, str(place(home, AskingHost, consents))) as loop:
        loop.stdin.write(line({"sessionId": SESSION, "commandId": "go"}))
        loop.stdin.flush()
        return consent(loop.stdin, loop.stdout)


def measure(home: Path, short: bool = False) -> Iterator[Figure]:
    """How many consents there can be in a second."""
    consents, runs = (CONSENTS // SHORT, SHORT_RUNS) if short else (CONSENTS, RUNS)

    def rate(way: Callable[[Path, int], Consents]) -> float:
        found = way(home, consents)
        assert found.asked == found.approvals == consents, found
        return found.rate

    limit, adapter = in_turn(lambda: rate(through_loop), lambda: rate(through_adapter), runs=runs)
    yield Figure(
        what="round trips of session/request_permission, adapter / bare loop",
        value=ratio(adapter, limit),
        bound=0.5,
        at_least=True,
        told=f"{statistics.median(adapter):.0f} /s / {statistics.median(limit):.0f} /s, {consents} in a turn",
    )
