"""The small commands beside `serve`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import DEFAULT, PROFILES
from tests.unit.test_cli_options import muse_adapter


def script(directory: Path, text: str) -> Path:
    """A program in the place of Muse."""
    muse = directory / "muse"
    muse.write_text(f"#!/bin/sh\n{text}\n")
    muse.chmod(0o700)
    return muse


def test_simulate_speaks_as_the_muse_executable() -> None:
    done = muse_adapter("simulate", "--version")

    assert done.returncode == 0
    assert done.stdout == f"Muse Code {DEFAULT} ({PROFILES[DEFAULT].build})\n"
    assert "simulated" in done.stderr


def test_simulate_hands_its_help_and_its_exit_code_on() -> None:
    helped, wrong = muse_adapter("simulate", "serve", "--help"), muse_adapter("simulate", "serve", "--nonsense")

    assert helped.returncode == 0
    assert "--disable-write" in helped.stdout
    assert wrong.returncode == 2
    assert "--nonsense" in wrong.stderr


@pytest.mark.acp(39)
@pytest.mark.parametrize("code", [0, 7])
def test_login_runs_the_login_of_muse(tmp_path: Path, code: int) -> None:
    muse = script(tmp_path, f'echo "asked to $*"\nexit {code}')

    done = muse_adapter("--muse", str(muse), "login")

    assert done.returncode == code
    assert done.stdout == "asked to login\n"


@pytest.mark.acp(39)
@pytest.mark.parametrize("argv", [["--muse", "{muse}", "serve", "login"], ["login", "--muse", "{muse}", "serve"]])
def test_login_added_to_the_arguments_an_editor_serves_with_runs_the_login_of_that_muse(
    tmp_path: Path, argv: list[str]
) -> None:
    muse = script(tmp_path, 'echo "asked to $*"')

    done = muse_adapter(*(word.format(muse=muse) for word in argv))

    assert (done.returncode, done.stdout) == (0, "asked to login\n")


@pytest.mark.acp(39)
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_login_that_is_stopped_ends_with_the_code_of_a_signal_and_leaves_nothing(tmp_path: Path, signum: int) -> None:
    muse = script(tmp_path, 'echo "waiting $$"; exec sleep 60')
    process = subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", "--muse", str(muse), "login"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        child = int(process.stdout.readline().split()[1])
        process.send_signal(signum)
        assert process.wait(20) == 128 + signum
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.acp(39)
def test_a_muse_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/no/such/interpreter\n")
    muse.chmod(0o700)

    done = muse_adapter("--muse", str(muse), "login")

    assert done.returncode == 1
    assert str(muse) in done.stderr and "Traceback" not in done.stderr


def test_login_without_muse_says_what_was_tried(tmp_path: Path) -> None:
    missing = str(tmp_path / "no" / "muse")

    done = muse_adapter("--muse", missing, "login")

    assert done.returncode == 1
    assert missing in done.stderr
    assert "--muse simulated" in done.stderr


def test_a_version_that_cannot_be_simulated_is_named_with_those_that_can() -> None:
    done = muse_adapter("--muse", "simulated:9.9.9", "login")

    assert done.returncode == 1
    assert "9.9.9" in done.stderr
    assert all(version in done.stderr for version in PROFILES)
