"""Node and what is written for it, installed from npm into a directory that the next run finds complete."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.interop.commands import Done, run

NODE_PACKAGE: Final = "node@22"
"""acpx needs Node 22.13; under an older one npm quietly installs an older acpx (`acp.md §22`)."""

CLIENT_PACKAGES: Final = ("acpx@0.19.1", "@agentclientprotocol/sdk@2.4.0")

NPM_SECONDS: Final = 240.0
"""How long one call of npm may take; Node is 45 MB to fetch."""

_NPM_OPTIONS: Final = ("--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=30000", "--loglevel=error")

_SILENCE: Final = re.compile(
    r"\b(EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT"
    r"|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE"
    r"|FETCH_ERROR|ENOTCACHED|E401|E403|E407|E429|E502|E503|E504)\b"
)
"""How npm says that the registry could not be reached or did not let us in; anything else is a failure."""


class Toolchain(NamedTuple):
    """Where everything is."""

    node: Path
    acpx: Path
    modules: Path
    """The directory in which Node looks for packages."""


class NotAvailable(Exception):
    """npm is not there or does not answer, so there is nothing to run; the text says why."""


class SetUpFailed(Exception):
    """npm answered and the set-up failed all the same."""


def set_up(directory: Path) -> Toolchain:
    """Install into `directory`, or take what an earlier run completed there.

    Raises:
        NotAvailable: there is no npm, or no registry behind it.
        SetUpFailed: npm said something else, or what it installed does not run.
    """
    toolchain = Toolchain(
        directory / "node" / "bin" / "node",
        directory / "clients" / "node_modules" / ".bin" / "acpx",
        directory / "clients" / "node_modules",
    )
    seal = directory / "complete.json"
    wanted = manifest()
    if is_complete(seal, wanted) and all(path.exists() for path in toolchain):
        return toolchain
    if shutil.which("npm") is None:
        raise NotAvailable("npm is not installed")
    shutil.rmtree(directory, ignore_errors=True)
    install_node(directory / "node", toolchain.node)
    npm(directory / "clients", toolchain.node.parent, "install", "--ignore-scripts", *CLIENT_PACKAGES)
    version = _run([str(toolchain.acpx), "--version"], directory, toolchain.node.parent)
    if f"acpx@{version.stdout.strip()}" not in CLIENT_PACKAGES:
        raise SetUpFailed(f"acpx calls itself {version.stdout.strip()!r} {version.stderr.strip()}")
    seal.write_text(json.dumps(wanted))
    return toolchain


def manifest() -> dict[str, Any]:
    """What a complete directory holds."""
    return {"packages": [NODE_PACKAGE, *CLIENT_PACKAGES], "machine": f"{platform.system()} {platform.machine()}"}


def is_complete(seal: Path, wanted: dict[str, Any]) -> bool:
    """Whether the last thing an installation writes is there and names what is wanted."""
    try:
        return bool(json.loads(seal.read_text()) == wanted)
    except (OSError, ValueError):
        return False


def silence(npm_output: str) -> str | None:
    """The word by which npm said that it did not reach the registry, None if it failed for another reason."""
    found = _SILENCE.search(npm_output)
    return found.group() if found else None


def install_node(directory: Path, executable: Path) -> None:
    """Install Node into a new directory. The package only links to a binary of another package, so the binary is copied
    out of it.

    Raises:
        NotAvailable: there is no registry behind npm.
        SetUpFailed: npm said something else.
    """
    npm(directory, None, "install", "--no-save", NODE_PACKAGE)
    executable.parent.mkdir(parents=True)
    shutil.copy(directory / "node_modules" / "node" / "bin" / "node", executable)
    shutil.rmtree(directory / "node_modules")


def npm(directory: Path, node_bin: Path | None, *arguments: str) -> None:
    """Run npm in a new directory, with the Node in `node_bin` if one is given.

    Raises:
        NotAvailable: there is no registry behind it.
        SetUpFailed: it said something else.
    """
    directory.mkdir(parents=True)
    (directory / "package.json").write_text('{"private": true}')
    try:
        done = _run(["npm", *arguments, *_NPM_OPTIONS], directory, node_bin)
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"npm did not finish within {NPM_SECONDS:g} s") from None
    if done.returncode != 0:
        said = f"{done.stdout}\n{done.stderr}"
        word = silence(said)
        if word is not None:
            raise NotAvailable(f"npm did not reach its registry ({word})")
        raise SetUpFailed(f"npm {' '.join(arguments)} failed: {said.strip()[-500:]}")


def _run(command: list[str], directory: Path, node_bin: Path | None) -> Done:
    path = os.environ["PATH"] if node_bin is None else f"{node_bin}{os.pathsep}{os.environ['PATH']}"
    return run(command, directory, os.environ | {"PATH": path}, NPM_SECONDS)
