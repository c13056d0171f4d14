"""The environment that has atheris. It is not the one of the tests: where there is no wheel of it, everything else goes
on without."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DIRECTORY: Final = ROOT / ".venv-fuzz"
PYTHON: Final = DIRECTORY / "bin" / "python"
LOCK: Final = ROOT / "requirements-fuzz.lock"
_CONSTRAINTS: Final = ROOT / "requirements-dev.lock"
_READY: Final = DIRECTORY / ".ready"

INSTALL_SECONDS: Final = 600.0


class NotAvailable(Exception):
    """There is no atheris for this Python, or it cannot be had; the text says why."""


def set_up() -> Path:
    """The Python that has atheris, installed if it is not there yet.

    Raises:
        NotAvailable: it cannot be had.
    """
    wanted = f"{sys.version}\n{LOCK.read_text()}\n{_CONSTRAINTS.read_text()}"
    if PYTHON.exists() and _READY.exists() and _READY.read_text() == wanted:
        return PYTHON
    _run(sys.executable, "-m", "venv", "--clear", str(DIRECTORY))
    # Building atheris takes a clang and an hour; a wheel or nothing.
    pip = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    _run(*pip, "-c", str(_CONSTRAINTS), "-r", str(LOCK), *_at_run_time())
    _run(str(PYTHON), "-c", "import atheris")
    _READY.write_text(wanted)
    return PYTHON


def _at_run_time() -> list[str]:
    """What the adapter itself needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    dependencies: list[str] = project["dependencies"]
    return dependencies


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{command[-1]} took more than {INSTALL_SECONDS:g} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotAvailable(said[-1] if said else f"{command[0]} exited with {done.returncode}")
