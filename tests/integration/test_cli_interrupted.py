"""Ctrl-C on a command: exit code 130 and not a word, whatever it was doing."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from adapter.cli.options import COMMANDS
from adapter.cli.stop_signals import EXIT_INTERRUPTED
from tests.output_command import SECONDS
from tests.output_hosts import SESSION, DeafHost
from tests.processes import assert_gone, descendants, wait_until
from tests.scripted_hosts import place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the signals are those of POSIX")

INTERRUPTING: Final = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

from adapter.cli.entry import main
sys.meta_path.insert(0, Interrupting())
main()
"""
"""The program, with a Ctrl-C at the moment in which a module is about to be imported."""

ARGUMENTS: Final = {"output": [SESSION], "record": ["out", "--help"], "replay": ["dir"], "inspect": ["dir"]}
"""What follows a command, if anything has to, so that it is looked for in all that there is."""


def interrupted_at(module: str, *argv: str, home: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTING.format(module=module), *argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        cwd=home,
        env=os.environ | {"HOME": str(home), "TMPDIR": str(home)},
    )


def assert_quiet(done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_INTERRUPTED, b"", b"")


@pytest.mark.parametrize("module", ["adapter.msp.budgets", "typer", "adapter.cli.commands.global_options"])
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve"}))
def test_while_a_command_is_looked_for(tmp_path: Path, command: str, module: str) -> None:
    assert_quiet(interrupted_at(module, command, *ARGUMENTS.get(command, []), home=tmp_path))


@pytest.mark.parametrize(
    ("argv", "module"),
    [
        (["output", SESSION], "adapter.cli.output"),
        (["output", SESSION], "rich.progress"),
        (["demo"], "adapter.cli.demo"),
        (["demo"], "adapter.hosts.simulated.outputs"),
        (["login"], "adapter.cli.login_run"),
        (["simulate", "serve"], "adapter.hosts.simulated.__main__"),
        (["simulate", "serve"], "adapter.hosts.simulated.host"),
        (["--version"], "adapter.cli.versions"),
        (["--help"], "typer"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_while_what_does_the_work_is_imported(tmp_path: Path, argv: list[str], module: str) -> None:
    assert_quiet(interrupted_at(module, *argv, home=tmp_path))
    assert list(tmp_path.iterdir()) == []


def start(*argv: str, home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"HOME": str(home), "TMPDIR": str(home)},
    )


def end(process: subprocess.Popen[bytes], signum: signal.Signals = signal.SIGINT) -> tuple[int, bytes, bytes]:
    process.send_signal(signum)
    stdout, stderr = process.communicate(timeout=SECONDS)
    return process.returncode, stdout, stderr


def test_while_the_host_of_a_read_starts(tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", DeafHost)
    process = start("--muse", placed.muse, "output", SESSION, home=tmp_path)
    wait_until(lambda: bool(placed.pids("serve.pids")))

    assert end(process) == (EXIT_INTERRUPTED, b"", b"")
    assert_gone(placed.pids("serve.pids"))


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_while_a_muse_is_asked_for_its_version(tmp_path: Path, signum: signal.Signals) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/bin/sh\nsleep 60\ntrue\n")
    muse.chmod(0o700)
    process = start("--version", "--muse", str(muse), home=tmp_path)
    wait_until(lambda: len(descendants(process.pid)) > 1)
    asked = [entry.pid for entry in descendants(process.pid)]

    code, _, stderr = end(process, signum)

    assert (code, stderr) == (EXIT_INTERRUPTED, b"")
    assert_gone(asked)


def test_while_a_host_is_simulated(tmp_path: Path) -> None:
    process = start("simulate", "serve", home=tmp_path)
    assert process.stderr is not None
    assert b"simulated" in process.stderr.readline()

    assert end(process) == (EXIT_INTERRUPTED, b"", b"")


def test_while_a_demo_runs_leaves_no_files(tmp_path: Path) -> None:
    process = start("demo", home=tmp_path)
    assert process.stdout is not None
    line = b""
    while b"session/new" not in line:
        line = process.stdout.readline()
    below = [entry.pid for entry in descendants(process.pid)]

    code, _, stderr = end(process)

    assert (code, stderr) == (EXIT_INTERRUPTED, b"")
    assert_gone(below)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("muse-adapter-demo-")]


IN_A_TERMINAL: Final = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated", "login"])
"""


def test_while_somebody_logs_in_on_a_terminal(tmp_path: Path) -> None:
    """Ctrl-C reaches the login as well, which shows nothing of what it is made of."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_TERMINAL],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    os.close(theirs)
    shown = b""
    while b"press Enter" not in shown:
        shown += os.read(ours, 1024)
    os.write(ours, b"\x03")
    with contextlib.suppress(OSError):
        while data := os.read(ours, 1024):
            shown += data
    os.close(ours)

    assert process.wait(SECONDS) == EXIT_INTERRUPTED
    assert shown.decode().splitlines() == ["muse: simulated login, nothing is sent anywhere; press Enter ^C"]
