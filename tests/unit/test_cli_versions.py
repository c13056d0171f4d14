"""`muse-adapter --version`."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from adapter import __version__
from adapter.hosts.simulated.profiles import PROFILES
from host_probe.probe import VERSION_TIMEOUT
from tests.unit.test_cli_commands import script
from tests.unit.test_cli_options import muse_adapter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stand-ins that are scripts")


def versions(*argv: str, home: Path, **environ: str) -> list[str]:
    """The lines of a home of its own, where nothing goes wrong."""
    done = muse_adapter(*argv, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"), **environ)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("argv", [["--version"], ["serve", "--version"], ["--version", "demo"]], ids=" ".join)
def test_ours_comes_first_then_that_of_python_then_that_of_muse(tmp_path: Path, argv: list[str]) -> None:
    muse = script(tmp_path, "echo 'Muse Code 1.2.1 (1.2.1-R2847.1)'")

    assert versions(*argv, home=tmp_path, MUSE_EXECUTABLE=str(muse)) == [
        f"muse-adapter {__version__}",
        f"Python {platform.python_version()} ({sys.executable})",
        f"Muse 1.2.1-R2847.1 ({muse})",
    ]


def test_a_muse_is_asked_once(tmp_path: Path) -> None:
    muse = script(tmp_path, "echo asked >> \"$0.log\"; echo 'Muse Code 1.3.0'")
    first, second = (versions("--version", "--muse", str(muse), home=tmp_path) for _ in range(2))

    assert first == second
    assert first[2] == f"Muse 1.3.0 ({muse})"
    assert (tmp_path / "muse.log").read_text() == "asked\n"


@pytest.mark.parametrize("argv", [["--muse", "simulated:1.3.0", "--version"], ["--version", "--muse=simulated:1.3.0"]])
def test_a_stand_in_says_that_it_is_one(tmp_path: Path, argv: list[str]) -> None:
    assert versions(*argv, home=tmp_path)[2] == f"simulated Muse {PROFILES['1.3.0'].build}"


def test_without_muse_there_is_none(tmp_path: Path) -> None:
    lines = versions("--version", home=tmp_path, PATH=str(tmp_path), MUSE_EXECUTABLE=str(tmp_path / "muse"))

    assert lines[0] == f"muse-adapter {__version__}"
    assert lines[2] == "no Muse found"


def test_a_muse_that_is_named_and_not_there_is_named(tmp_path: Path) -> None:
    assert "9.9.9" in versions("--muse", "simulated:9.9.9", "--version", home=tmp_path)[2]
    assert versions("--muse", "simulated:", "--version", home=tmp_path)[2].endswith("must follow 'simulated:'")
    assert versions("--muse", "/no/muse", "--version", home=tmp_path)[2] == "no Muse found: /no/muse"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#!/bin/sh\necho hello\n", "told no version"),
        ("#!/no/such/interpreter\n", "cannot be started"),
        (f"#!/bin/sh\nsleep {VERSION_TIMEOUT * 4:g}\n", "did not tell its version in time"),
    ],
)
def test_a_muse_that_tells_no_version_is_no_failure(tmp_path: Path, text: str, problem: str) -> None:
    muse = tmp_path / "muse"
    muse.write_text(text)
    muse.chmod(0o700)

    lines = versions("--muse", str(muse), "--version", home=tmp_path)

    assert lines[0] == f"muse-adapter {__version__}"
    assert lines[2] == f"{muse} {problem}"
