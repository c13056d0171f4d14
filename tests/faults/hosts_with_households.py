"""Hosts with processes of their own, or with an eye on what happens to them."""

from __future__ import annotations

import signal
import subprocess
from types import FrameType

from tests.scripted_hosts import ScriptedHost


class NotesSignals(ScriptedHost):
    """Works for ever in each turn, and writes down every signal that asks it to stop, and the end of its input."""

    def serve(self) -> None:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self.note_signal)
        super().serve()
        self.note("end of input")

    def note_signal(self, signum: int, _frame: FrameType | None) -> None:
        self.note(signal.Signals(signum).name)

    def note(self, what: str) -> None:
        with (self.directory / "noted").open("a") as notes:
            notes.write(what + "\n")

    def turn(self, session_id: str, turn_id: str) -> None:
        self.open_shell(session_id, turn_id)


class LeavesTheDead(ScriptedHost):
    """Has started something, in its session and in another one, that has ended and that nobody has reaped."""

    def serve(self) -> None:
        for command in ("sh -c : &", "setsid sh -c : &"):
            subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        super().serve()


class RunsTools(ScriptedHost):
    """Each turn starts a tool in this session and one in a session of its own, and does not end."""

    def turn(self, session_id: str, turn_id: str) -> None:
        quiet = subprocess.DEVNULL
        for command in (["sleep", "600"], ["setsid", "sleep", "600"]):
            tool = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
            with (self.directory / "tool.pids").open("a") as pids:
                pids.write(f"{tool.pid}\n")
        self.open_shell(session_id, turn_id)
