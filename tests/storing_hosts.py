"""Hosts that run turns and serve what those stored. Light, since they start often: see `tests/scripted_hosts.py`."""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from tests.output_hosts import ITEM, REF, SESSION, OutputHost, reference
from tests.scripted_hosts import Placed, ScriptedHost, idle_for_ever

Json = dict[str, Any]

READ_ONLY: Final = "--disable-write"
"""What only read hosts are started with."""


class StoringHost(OutputHost):
    """Runs turns in one session with one tool call, and serves as its own read host, apart: what that one is asked is
    in `reading/received.ndjson`."""

    version_line = ""
    """What `--version` prints instead of what it should."""
    revisions: list[Json] = [{}, {"outputRef": reference()}]  # noqa: RUF012 - settings replace it as a whole
    """Members of the tool call at each of its revisions; the first one opens it, the second ends it."""
    late = 0
    """How many of the last revisions are told after the turn."""
    kind = "toolCall"
    status = "idle"

    def show_version(self) -> None:
        print(self.version_line or f"Muse Code {self.shown} (scripted)")

    @property
    def reads(self) -> bool:
        return READ_ONLY in sys.argv

    def serve(self) -> None:
        if self.reads:
            self.directory = self.directory / "reading"
            self.directory.mkdir(exist_ok=True)
        super().serve()

    def receive(self, frame: Json) -> None:
        return super().receive(frame) if self.reads else ScriptedHost.receive(self, frame)

    def on_session_start(self, request: Json) -> None:
        workspace = request["params"]["workspaceRoot"]
        self.answer(request, session={"sessionId": SESSION, "workspaceRoot": workspace}, viewCursor="v:0")

    def on_session_resume(self, request: Json) -> None:
        self.answer(request, session={"sessionId": SESSION, "status": self.status}, viewCursor="v:0")

    def turn(self, session_id: str, turn_id: str) -> None:
        early = len(self.revisions) - self.late
        for number in range(early):
            self.revise(session_id, turn_id, number)
        self.message(session_id, turn_id, "done")
        self.complete(session_id, turn_id)
        for number in range(early, len(self.revisions)):
            self.revise(session_id, turn_id, number)

    def revise(self, session_id: str, turn_id: str, number: int) -> None:
        item = {"itemId": ITEM, "kind": self.kind, "turnId": turn_id, "revision": number + 1, "tool": "bash"}
        item |= {"status": "completed" if number else "inProgress", "args": json.dumps({"command": "make"})}
        self.event(f"item/{'completed' if number else 'started'}", session_id, item=item | self.revisions[number])


class SilentHost(StoringHost):
    """Never says its version."""

    def show_version(self) -> None:
        idle_for_ever()


HANDLE: Final[Json] = {"sessionId": SESSION, "itemId": ITEM, "outputRef": REF}
"""The address of what a `StoringHost` stores."""


def read_by(placed: Placed) -> Placed:
    """What the read hosts of a `StoringHost` took in."""
    return Placed(placed.directory / "reading")
