"""`muse-adapter --version`: which versions meet here."""

from __future__ import annotations

import functools
import platform
import sys
from typing import Final

import anyio
import typer

from adapter import __version__
from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse, version_cache
from adapter.cli.options import GlobalOptions, host_choice
from adapter.cli.stop_signals import raise_when_interrupted
from adapter.hosts.select import STAND_INS
from adapter.msp.host import HostStartError
from adapter.msp.process_mark import with_mark
from host_probe import probe_version

_PROBLEMS: Final = {
    "timeout": "did not tell its version in time",
    "spawnFailed": "cannot be started",
    "unreadable": "told no version",
}


def show_versions(options: GlobalOptions) -> int:
    """Ours, at once; Python's; and that of Muse as soon as it has told, or why it did not."""
    raise_when_interrupted()
    typer.echo(f"muse-adapter {__version__}")
    typer.echo(f"Python {platform.python_version()} ({sys.executable})")
    typer.echo(_muse(host_choice(options)))
    return 0


def _muse(choice: HostChoice) -> str:
    try:
        command = resolve_muse(choice)
    except HostStartError as error:
        if not choice.muse:
            return "no Muse found"
        return f"no Muse found: {error.details if _is_stand_in(choice) else choice.muse}"
    ask = functools.partial(probe_version, command, environ=with_mark(choice.environ), cache=version_cache(choice))
    probe = anyio.run(ask)
    if probe.problem is not None:
        return f"{choice.muse or command[0]} {_PROBLEMS[probe.problem]}"
    version = probe.version.build or probe.version.release
    return f"{_kind(choice)} Muse {version}" if _is_stand_in(choice) else f"Muse {version} ({command[0]})"


def _is_stand_in(choice: HostChoice) -> bool:
    return _kind(choice) in STAND_INS


def _kind(choice: HostChoice) -> str:
    return (choice.muse or "").partition(":")[0]
