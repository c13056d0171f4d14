"""Hosts for the doctor. Light, since they start often: see `tests/scripted_hosts.py`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

from tests.probed_hosts import Flagged
from tests.scripted_hosts import Json, ScriptedHost, idle_for_ever


class Patient(Flagged):
    """Says everything a host says, with a list of `stored` sessions; `deaf` ignores the end of input and SIGTERM,
    `stalls` reads nothing, `slow` waits so many seconds before it reads, `page_seconds` before each page of a list."""

    stored = 3
    deaf = False
    stalls = False
    slow = 0.0
    page_seconds = 0.0
    stderr = ""
    said = ""
    hangs_on_version = False

    def show_version(self) -> None:
        if self.hangs_on_version:
            idle_for_ever()
        sys.stderr.write(self.stderr)
        print(self.said or f"Muse Code {self.version} (scripted)")

    def serve(self) -> None:
        sys.stderr.write(self.stderr)
        sys.stderr.flush()
        if self.deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.stalls:
            idle_for_ever()
        time.sleep(self.slow)
        super().serve()
        if self.deaf:
            idle_for_ever()

    def on_session_list(self, request: Json) -> None:
        params: Json = request["params"]
        time.sleep(self.page_seconds)
        at, limit = int(params.get("cursor") or 0), params["limit"]
        rows: list[Any] = [{"sessionId": f"s{number}"} for number in range(at, min(at + limit, self.stored))]
        following = str(at + limit) if at + limit < self.stored else None
        self.answer(request, sessions=rows, nextCursor=following)


class EndsAtOnce(ScriptedHost):
    """Ends before it has read anything, with words to one of its outputs and a code."""

    code = 3
    output = 2
    times = 1

    def serve(self) -> None:
        os.write(self.output, b"settings.json, line 7: what is this? TOKEN=canary-0815\n" * self.times)
        os._exit(self.code)


class DiesWhileListing(Patient):
    """Ends when it is asked for its sessions."""

    def on_session_list(self, request: Json) -> None:
        os._exit(9)


class EndsAfterHandshake(Patient):
    """Ends as soon as it has been told that the handshake is done."""

    def on_initialized(self, _notification: Json) -> None:
        os._exit(0)


class FallsSilent(Patient):
    """Answers the handshake and nothing after it; `floods` writes notifications instead."""

    floods = False

    def receive(self, frame: Json) -> None:
        if frame.get("method") == "initialize":
            return super().receive(frame)
        while self.floods:
            self.send(*[{"jsonrpc": "2.0", "method": "usage/changed", "params": {"used": "x" * 200}}] * 500)
        return None


class RefusesHandshake(ScriptedHost):
    """Wants a login before anything else."""

    def on_initialize(self, request: Json) -> None:
        self.refuse(request, "authRequired", "not logged in", code=-32011)


class LeavesADaemon(Patient):
    """Starts a program as soon as it runs that leaves its session, as servers do that go into the background."""

    def serve(self) -> None:
        quiet = subprocess.DEVNULL
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        daemon = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
        (self.directory / "daemon.pids").write_text(f"{daemon.pid}\n")
        super().serve()


class Stays(ScriptedHost):
    """Ignores the end of its input."""

    def serve(self) -> None:
        super().serve()
        idle_for_ever()
