"""Hosts that close a pipe or end when they should not."""

from __future__ import annotations

import os
import signal
import sys
import time

from tests.scripted_hosts import Json, ScriptedHost, idle_for_ever


class ClosesStdout(ScriptedHost):
    """Takes a request of method `at`, closes its output and keeps running."""

    at = "session/start"

    def receive(self, frame: Json) -> None:
        if frame.get("method") == self.at:
            os.close(1)
            idle_for_ever()
        super().receive(frame)

    def turn(self, session_id: str, turn_id: str) -> None:
        self.open_shell(session_id, turn_id)


class ClosesStdin(ScriptedHost):
    """Asks for consent, stops reading for ever and keeps running."""

    def turn(self, session_id: str, turn_id: str) -> None:
        os.close(0)
        self.ask_approval(session_id, turn_id)
        idle_for_ever()


class Exits(ScriptedHost):
    """Says a line on stderr and exits with `code` when it takes `at`; at `spawn` it has read nothing, at `byte` one."""

    at = "byte"
    code = 7
    signal = 0
    line = "demo: cannot open the store, key demo-secret-123"

    def serve(self) -> None:
        if self.at == "spawn":
            self.leave()
        if self.at == "byte":
            os.read(0, 1)
            self.leave()
        super().serve()

    def receive(self, frame: Json) -> None:
        if frame.get("method") == self.at:
            self.leave()
        super().receive(frame)

    def leave(self) -> None:
        print(self.line, file=sys.stderr, flush=True)
        if self.signal:
            signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)
            idle_for_ever()
        os._exit(self.code)


class Works(ScriptedHost):
    """Has a shell call running in each turn, until it is interrupted; with `asks`, one that waits for consent."""

    asks = False

    def turn(self, session_id: str, turn_id: str) -> None:
        if self.asks:
            self.ask_approval(session_id, turn_id)
        else:
            self.message(session_id, turn_id, "working")
            self.open_shell(session_id, turn_id)


class DiesInTheFirstTurn(Works):
    """Works for ever in the first turn of its first run; later runs answer at once."""

    def turn(self, session_id: str, turn_id: str) -> None:
        if (self.directory / "died").exists():
            ScriptedHost.turn(self, session_id, turn_id)
        else:
            (self.directory / "died").touch()
            super().turn(session_id, turn_id)


class KeepsHistory(Works):
    """Can be loaded again; each opening tells of a call that goes on in the background, before it is answered."""

    def on_session_resume(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.open_shell(session_id, f"{session_id}-{self.next_cursor()}", background=True)
        super().on_session_resume(request)

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=[], nextCursor=None)

    def on_view_unsubscribe(self, request: Json) -> None:
        self.answer(request)

    def on_session_leave(self, request: Json) -> None:
        command_id = request["params"]["commandId"]
        self.answer(request, commandId=command_id, status="accepted")
        left = {"sessionId": request["params"]["sessionId"], "commandId": command_id, "outcome": "released"}
        self.send({"jsonrpc": "2.0", "method": "session/leaveCompleted", "params": left})


class RecordsAtTheEnd(ScriptedHost):
    """Takes a moment, once its input has ended, to write down how things stand."""

    def serve(self) -> None:
        super().serve()
        time.sleep(0.5)
        (self.directory / "recorded").touch()
