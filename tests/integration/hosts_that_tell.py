"""A host that repeats everything it was ever told, in one place where a host can say something."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from tests.scripted_hosts import Json, ScriptedHost

PLACES: Final = (
    *("spawn", "noise", "handshake", "handshake answer", "session/start", "session/resume", "session/list"),
    *("turn/start", "failed turn", "turn/interrupt", "approval/decide", "death in a turn", "exit in a turn"),
    *("an unreadable line", "an unknown request", "retry", "session facts", "model/list", "skill/list", "version"),
)


class Telltale(ScriptedHost):
    """`place` is where it tells."""

    place = ""

    def __init__(self, directory: str, settings: str) -> None:
        self.heard: list[str] = []
        super().__init__(directory, settings)

    def everything(self) -> str:
        """The environment, and all texts of all messages so far; as much of it as an error may hold, last words
        first."""
        return " / ".join([*reversed(self.heard), *os.environ.values()])

    def show_version(self) -> None:
        print(f"Muse Code 1.2.1 {self.everything()}" if self.place == "version" else f"Muse Code {self.version}")

    def serve(self) -> None:
        if self.place == "spawn":
            print(self.everything(), file=sys.stderr, flush=True)
            os._exit(3)
        if self.place == "noise":
            print(self.everything(), flush=True)
            os._exit(3)
        super().serve()

    def receive(self, frame: Json) -> None:
        self.heard += texts(frame.get("params"))
        if frame.get("method") == self.place:
            self.tell(frame)
            # A turn ends all the same.
            return self.complete(*self.turns[-1]) if self.place == "approval/decide" else None
        return super().receive(frame)

    def tell(self, request: Json) -> None:
        """An error in which every member tells."""
        said = self.everything()
        data = {"kind": said, "reason": said, "capability": said, "detail": said}
        self.send(
            {
                "jsonrpc": "2.0",
                "id": request["id"],
                "error": {"code": -32050, "message": f"it said {said}", "data": data},
            }
        )

    def on_initialize(self, request: Json) -> None:
        said = self.everything()
        if self.place == "handshake":
            return self.tell(request)
        if self.place != "handshake answer":
            return super().on_initialize(request)
        self.answer(
            request,
            serverInfo={"name": said, "version": f"1.4.13 {said}"},
            schema={"version": 1, "fingerprint": said},
            grantedCapabilities=["sessionMcp", said],
            sessionDurability="durable",
            sandboxAvailability="unavailable",
            sandboxUnavailableReason=said,
        )
        return None

    def turn(self, session_id: str, turn_id: str) -> None:
        said = self.everything()
        if self.place == "failed turn":
            error = {"kind": said, "message": said}
            return self.complete(session_id, turn_id, "failed", reason=said, error=error)
        if self.place in ("death in a turn", "exit in a turn"):
            print(said, file=sys.stderr, flush=True)
            os._exit(9) if self.place == "exit in a turn" else os.kill(os.getpid(), 9)
        if self.place == "an unreadable line":
            self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": said}})
        if self.place == "an unknown request":
            self.send({"jsonrpc": "2.0", "id": "x", "method": said, "params": {"said": said}})
        if self.place == "retry":
            self.event("turn/retryScheduled", session_id, turnId=turn_id, reason=said, retryDelayMs=1, nextAttempt=1)
        if self.place == "session facts":
            self.event("session/damaged", session_id, reason=said, why=said)
            self.event("session/modelChanged", session_id, modelId=said, model=said)
        if self.place == "approval/decide":
            return void(self.ask_approval(session_id, turn_id))
        if self.place != "turn/interrupt":
            return super().turn(session_id, turn_id)
        return None


def texts(value: Any) -> list[str]:
    """All texts in a JSON value but its names."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for member in value.values() for text in texts(member)]
    return [text for member in value for text in texts(member)] if isinstance(value, list) else []


def void(_value: object) -> None:
    """For the sake of a call alone."""
