"""What can be said of Windows without one: every module can be imported where the names that only POSIX has are
missing, what needs no host runs, and no test that runs there uses what it lacks.

It says nothing about pipes, processes and files there; for those there is a job in `.github/workflows/ci.yml`. That no
other such name is used is what `mypy --platform win32` shows in `make check`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.posix_uses import Finder
from tests.unit.conftest import POSIX_ONLY

ROOT: Final = Path(__file__).resolve().parents[2]

PRETEND: Final = """
import sys
# What others wrote is imported first: it looks for itself.
import anyio, anyio._backends._asyncio, msgspec, orjson, rich.console, rich.progress, typer
import asyncio, subprocess, sysconfig, tempfile, zoneinfo
import hypothesis, jsonschema, mypy, packaging.requirements, pytest, trio, yaml
import os, signal, time

class Missing:
    NAMES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
    def find_spec(self, name, path=None, target=None):
        if name in self.NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in Missing.NAMES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for module, names in {
    os: "fchmod fork getpgid getuid killpg mkfifo setsid set_blocking get_blocking sysconf uname waitid WNOHANG",
    signal: "SIGKILL SIGHUP SIGQUIT SIGPIPE SIGCHLD SIGUSR1 pthread_sigmask set_wakeup_fd",
    time: "CLOCK_BOOTTIME clock_gettime",
}.items():
    for name in names.split():
        delattr(module, name)
sys.platform = "win32"
"""


IMPORT: Final = "import importlib\nfor name in sys.argv[1:]: importlib.import_module(name)"


def pretending(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where the names are missing."""
    command = [sys.executable, "-c", PRETEND + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def modules() -> list[str]:
    paths = [path for package in ("adapter", "host_probe") for path in sorted((ROOT / package).rglob("*.py"))]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def test_every_module_can_be_imported() -> None:
    done = pretending(IMPORT, *modules())

    assert done.returncode == 0, done.stderr[-2000:]


def run_there() -> list[Path]:
    tests = {*(ROOT / "tests" / "unit").glob("test_*.py"), *(ROOT / "tests" / "conformance").glob("test_*.py")}

    assert set(POSIX_ONLY) < {path.name for path in tests}
    return sorted(path for path in tests if path.name not in POSIX_ONLY)


def test_every_test_that_is_run_there_can_be_imported() -> None:
    done = pretending(IMPORT, "tests.smoke", *(f"tests.{path.parent.name}.{path.stem}" for path in run_there()))
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_test_that_is_run_there_skips_itself_if_it_needs_posix() -> None:
    finder = Finder()

    assert {path.name: found for path in run_there() if (found := finder.unskipped(path))} == {}


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("def test_it(): os.mkfifo('a')", "os.mkfifo"),
        ("class TestIt:\n    def test_it(self): os.killpg(1, 9)", "os.killpg"),
        ("from signal import SIGKILL\ndef test_it(): end(SIGKILL)", "SIGKILL"),
        ("def end(): os.kill(1, signal.SIGKILL)\ndef test_it(): end()", "signal.SIGKILL"),
        ("def program(): return pty.openpty()\ndef test_it(program): pass", "pty.openpty"),
        ("from tests.wired import unread_on_pipe as unread\ndef test_it(): unread(1)", "os.set_blocking"),
        ("def test_it(path): path.write_text('#!/bin/sh')", "a script"),
        ("def test_it(): os.kill(os.getpid(), signal.SIGINT)", None),
        ("@pytest.mark.skipif(os.name != 'posix', reason='')\ndef test_it(): os.mkfifo('a')", None),
        ("pytestmark = pytest.mark.skipif(sys.platform == 'win32', reason='')\ndef test_it(): os.mkfifo('a')", None),
        ("from tests.adapter_process import running_adapter\ndef test_it(): running_adapter()", None),
    ],
)
def test_what_needs_posix_is_found_also_behind_what_is_called(tmp_path: Path, code: str, what: str | None) -> None:
    module = tmp_path / "test_it.py"
    module.write_text(code, "utf-8")

    assert [found.what for found in Finder().unskipped(module)] == ([] if what is None else [what])


@pytest.mark.parametrize("use", ["import fcntl", "import os; os.killpg", "from signal import SIGKILL"])
def test_what_is_missing_there_is_missing_here(use: str) -> None:
    assert pretending(use).returncode == 1


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["output", "--help"], ["demo", "--help"]], ids=" ".join
)
def test_what_needs_no_host_runs(arguments: list[str]) -> None:
    done = pretending("from adapter.cli.entry import main; main()", *arguments)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "muse-adapter" in done.stdout
