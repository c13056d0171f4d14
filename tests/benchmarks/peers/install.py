"""Adapters of other agents, installed at fixed versions to be measured beside this one.

- `claude-agent-acp` (npm): TypeScript on the Claude Agent SDK. The native CLI behind that is left out: `initialize`
  does not wait for it, and without it nothing can call anybody.
- `pi-acp` (npm): TypeScript, in front of `pi --mode rpc`.
- `codex-acp` (npm): a few lines for Node that start a Rust binary. Both are measured; the binary alone is listed as
  `codex-acp (binary)`.
- `zcode-acp` (PyPI): one module of Python without dependencies, in front of the engine of a desktop application.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.dist import toolchain as pypi
from tests.interop import toolchain as npm

NOWHERE: Final = "http://127.0.0.1:9"
"""A proxy that is not there, for those that would go through one."""


class PeerAdapter(NamedTuple):
    """An adapter and how it is started, or why it is not installed."""

    name: str
    version: str
    command: tuple[str, ...] | None
    environ: dict[str, str]
    """What it needs beside a home."""

    reason: str = ""


class NpmPeer(NamedTuple):
    """A package of npm whose program Node runs."""

    name: str
    package: str
    version: str
    program: str
    """In the directory of the package."""

    options: tuple[str, ...]
    environ: dict[str, str]


NPM_PEERS: Final = (
    NpmPeer(
        "claude-agent-acp",
        "@agentclientprotocol/claude-agent-acp",
        "0.101.0",
        "dist/index.js",
        ("--omit=optional",),
        {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        },
    ),
    # It asks npm for a newer pi if there is a `pi` on PATH, which there is not.
    NpmPeer("pi-acp", "pi-acp", "0.0.34", "dist/index.js", (), {"npm_config_offline": "true"}),
    NpmPeer("codex-acp", "@zed-industries/codex-acp", "0.16.0", "bin/codex-acp.js", (), {}),
)
CODEX_BINARIES: Final = "node_modules/@zed-industries/codex-acp-*/bin/codex-acp"
"""Npm installs the one for this system."""

ZCODE: Final = ("zcode-acp", "0.9.1")
"""It asks for subscriptions if somebody is logged in, which nobody is in a home of its own."""


def peers(folder: Path) -> list[PeerAdapter]:
    """All of them, installed into `folder` unless an earlier run did; one that cannot be has a reason."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    node = folder / "node" / "bin" / "node"
    reason = _once(folder / "node", npm.NODE_PACKAGE, lambda directory: _install_node(directory, node))
    found = [peer for wanted in NPM_PEERS for peer in _from_npm(folder, wanted, node, reason)]
    return [*found, _from_pypi(folder, *ZCODE)]


def _from_npm(folder: Path, wanted: NpmPeer, node: Path, reason: str) -> Iterator[PeerAdapter]:
    package, directory = f"{wanted.package}@{wanted.version}", folder / wanted.name

    def install(new: Path) -> None:
        npm.npm(new, node.parent, "install", "--ignore-scripts", *wanted.options, package)

    reason = reason or _once(directory, package, install)
    environ = _environ(node.parent) | wanted.environ
    program = directory / "node_modules" / wanted.package / wanted.program
    yield _peer(wanted.name, wanted.version, (str(node), str(program)), environ, reason)
    if wanted.name == "codex-acp":
        binaries = sorted(directory.glob(CODEX_BINARIES))
        reason = reason or ("" if binaries else "there is no binary of it for this system")
        yield _peer("codex-acp (binary)", wanted.version, tuple(map(str, binaries[:1])), environ, reason)


def _from_pypi(folder: Path, name: str, version: str) -> PeerAdapter:
    directory = folder / name

    def install(new: Path) -> None:
        venv.create(new)
        pypi.pip(Path(sys.executable), "--python", str(pypi.python_of(new)), "install", f"{name}=={version}")

    reason = _once(directory, f"{name}=={version}", install)
    program = pypi.python_of(directory).with_name(name)
    return _peer(name, version, (str(program),), _environ(program.parent), reason)


def _install_node(directory: Path, executable: Path) -> None:
    if shutil.which("npm") is None:
        raise npm.NotAvailable("npm is not installed")
    npm.install_node(directory, executable)


def _once(directory: Path, package: str, install: Callable[[Path], None]) -> str:
    """Install into a new directory unless it is complete already; the reason if that cannot be done."""
    wanted = _manifest(package)
    seal = directory / "complete.json"
    if npm.is_complete(seal, wanted):
        return ""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        install(directory)
        seal.write_text(json.dumps(wanted))
    except (npm.NotAvailable, npm.SetUpFailed, pypi.NotAvailable, pypi.SetUpFailed) as error:
        return str(error)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{package} could not be installed: {error}"
    return ""


def _manifest(package: str) -> dict[str, Any]:
    return {"packages": [package], "machine": f"{platform.system()} {platform.machine()}", "python": sys.version}


def _environ(programs: Path) -> dict[str, str]:
    """A path without what else is installed here, and no way to the network for those that ask for one."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE)
    return {"PATH": f"{programs}{os.pathsep}{os.defpath}", **proxies}


def _peer(name: str, version: str, command: tuple[str, ...], environ: dict[str, str], reason: str) -> PeerAdapter:
    return PeerAdapter(name, version, None if reason else command, environ, reason)
