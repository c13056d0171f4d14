"""Hosts that are odd before the first session: in their version, their start, or what they announce."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.scripted_hosts import Json, ScriptedHost, idle_for_ever


class ShowsItsSurroundings(ScriptedHost):
    """Writes down its environment and its open descriptors."""

    def serve(self) -> None:
        (self.directory / "environment").write_text(json.dumps(dict(os.environ)))
        descriptors = {path.name: target(path) for path in Path("/proc/self/fd").iterdir()}
        (self.directory / "descriptors").write_text(json.dumps({fd: what for fd, what in descriptors.items() if what}))
        super().serve()


def target(link: Path) -> str | None:
    """What a link points to; None if it is gone."""
    try:
        return str(link.readlink())
    except OSError:
        return None


class OddVersion(ScriptedHost):
    """Answers `--version` in a way of its own."""

    says = ""
    complains = ""
    code = 0
    bytes = 0
    hangs = False
    leaves_child = False

    def show_version(self) -> None:
        if self.leaves_child:
            child = subprocess.Popen(["sleep", "600"])
            with (self.directory / "child.pids").open("a") as pids:
                pids.write(f"{child.pid}\n")
        sys.stderr.write(self.complains)
        sys.stderr.flush()
        sys.stdout.write(self.says + "x" * self.bytes)
        sys.stdout.flush()
        if self.hangs:
            idle_for_ever()
        os._exit(self.code)


class FromTheFuture(ScriptedHost):
    """Version 99: more members everywhere, new events, and nothing that is optional."""

    version = "99.1.0"

    def send(self, *frames: Json) -> None:
        super().send(*(self.newer(frame) for frame in frames))

    def newer(self, value: Any) -> Any:
        """`value` with a member more in each object."""
        if isinstance(value, dict):
            return {name: self.newer(member) for name, member in value.items()} | {"aura": {"hue": 3}}
        return [self.newer(member) for member in value] if isinstance(value, list) else value

    def on_initialize(self, request: Json) -> None:
        self.answer(request, serverInfo={"name": "scripted-host", "version": self.version})

    def on_session_start(self, request: Json) -> None:
        self.answer(request, session={"sessionId": "ses-future"})

    def turn(self, session_id: str, turn_id: str) -> None:
        self.event("item/sparkle", session_id, item={"itemId": "i0"})
        self.event("item/started", session_id, item={"itemId": "i1", "kind": "agentMessage", "turnId": turn_id})
        self.delta(session_id, "i1", "from the future")
        self.event("item/completed", session_id, item={"itemId": "i1", "kind": "agentMessage", "turnId": turn_id})
        self.event("item/completed", session_id, item={"itemId": "i2", "kind": "mural", "status": "simmering"})
        self.event("turn/completed", session_id, turnId=turn_id)


class SlowToStart(ScriptedHost):
    """Reads nothing while the file `gate` is there."""

    gate = ""

    def serve(self) -> None:
        while Path(self.gate).exists():
            time.sleep(0.02)
        super().serve()
