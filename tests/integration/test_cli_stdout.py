"""stdout that is closed, full, or a pipe nobody reads: each command ends the same way, and starts nothing in vain."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.output_command import SECONDS, Done
from tests.output_hosts import ITEM, SESSION, OutputHost, calls, stored
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and descriptors are those of POSIX")

RECORDING: Final = str(Path(__file__).parents[2] / "fixtures/hosts/1.2.1/prompt-turn")

COMMANDS: Final = {
    "--help": ["--help"],
    "--version": ["--version", "--muse", "MUSE"],
    "--show-completion": ["--show-completion", "bash"],
    "demo": ["demo"],
    "doctor": ["doctor", "--muse", "MUSE"],
    "doctor --json": ["doctor", "--json", "--muse", "MUSE"],
    "doctor --help": ["doctor", "--help"],
    "inspect": ["inspect", RECORDING],
    "inspect --frame": ["inspect", RECORDING, "--frame", "1"],
    "list": ["output", SESSION, "--muse", "MUSE"],
    "fetch": ["output", SESSION, ITEM, "--muse", "MUSE"],
    "simulate --version": ["simulate", "--version"],
    "replay --version": ["replay", RECORDING, "--version"],
}

Command = pytest.mark.parametrize("name", COMMANDS)

NOT_WRITTEN: Final = {"list": (6, "notWritten: stdout: "), "fetch": (6, "notWritten: stdout: ")}
OTHERWISE: Final = (1, "cannot write to stdout: ")


@pytest.fixture
def host(tmp_path: Path) -> Placed:
    return place(tmp_path / "muse", OutputHost, size=200_000)


def run(host: Placed, words: list[str], redirected: str) -> Done:
    """The command with its streams as a shell is told."""
    command = [sys.executable, "-m", "adapter.cli.entry", *(host.muse if word == "MUSE" else word for word in words)]
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(command)} {redirected}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        env={**os.environ, "HOME": str(host.directory), "TMPDIR": str(host.directory)},
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


def assert_told(done: Done, name: str, why: str) -> None:
    code, words = NOT_WRITTEN.get(name, OTHERWISE)
    said = [line for line in done.stderr.splitlines() if not line.startswith("simulated host")]
    assert (done.code, said) == (code, [f"muse-adapter: {words}{why}"])


@Command
@pytest.mark.parametrize("redirected", [">&-", "<&- >&-"])
def test_a_closed_stdout_is_an_error_before_anything_is_started(host: Placed, name: str, redirected: str) -> None:
    assert_told(run(host, COMMANDS[name], redirected), name, "it is closed")
    assert calls(host) == []


@Command
def test_that_nothing_can_be_told_is_told_by_the_exit_code(host: Placed, name: str) -> None:
    done = run(host, COMMANDS[name], ">&- 2>&-")

    assert (done.code, done.stderr) == (NOT_WRITTEN.get(name, OTHERWISE)[0], "")


@Command
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_stdout_is_one_line(host: Placed, name: str) -> None:
    assert_told(run(host, COMMANDS[name], ">/dev/full"), name, "No space left on device")
    assert_gone(host.pids("serve.pids"))


@Command
def test_a_pipe_that_nobody_reads_ends_it_quietly(host: Placed, name: str) -> None:
    done = run(host, COMMANDS[name], "| true; exit ${PIPESTATUS[0]}")

    said = [line for line in done.stderr.splitlines() if not line.startswith("simulated host")]
    assert (done.code, said) == (141, [])
    assert_gone(host.pids("serve.pids"))


def test_a_demo_of_which_only_the_beginning_is_read_ends_quietly(host: Placed) -> None:
    done = run(host, ["demo"], "| head -n 12; exit ${PIPESTATUS[0]}")

    assert (done.code, done.stderr) == (141, "")
    assert done.stdout.count(b"\n") == 12
    assert not [path for path in host.directory.iterdir() if path.name.startswith("muse-adapter-demo-")]


@pytest.mark.parametrize("redirected", ["2>&-", "<&-", "<&- 2>&-"])
def test_the_bytes_are_whole_whatever_else_is_closed(host: Placed, redirected: str) -> None:
    assert run(host, COMMANDS["fetch"], redirected) == Done(0, stored(200_000), "")


@pytest.mark.parametrize("redirected", [">&-", "<&- >&-", ">/dev/full"])
def test_what_goes_to_a_file_needs_no_stdout(host: Placed, tmp_path: Path, redirected: str) -> None:
    file, page = tmp_path / "file", tmp_path / "page.html"

    assert run(host, [*COMMANDS["fetch"], "-o", str(file)], redirected) == Done(0, b"", "")
    assert file.read_bytes() == stored(200_000)
    assert run(host, ["inspect", RECORDING, "--html", str(page)], redirected).code == 0
    assert page.stat().st_size > 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", [["serve", "--log-level", "debug"], ["serve", "--help=no"], ["--", "serve"]])
def test_serving_needs_both_streams(host: Placed, words: list[str], closed: str) -> None:
    assert run(host, words, closed).code == 2


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_recording_is_not_played_to_nobody(host: Placed, closed: str) -> None:
    done = run(host, ["replay", RECORDING], closed)

    assert done.code == 66
    assert "unfinished" in done.stderr and "Traceback" not in done.stderr


def test_a_pipe_that_is_not_waited_for_gets_all() -> None:
    """A program that shares it, and uses it without waiting, leaves it so."""
    program = """
import os
from adapter.cli.stdout import claim_stdout
os.set_blocking(1, False)
claim_stdout()
print("x" * 1_000_000)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        stdout, stderr = process.communicate(timeout=SECONDS)

    assert (process.returncode, len(stdout), stderr) == (0, 1_000_001, b"")
