"""What can be said of Windows without one: every module can be imported where the names that only POSIX has are
missing, and what needs no host runs.

It says nothing about pipes, processes and files there; for those there is a job in `.github/workflows/ci.yml`. That no
other such name is used is what `mypy --platform win32` shows in `make check`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

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


def test_every_test_that_is_run_there_can_be_imported() -> None:
    tests = {*(ROOT / "tests" / "unit").glob("test_*.py"), *(ROOT / "tests" / "conformance").glob("test_*.py")}

    assert set(POSIX_ONLY) < {path.name for path in tests}
    run = sorted(path for path in tests if path.name not in POSIX_ONLY)
    done = pretending(IMPORT, *(f"tests.{path.parent.name}.{path.stem}" for path in run))
    assert done.returncode == 0, done.stderr[-2000:]


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
