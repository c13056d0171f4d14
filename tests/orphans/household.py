"""A host with a household: what it starts in a turn, and for its version, is what stays behind where nobody looks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Final

from tests.output_hosts import OutputHost
from tests.scripted_hosts import Json, idle_for_ever

TOOLS: Final = {
    "plain": "exec sleep 600",
    "stubborn": "trap '' TERM HUP INT; sleep 600; true",
    "elsewhere": "exec setsid sleep 600",
    "stubborn elsewhere": "trap '' TERM HUP INT; exec setsid sleep 600",
    "disowned": "(trap '' TERM HUP INT; exec setsid sleep 600) & exit 0",
    "cleared": "env -i sleep 600; true",
    "cleared and disowned": "env -i sleep 600 & exit 0",
    "cleared in a group": "exec env -i sleep 600",
}
"""What a turn runs, by its name. The last three have nothing in their environment that tells whose they are."""

GROUPS: Final = {"cleared in a group"}
"""Those of them that lead one, in the session of the host."""

SESSIONS: Final = {"elsewhere", "stubborn elsewhere", "disowned"}
"""Those of them that lead one. From a host that has cleared its environment, nothing would show whose they are once it
has ended by itself."""

KEPT: Final = ("PATH", "HOME", "LC_CTYPE")
"""Variables that a bare host keeps; Python would set the last one anew."""

VERSION_SECONDS: Final = 0.4


class Household(OutputHost):
    """Its turns run all tools and do not end. With `deaf` it stays when its input ends, with `stubborn` also when it is
    asked to end, with `bare` it clears its environment first. As the read host it never finds what it is asked for."""

    bare = False
    deaf = False
    stubborn = False
    silent = ("session/read",)

    def show_version(self) -> None:
        """Slowly, and something stays behind."""
        self.run("plain", "stubborn elsewhere")
        time.sleep(VERSION_SECONDS)
        super().show_version()
        sys.stdout.flush()
        os._exit(0)

    def serve(self) -> None:
        if self.bare and len(os.environ) > len(KEPT):
            os.execve(sys.executable, sys.orig_argv, {name: os.environ.get(name, "C.UTF-8") for name in KEPT})
        if self.stubborn:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().serve()
        if self.deaf:
            idle_for_ever()
        os._exit(0)

    def turn(self, session_id: str, turn_id: str) -> None:
        self.run(*(name for name in TOOLS if not (self.bare and name in SESSIONS)))
        self.open_shell(session_id, turn_id)
        self.message(session_id, turn_id, "at work")

    def on_turn_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        self.complete(params["sessionId"], params["turnId"], "cancelled")

    def run(self, *names: str) -> None:
        quiet = subprocess.DEVNULL
        for name in names:
            group = 0 if name in GROUPS else None
            command = ["/bin/sh", "-c", TOOLS[name]]
            subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, process_group=group)
