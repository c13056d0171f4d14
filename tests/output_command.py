"""`muse-adapter output` as a process, with a home that holds a stored session."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.adapter_process import running_adapter

SECONDS: Final = 60.0
"""How long a run may take; far more than any does, so that only a hang meets it."""

LONG: Final = 2_500_000
"""Bytes of an output of three pieces; too long for a digest."""

MIDDLE: Final = 13
"""An offset inside a character of the simulated host's text: its first line is `000000000 Grüße …`."""


class Done(NamedTuple):
    """How a run ended."""

    code: int
    stdout: bytes
    stderr: str


class Store:
    """A home with a stored session of several outputs; `table` is the list of them, without its head."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with running_adapter(home) as adapter:
            adapter.initialize()
            self.session_id = adapter.new_session(home)
            for text in ("shell 20000", "shell binary 20000", f"shell {LONG}", "edit", "shell 0", "shell 5 missing"):
                adapter.prompt(self.session_id, text)
            adapter.finish()
        head, *lines = self.run("output", self.session_id).stdout.decode().splitlines()
        self.head = head.split("\t")
        self.table = [line.split("\t") for line in lines]
        self.text, self.binary, self.long, self.patch, self.empty, self.missing = (row[0] for row in self.table)

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
        return {**kept, "HOME": str(self.home), "TERM": "xterm", **more}

    def run(self, *arguments: str, muse: str = "simulated", **environ: str) -> Done:
        return ended(start("--muse", muse, *arguments, environ=self.environ(**environ)))

    def read(self, item_id: str, *arguments: str, **environ: str) -> Done:
        return self.run("output", self.session_id, item_id, *arguments, **environ)


def start(*arguments: str, environ: dict[str, str], **streams: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", *arguments],
        stdin=subprocess.DEVNULL,
        env=environ,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def ended(process: subprocess.Popen[bytes]) -> Done:
    try:
        stdout, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, stdout or b"", (stderr or b"").decode())


def reason(done: Done) -> str:
    """The word on stderr, which must be one line."""
    assert done.stderr.startswith("muse-adapter: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.split(": ")[1]


def simulated(recipe: str, size: int) -> bytes:
    return stored_bytes(new_output("i", recipe, size), 0, size)


TEXT: Final = simulated("lines", 20_000)


def on_terminal(store: Store, *arguments: str, stdout: int | None = None) -> tuple[int, str]:
    """Run with a terminal as stderr and, unless told otherwise, as stdout; gives the exit code and what was shown."""
    ours, theirs = pty.openpty()
    streams = {"stdout": theirs if stdout is None else stdout, "stderr": theirs}
    process = start("--muse", "simulated", *arguments, environ=store.environ(), **streams)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    return process.wait(SECONDS), shown.decode()
