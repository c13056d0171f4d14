"""Hosts whose sessions are nowhere else, and hosts that are slow to let go of one."""

from __future__ import annotations

import os

from tests.scripted_hosts import Json, ScriptedHost


class StoresNothing(ScriptedHost):
    """Says that it is ephemeral, and has no method that needs a store. A prompt `auth` fails for want of a login, one
    that says `die` ends it."""

    def receive(self, frame: Json) -> None:
        if frame.get("method") in ("session/resume", "session/read", "view/page", "session/fork"):
            return self.refuse(frame, "methodNotFound", "not on this host", code=-32601)
        return super().receive(frame)

    def on_initialize(self, request: Json) -> None:
        self.answer(
            request,
            serverInfo={"name": "scripted-host", "version": self.version},
            schema={"version": 1, "fingerprint": self.fingerprint},
            grantedCapabilities=[],
            sessionDurability="ephemeral",
        )

    def on_turn_start(self, request: Json) -> None:
        text = request["params"]["input"][0]["text"]
        if text == "die":
            os._exit(9)
        if text != "auth":
            return super().on_turn_start(request)
        session_id, turn_id = self.admit(request)
        error = {"kind": "authRequired", "message": "sign in first", "retryable": False}
        self.complete(session_id, turn_id, "failed", error=error)
        return None

    def on_session_list(self, request: Json) -> None:
        self.answer(request, sessions=[], nextCursor=None)


class LetsGoLate(ScriptedHost):
    """Never answers `never`; what it admits of `session/leave` is never concluded."""

    never: tuple[str, ...] = ()

    def receive(self, frame: Json) -> None:
        if frame.get("method") not in self.never:
            super().receive(frame)

    def on_view_unsubscribe(self, request: Json) -> None:
        self.answer(request)

    def on_session_leave(self, request: Json) -> None:
        self.answer(request, commandId=request["params"]["commandId"], status="accepted")

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=[], nextCursor=None)
