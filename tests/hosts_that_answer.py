"""A host whose answers and events a test chooses."""

from __future__ import annotations

import os
import time
from typing import Any

from tests.scripted_hosts import Json, ScriptedHost

UNSET = "unset"


class Answers(ScriptedHost):
    """Answers `at` with `result` or an `error` kind, `times` times; `silent`: only when the next request has come, and
    if it `forgets`, never.

    Around the answer come `events` numbered events of `ses-1`. `tell` sends its params as an event, `ask` sends the
    requests `asks`, `marker` does nothing: what was sent before its answer has been handled when that is there.
    """

    at = ""
    result: Any = UNSET
    error = ""
    times = 1
    silent = False
    forgets = False
    events = 0
    events_first = False
    asks: tuple[str, ...] = ()
    withheld: Json | None = None

    def receive(self, frame: Json) -> None:
        if "id" in frame and self.withheld is not None:
            self.answer(self.withheld)
            self.withheld = None
        if frame.get("method") != self.at or self.times <= 0:
            return super().receive(frame)
        self.times -= 1
        if self.events_first:
            self.tell_events()
        if self.silent:
            self.withheld = None if self.forgets else frame
        elif self.error:
            self.refuse(frame, self.error, "not now")
        elif self.result is not UNSET and self.result != UNSET:
            self.send({"jsonrpc": "2.0", "id": frame["id"], "result": self.result})
        else:
            super().receive(frame)
        if not self.events_first:
            self.tell_events()
        return None

    def tell_events(self) -> None:
        for number in range(self.events):
            self.event("session/statusChanged", "ses-1", number=number)

    def on_tell(self, request: Json) -> None:
        self.send({"jsonrpc": "2.0", "method": "session/statusChanged", "params": request["params"]})
        self.answer(request)

    def on_marker(self, request: Json) -> None:
        self.answer(request)

    def on_ask(self, request: Json) -> None:
        for method in self.asks:
            self.send({"jsonrpc": "2.0", "id": method, "method": method, "params": {"sessionId": "ses-1"}})
        self.answer(request)


class Concludes(ScriptedHost):
    """Acknowledges `session/leave` and concludes it after a `pause`, `early` before the ack; with `forgets` never, with
    `dies` it ends instead. Somebody else's conclusion always comes first."""

    early = False
    pause = 0.0
    forgets = False
    dies = False

    def on_session_leave(self, request: Json) -> None:
        command_id = request["params"]["commandId"]
        self.conclude("somebody-else's", "failed")
        if self.early:
            self.conclude(command_id, "released")
        self.answer(request, commandId=command_id, status="accepted")
        if self.dies:
            os._exit(9)
        time.sleep(self.pause)
        if not self.early and not self.forgets:
            self.conclude(command_id, "released")

    def conclude(self, command_id: str, outcome: str) -> None:
        params = {"sessionId": "ses-1", "commandId": command_id, "outcome": outcome}
        self.send({"jsonrpc": "2.0", "method": "session/leaveCompleted", "params": params})
