"""Small Muse hosts as executables, for tests in which a host does one thing wrong.

`ScriptedHost` is right in everything; a subclass overrides the one method that shall go wrong. `place` writes an
executable that runs it, to be given as `--muse`. Only the standard library is used, so that a host is up in a moment,
and nothing of the adapter, so that a test does not compare it with itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ROOT = Path(__file__).parents[1]


class Placed:
    """A scripted host on disk, with what all runs of it took in."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.muse = str(directory / "muse")
        """What to give as `--muse`."""

    def received(self, method: str | None = None) -> list[Json]:
        """The frames its runs have read so far, of one method or all."""
        path = self.directory / "received.ndjson"
        lines = path.read_text().splitlines() if path.exists() else []
        frames: list[Json] = [json.loads(line) for line in lines]
        return [frame for frame in frames if method in (None, frame.get("method"))]

    def pids(self, name: str = "*.pids") -> list[int]:
        """The process ids of its runs so far: as a host (`serve.pids`), to say its version (`version.pids`), or all."""
        return [int(word) for path in self.directory.glob(name) for word in path.read_text().split()]


def place(directory: Path, host: type[ScriptedHost], **settings: Any) -> Placed:
    """Write an executable that runs `host`; `settings` become attributes of it. Several may share `directory`'s parent,
    not `directory`."""
    if os.name != "posix":
        import pytest  # here, because a host does not need it

        pytest.skip("the stand-ins are scripts")
    directory.mkdir(parents=True, exist_ok=True)
    script = directory / "muse"
    module, name = host.__module__, host.__name__
    script.write_text(
        f"#!{sys.executable}\n"
        f"import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        f"from {module} import {name}\n"
        f"{name}({str(directory)!r}, {json.dumps(settings)!r}).main()\n"
    )
    script.chmod(0o755)
    return Placed(directory)


class ScriptedHost:
    """A host that answers as one should, with one short turn a prompt."""

    version = "1.4.13"
    fingerprint = "sha256:7fddaf646dbc317e5fcac0785e135eb04df14fbb0db1863089dfd6da21730e5b"

    def __init__(self, directory: str, settings: str) -> None:
        self.directory = Path(directory)
        self.sessions = 0
        self.turns: list[tuple[str, str]] = []
        """Session and turn id of the turns that were started, in order."""
        self.cursor = 0
        for name, value in json.loads(settings).items():
            setattr(self, name, value)

    # -- running

    def main(self) -> None:
        """The command line. It has no flags, and a question for them is not counted as a run."""
        if "--help" in sys.argv:
            return
        run = self.show_version if "--version" in sys.argv else self.serve
        with (self.directory / f"{'serve' if run == self.serve else 'version'}.pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
        run()

    def show_version(self) -> None:
        print(f"Muse Code {self.version} (scripted)")

    def serve(self) -> None:
        """Read to the end of input."""
        while line := sys.stdin.buffer.readline():
            frame = json.loads(line)
            with (self.directory / "received.ndjson").open("a") as received:
                received.write(json.dumps(frame) + "\n")
            self.receive(frame)

    def receive(self, frame: Json) -> None:
        """Hand a frame to the method of its name: `turn/start` to `on_turn_start`."""
        method = frame.get("method")
        if method is None:
            return self.on_response(frame)
        handler = getattr(self, "on_" + method.replace("/", "_"), None)
        if handler is not None:
            handler(frame)
        elif "id" in frame:
            self.refuse(frame, "methodNotFound", f"there is no {method}", code=-32601)
        return None

    # -- writing

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        while data:
            data = data[os.write(1, data) :]

    def send(self, *frames: Json) -> None:
        """Frames, in one write."""
        self.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def answer(self, request: Json, **result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: Json, kind: str, message: str, code: int = -32603, **data: Any) -> None:
        error = {"code": code, "message": message, "data": {"kind": kind, **data}}
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def next_cursor(self) -> str:
        """Never the same, in no run."""
        self.cursor += 1
        return f"v:{os.getpid()}:{self.cursor}"

    def event(self, method: str, session_id: str, **params: Any) -> None:
        """A durable event."""
        source = {"stream": {"kind": "run", "id": "run-1"}}
        params = {"sessionId": session_id, "viewCursor": self.next_cursor(), "sourceRange": source, **params}
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def delta(self, session_id: str, item_id: str, text: str, field: str = "text") -> None:
        params = {"sessionId": session_id, "viewCursor": self.next_cursor(), "itemId": item_id}
        self.send({"jsonrpc": "2.0", "method": "item/delta", "params": {**params, "field": field, "delta": text}})

    def item(self, stage: str, session_id: str, turn_id: str, item_id: str, **members: Any) -> None:
        """`item/started` or `item/completed`."""
        started = stage == "started"
        status = {"revision": 1, "status": "inProgress"} if started else {"revision": 2, "status": "completed"}
        raw = {"itemId": item_id, "kind": "agentMessage", "turnId": turn_id, **status, **members}
        self.event(f"item/{stage}", session_id, item=raw)

    def message(self, session_id: str, turn_id: str, text: str) -> None:
        """A whole assistant message."""
        item_id = f"{turn_id}-message-{self.cursor}"
        self.item("started", session_id, turn_id, item_id, text="")
        self.delta(session_id, item_id, text)
        self.item("completed", session_id, turn_id, item_id, text=text)

    def complete(self, session_id: str, turn_id: str, terminal: str = "completed", **members: Any) -> None:
        """The end of a turn."""
        self.event("turn/completed", session_id, turnId=turn_id, terminal=terminal, **members)

    def open_shell(self, session_id: str, turn_id: str, **members: Any) -> str:
        """A shell call that has begun; gives its item id."""
        item_id = f"{turn_id}-shell"
        arguments = json.dumps({"command": "sleep 600"})
        self.item("started", session_id, turn_id, item_id, kind="toolCall", tool="bash", args=arguments, **members)
        return item_id

    def ask_approval(self, session_id: str, turn_id: str, **members: Any) -> str:
        """A shell call that waits for consent; gives the approval id."""
        approval_id = f"{turn_id}-approval"
        item_id = self.open_shell(session_id, turn_id)
        choices = [
            {"choiceId": "yes", "label": "Allow once", "decision": "approved", "scope": "once"},
            {"choiceId": "no", "label": "Reject", "decision": "denied", "scope": "once"},
        ]
        asked = {
            "sessionId": session_id,
            "approvalId": approval_id,
            "turnId": turn_id,
            "itemId": item_id,
            "toolName": "bash",
            "rawArgs": json.dumps({"command": "sleep 600"}),
            "subject": {"kind": "shell", "command": "sleep 600"},
            "currentRequirementId": {"approvalId": approval_id, "sourceIndex": 0},
            "availableChoices": choices,
            **members,
        }
        self.send({"jsonrpc": "2.0", "id": f"ask-{turn_id}", "method": "approval/request", "params": asked})
        return approval_id

    # -- what a host is asked

    def on_response(self, frame: Json) -> None:
        """An answer of the client to a request of ours."""

    def on_initialize(self, request: Json) -> None:
        self.answer(
            request,
            serverInfo={"name": "scripted-host", "version": self.version},
            schema={"version": 1, "fingerprint": self.fingerprint},
            grantedCapabilities=["sessionMcp"],
            sessionDurability="durable",
            sandboxAvailability="available",
        )

    def on_session_start(self, request: Json) -> None:
        self.sessions += 1
        session_id = f"ses-{os.getpid()}-{self.sessions}"
        workspace = request["params"]["workspaceRoot"]
        self.answer(request, session={"sessionId": session_id, "workspaceRoot": workspace}, viewCursor="v:0")

    def on_session_resume(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.answer(request, session={"sessionId": session_id}, viewCursor="v:0")

    def on_turn_start(self, request: Json) -> None:
        self.turn(*self.admit(request))

    def admit(self, request: Json) -> tuple[str, str]:
        """Acknowledge a prompt and begin its turn."""
        self.acknowledge(request)
        return self.begin(request)

    def acknowledge(self, request: Json) -> None:
        command_id = request["params"]["commandId"]
        turn_id = f"turn-of-{command_id}"
        self.answer(request, commandId=command_id, status="accepted", turnId=turn_id, disposition="started")

    def begin(self, request: Json) -> tuple[str, str]:
        params = request["params"]
        session_id, turn_id = params["sessionId"], f"turn-of-{params['commandId']}"
        self.turns.append((session_id, turn_id))
        self.event("turn/started", session_id, turnId=turn_id, commandId=params["commandId"])
        return session_id, turn_id

    def turn(self, session_id: str, turn_id: str) -> None:
        """What happens in a turn."""
        self.message(session_id, turn_id, f"answer {len(self.turns)}")
        self.complete(session_id, turn_id)

    def on_turn_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        self.complete(params["sessionId"], params["turnId"], "cancelled")

    def on_approval_decide(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted")
        self.event("approval/resolved", params["sessionId"], approvalId=params["approvalId"])
        self.complete(*self.turns[-1])

    def on_approval_listPending(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        self.answer(request, approvals=[], userInputs=[])


def idle_for_ever() -> None:
    """Do nothing until somebody ends this process; bounded, so that a broken test leaves nothing behind for long."""
    time.sleep(600)
