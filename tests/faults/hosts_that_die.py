"""Hosts that die at a request, and what the next ones say to a session that comes back."""

from __future__ import annotations

import os
from typing import Any

from tests.scripted_hosts import Json, ScriptedHost


class Dies(ScriptedHost):
    """Ends at the request `at`, before it answers it; in its first `deaths` runs.

    Later runs refuse `session/resume` with the `refusals` (a kind, a code and a reason each), one a time, then load the
    session. `missed` are the texts of messages that a run finds in the store beside what the first one sent.
    """

    at = ""
    deaths = 1
    refusals: tuple[tuple[str, int, str], ...] = ()
    durable = True
    missed: tuple[str, ...] = ()
    background = False
    """Whether a turn leaves a call behind that goes on."""
    told_live = False
    """Whether what was missed also comes as notifications, before the answer to `session/resume`."""

    def receive(self, frame: Json) -> None:
        if frame.get("method") == self.at and self.count("deaths") <= self.deaths:
            os._exit(9)
        super().receive(frame)

    def count(self, name: str) -> int:
        """How often this has been asked, in all runs."""
        with (self.directory / name).open("a") as file:
            file.write("x")
        return (self.directory / name).stat().st_size

    def turn(self, session_id: str, turn_id: str) -> None:
        if self.background:
            self.open_shell(session_id, turn_id, background=True)
        super().turn(session_id, turn_id)

    def on_initialize(self, request: Json) -> None:
        self.answer(
            request,
            serverInfo={"name": "scripted-host", "version": self.version},
            schema={"version": 1, "fingerprint": self.fingerprint},
            grantedCapabilities=[],
            sessionDurability="durable" if self.durable else "ephemeral",
        )

    def on_session_resume(self, request: Json) -> None:
        at = self.count("resumes") - 1
        if at < len(self.refusals):
            kind, code, reason = self.refusals[at]
            return self.refuse(request, kind, "not now", code=code, **({"reason": reason} if reason else {}))
        if self.told_live:
            for event in self.stored():
                self.send({"jsonrpc": "2.0", **event})
        session = {"sessionId": request["params"]["sessionId"], "status": "idle"}
        self.answer(request, session=session, viewCursor=f"v:stored:{len(self.missed)}")
        return None

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=self.stored(request["params"]["sessionId"]), nextCursor=None)

    def stored(self, session_id: str = "") -> list[Json]:
        return [
            {
                "method": "item/completed",
                "params": {
                    "sessionId": session_id or self.known_session(),
                    "viewCursor": f"v:stored:{number}",
                    "sourceRange": {"stream": {"kind": "run", "id": "run-1"}},
                    "item": self.stored_item(number, text),
                },
            }
            for number, text in enumerate(self.missed, 1)
        ]

    def stored_item(self, number: int, text: str) -> Json:
        """A call, since messages are shown in a turn only."""
        item: dict[str, Any] = {"itemId": f"stored-{number}", "kind": "toolCall", "tool": "bash", "revision": 2}
        return item | {"status": "completed", "args": "{}", "result": text, "displayLabel": text}

    def known_session(self) -> str:
        return (self.directory / "session").read_text()

    def on_session_start(self, request: Json) -> None:
        self.sessions += 1
        session_id = request["params"].get("sessionId") or f"ses-{os.getpid()}-{self.sessions}"
        (self.directory / "session").write_text(session_id)
        session = {"sessionId": session_id, "workspaceRoot": request["params"]["workspaceRoot"]}
        self.answer(request, session=session, viewCursor="v:0")


class KeepsItsQueue(Dies):
    """Runs its first turn for ever, and dies with a second one in its queue; the next run begins that one by itself
    when the session comes back."""

    def on_turn_start(self, request: Json) -> None:
        if self.count("prompts") > 2:
            return super().on_turn_start(request)
        command_id = request["params"]["commandId"]
        first = not (self.directory / "first").exists()
        ack = {"commandId": command_id, "status": "accepted", "turnId": f"turn-of-{command_id}"}
        self.answer(request, **ack, disposition="started" if first else "queued", startedNewTurn=first)
        (self.directory / ("first" if first else "queued")).write_text(command_id)
        return None

    def on_session_resume(self, request: Json) -> None:
        super().on_session_resume(request)
        command_id, session_id = (self.directory / "queued").read_text(), request["params"]["sessionId"]
        self.count("effects")
        self.event("turn/started", session_id, turnId=f"turn-of-{command_id}", commandId=command_id)
        self.message(session_id, f"turn-of-{command_id}", "run all the same")
        self.complete(session_id, f"turn-of-{command_id}")
