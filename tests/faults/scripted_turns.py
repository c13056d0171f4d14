"""A host that plays a turn exactly as a test writes it down, and the steps to write it with.

In the strings of a step `$T` is the id of the turn, `$O` that of the turn before, `$C` the id of the command that
asked for it and `$S` the session's.
"""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar

from tests.scripted_hosts import Json, ScriptedHost

Step = list[Any]


def event(method: str, **params: Any) -> Step:
    """A durable event."""
    return ["event", method, params]


def started(turn_id: str = "$T", **members: Any) -> Step:
    return event("turn/started", turnId=turn_id, **({"commandId": "$C"} | members))


def ended(terminal: str | None = "completed", turn_id: str | None = "$T", **members: Any) -> Step:
    """The end of a turn; None leaves a member out."""
    params = {"turnId": turn_id, "terminal": terminal, **members}
    return event("turn/completed", **{name: value for name, value in params.items() if value is not None})


def item(stage: str, item_id: str = "$T-i", kind: str = "agentMessage", **members: Any) -> Step:
    """`item/started`, `item/updated` or `item/completed`, with revision 1, 2 and 3."""
    revision, status = {"started": (1, "inProgress"), "updated": (2, "inProgress"), "completed": (3, "completed")}[
        stage
    ]
    full = {"itemId": item_id, "kind": kind, "turnId": "$T", "revision": revision, "status": status, **members}
    return event(f"item/{stage}", item=full)


def tool(stage: str, item_id: str = "t", **members: Any) -> Step:
    """A shell call."""
    return item(stage, item_id, "toolCall", **({"tool": "bash", "args": '{"command":"make all"}'} | members))


def delta(text: str, item_id: str | None = "$T-i", field: str | None = "text") -> Step:
    """A piece of text; None leaves a member out."""
    return ["delta", {"itemId": item_id, "field": field, "delta": text}]


def ack(turn_id: str = "$T") -> Step:
    """The answer to the prompt. A script without one is played after the answer and `turn/started`."""
    return ["ack", turn_id]


def pause(seconds: float) -> Step:
    """What was played so far goes out; without a pause it goes out in the end, in one write."""
    return ["pause", seconds]


class Plays(ScriptedHost):
    """Plays the first of `scripts` for the first prompt and so on, and the last for all later ones."""

    scripts: ClassVar[list[list[Step]]] = []

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.held: list[bytes] | None = None
        self.prompts = 0
        self.turn_before = "turn-before"

    def on_turn_start(self, request: Json) -> None:
        steps = self.scripts[min(self.prompts, len(self.scripts) - 1)]
        self.prompts += 1
        command_id, session_id = request["params"]["commandId"], request["params"]["sessionId"]
        turn_id = f"turn-of-{command_id}"
        written = json.dumps(steps)
        for name, value in {"$T": turn_id, "$O": self.turn_before, "$C": command_id, "$S": session_id}.items():
            written = written.replace(name, value)
        self.held = []
        if not any(step[0] == "ack" for step in steps):
            self.admit(request)
        for step in json.loads(written):
            self.play(step, request)
        self.flush()
        self.held = None
        self.turn_before = turn_id

    def play(self, step: Step, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        what, *rest = step
        if what == "event":
            self.event(rest[0], session_id, **rest[1])
        elif what == "delta":
            self.cursor += 1
            members = {name: value for name, value in rest[0].items() if value is not None}
            params = {"sessionId": session_id, "viewCursor": f"v:{self.cursor}", **members}
            self.send({"jsonrpc": "2.0", "method": "item/delta", "params": params})
        elif what == "ack":
            command_id = request["params"]["commandId"]
            self.answer(request, commandId=command_id, status="accepted", turnId=rest[0], disposition="started")
        else:
            self.flush()
            time.sleep(rest[0])

    def write(self, data: bytes) -> None:
        if self.held is None:
            super().write(data)
        else:
            self.held.append(data)

    def flush(self) -> None:
        held, self.held = self.held or [], None
        self.write(b"".join(held))
        self.held = []
