"""What builds and checks the packages, in a directory that the next run finds complete; and an environment for the
packages alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, Final

from tests.interop.commands import Done, run

LOCK: Final = "requirements-dist.lock"

PIP_SECONDS: Final = 240.0
"""How long one call of pip may take."""

BUILD_SECONDS: Final = 120.0

_SILENCE: Final = re.compile(
    r"connection broken by|Max retries exceeded|Read timed out|name resolution"
    r"|HTTP error (?:403|407|429|50\d)|(?:403|407|429|50\d) (?:Client|Server) Error"
)
"""How pip says that the registry could not be reached or did not let us in; anything else is a failure."""


class NotAvailable(Exception):
    """The package registry does not answer; the text says how."""


class SetUpFailed(Exception):
    """Something else keeps the packages from being made or installed."""


def set_up(directory: Path, root: Path) -> Path:
    """The Python that has the tools: those of an earlier run if it completed `directory`, else installed into it.

    Raises:
        NotAvailable: the package registry does not answer.
        SetUpFailed: it did, and pip failed all the same.
    """
    python, seal = python_of(directory), directory / "complete.json"
    wanted = manifest(root)
    if is_complete(seal, wanted) and python.exists():
        return python
    shutil.rmtree(directory, ignore_errors=True)
    venv.create(directory, with_pip=True)
    pip(python, "install", "-r", str(root / LOCK))
    seal.write_text(json.dumps(wanted), "utf-8")
    return python


def install_alone(directory: Path, package: Path) -> Path:
    """A new environment with a package and what it depends on, and nothing else; its directory of programs.

    Raises:
        NotAvailable: the package registry does not answer.
        SetUpFailed: it did, and pip failed all the same.
    """
    venv.create(directory, with_pip=True)
    python = python_of(directory)
    pip(python, "install", str(package))
    return python.parent


def manifest(root: Path) -> dict[str, Any]:
    """What a complete directory of tools holds."""
    return {"lock": (root / LOCK).read_text("utf-8"), "python": sys.version}


def is_complete(seal: Path, wanted: dict[str, Any]) -> bool:
    """Whether the last thing an installation writes is there and names what is wanted."""
    try:
        return bool(json.loads(seal.read_text("utf-8")) == wanted)
    except (OSError, ValueError):
        return False


def silence(pip_output: str) -> str | None:
    """The words by which pip said that it did not reach the registry, None if it failed for another reason."""
    found = _SILENCE.search(pip_output)
    return found.group() if found else None


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / "bin" / "python"


def pip(python: Path, *arguments: str) -> None:
    """Run pip.

    Raises:
        NotAvailable: the package registry does not answer.
        SetUpFailed: pip failed for another reason.
    """
    try:
        done = run_tool(python, "pip", *arguments, "--disable-pip-version-check", "--retries=1", seconds=PIP_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"pip did not finish within {PIP_SECONDS:g} s") from None
    if done.returncode != 0:
        said = f"{done.stdout}\n{done.stderr}"
        words = silence(said)
        if words is not None:
            raise NotAvailable(f"pip did not reach its registry ({words})")
        raise SetUpFailed(f"pip {' '.join(arguments)} failed: {said.strip()[-500:]}")


def run_tool(python: Path, module: str, *arguments: str, seconds: float = BUILD_SECONDS) -> Done:
    """Run a module of an environment, away from this checkout, so that it finds nothing here by being here."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return run([str(python), "-m", module, *arguments], python.parent, environ, seconds)
