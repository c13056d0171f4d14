"""acpx, a headless ACP client nobody here wrote, set upon the adapter in a home directory of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests.interop.checks import expect
from tests.interop.commands import Done, run, started
from tests.interop.toolchain import Toolchain
from tests.interop.transcript import Transcript

Json = dict[str, Any]

COMMAND_SECONDS: Final = 30.0
"""How long one command of acpx may take; the slowest takes about four."""

QUIET_SECONDS: Final = 15.0
"""How long what runs in the background may take to end: acpx gives an agent 1.6 s (`acp.md §1`)."""

OWNER_TTL: Final = "60"
"""Seconds after which acpx ends an idle process of its own in the background, whatever becomes of us."""

POLL_SECONDS: Final = 0.05

SAID_CHARS: Final = 500
"""How much of what a command said is told when it fails."""


class Acpx:
    """Commands of acpx with the adapter as its agent. `home` and `workspace` are directories that belong to it."""

    def __init__(self, toolchain: Toolchain, adapter: list[str], home: Path, workspace: Path) -> None:
        self.home = home
        self.workspace = workspace
        self._command = [str(toolchain.acpx), "--agent", shlex.join(adapter), "--ttl", OWNER_TTL]
        self.env = isolated_environment(home, toolchain.node.parent)
        self._socket_directories: set[Path] = set()

    def run(self, *arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Done:
        """One command, with text for a person as its output."""
        return run([*self._command, *arguments], self.workspace, self.env | (env or {}), COMMAND_SECONDS, stdin)

    def converse(self, *arguments: str, code: int = 0, env: dict[str, str] | None = None) -> Transcript:
        """One command in strict JSON mode, which must exit with `code`: the frames both sides sent, and nothing else
        on either stream."""
        done = self.run("--format", "json", "--json-strict", *arguments, env=env)
        expect_code(done, code)
        expect(done.stderr == "", f"stderr is not empty: {done.stderr[-500:]}")
        transcript = Transcript.read(done.stdout)
        expect(not transcript.open_requests(), f"without an answer: {transcript.open_requests()}")
        return transcript

    def ask(self, *arguments: str) -> Json:
        """One command about acpx itself, and the object it answers with."""
        done = self.run("--format", "json", "--json-strict", *arguments)
        expect_code(done)
        answer: Json = json.loads(done.stdout)
        return answer

    @contextmanager
    def session(self, name: str) -> Iterator[str]:
        """A persistent session, closed at the end; gives the name again."""
        done = self.run("sessions", "new", "--name", name)
        expect_code(done)
        with ExitStack() as closing:
            closing.callback(self.run, "sessions", "close", name)
            closing.callback(self._note_sockets)
            yield name

    @contextmanager
    def prompting(self, *arguments: str) -> Iterator[Prompting]:
        """A prompt in strict JSON mode that runs beside what follows."""
        path = self.home / "prompt.ndjson"
        command = [*self._command, "--format", "json", "--json-strict", *arguments]
        with path.open("w") as stdout, started(command, self.workspace, self.env, stdout) as process:
            yield Prompting(process, path)

    def processes(self) -> list[int]:
        """Process ids of all that runs for this home directory. Where there is no /proc, none are known."""
        mark = f"HOME={self.home}".encode()
        return [pid for pid, environ in _environments() if mark in environ.split(b"\0")]

    def wait_quiet(self) -> None:
        """Wait until nothing runs for this home directory any more."""
        wait_until(lambda: not self.processes(), QUIET_SECONDS, lambda: f"still running: {self.processes()}")

    def end(self) -> None:
        """End whatever is left, and take away the directories acpx makes elsewhere for its sockets."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for directory in self._socket_directories:
            with suppress(OSError):
                directory.rmdir()

    def _note_sockets(self) -> None:
        for lock in self.home.glob(".acpx/queues/*.lock"):
            with suppress(OSError, ValueError):
                self._socket_directories.add(Path(json.loads(lock.read_text())["socketPath"]).parent)


class Prompting:
    """A prompt that is running."""

    def __init__(self, process: subprocess.Popen[str], path: Path) -> None:
        self._process = process
        self._path = path

    def wait_for(self, text: str) -> None:
        """Wait until acpx has printed this."""
        wait_until(lambda: text in self._path.read_text(), COMMAND_SECONDS, lambda: f"never printed: {text}")

    def finish(self) -> tuple[int, Transcript]:
        """How it ended, and what was said."""
        self._process.communicate(timeout=COMMAND_SECONDS)
        return self._process.returncode, Transcript.read(self._path.read_text())


def expect_code(done: Done, code: int = 0) -> None:
    """Raise AssertionError with the last of what it said if a command exited with another code."""
    said = (done.stderr.strip() or done.stdout.strip())[-SAID_CHARS:]
    expect(done.returncode == code, f"exit code {done.returncode}, not {code}: {said}")


def isolated_environment(home: Path, node_bin: Path) -> dict[str, str]:
    """Ours, without what would steer the adapter or acpx, with Node first on the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_", "ACPX_"))}
    return kept | {"HOME": str(home), "PATH": f"{node_bin}{os.pathsep}{os.environ['PATH']}"}


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: Callable[[], str]) -> None:
    """Wait for something that nobody tells."""
    deadline = time.monotonic() + seconds
    while not holds():
        expect(time.monotonic() < deadline, otherwise())
        time.sleep(POLL_SECONDS)


def _environments() -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            yield int(path.parent.name), path.read_bytes()
