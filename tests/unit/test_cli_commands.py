"""The small commands beside `serve`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import DEFAULT, PROFILES
from tests.unit.test_cli_options import muse_adapter


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


@pytest.mark.parametrize("code", [0, 7])
def test_login_runs_the_login_of_muse(tmp_path: Path, code: int) -> None:
    muse = tmp_path / "muse"
    muse.write_text(f'#!/bin/sh\necho "asked to $*"\nexit {code}\n')
    muse.chmod(muse.stat().st_mode | stat.S_IXUSR)

    done = muse_adapter("--muse", str(muse), "login")

    assert done.returncode == code
    assert done.stdout == "asked to login\n"


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
