"""`muse-adapter --version`: which versions meet here."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import Final

import anyio
import typer

from adapter import __version__
from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse, version_cache
from adapter.cli.interrupts import cancel_on_signal
from adapter.cli.options import GlobalOptions, host_choice
from adapter.cli.stdout import require_stdout
from adapter.cli.stop_signals import EXIT_INTERRUPTED, raise_when_interrupted
from adapter.hosts.select import STAND_INS
from adapter.msp.errors import HostStartError
from adapter.msp.process_mark import with_mark
from host_probe import Probe, probe_version

_PROBLEMS: Final = {
    "timeout": "did not tell its version in time",
    "spawnFailed": "cannot be started",
    "unreadable": "told no version",
}


def show_versions(options: GlobalOptions) -> int:
    """Ours, at once; Python's; and that of Muse as soon as it has told, or why it did not."""
    require_stdout()
    raise_when_interrupted()
    typer.echo(f"muse-adapter {__version__}")
    typer.echo(f"Python {platform.python_version()} ({sys.executable})")
    muse = _muse(host_choice(options))
    if muse is None:
        return EXIT_INTERRUPTED
    typer.echo(muse)
    return 0


def _muse(choice: HostChoice) -> str | None:
    """What there is to say of it; None if that was interrupted."""
    try:
        command = resolve_muse(choice)
    except HostStartError as error:
        if not choice.muse:
            return "no Muse found"
        return f"no Muse found: {error.details if _is_stand_in(choice) else choice.muse}"
    probe = anyio.run(_asked, command, choice)
    if probe is None:
        return None
    if probe.problem is not None:
        return f"{choice.muse or command[0]} {_PROBLEMS[probe.problem]}"
    version = probe.version.build or probe.version.release
    return f"{_kind(choice)} Muse {version}" if _is_stand_in(choice) else f"Muse {version} ({command[0]})"


async def _asked(command: Sequence[str], choice: HostChoice) -> Probe | None:
    """What Muse answers; None if that was interrupted. Nothing of what was asked runs any more."""
    probe: Probe | None = None
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as work:
            await tasks.start(cancel_on_signal, work)
            probe = await probe_version(command, environ=with_mark(choice.environ), cache=version_cache(choice))
        tasks.cancel_scope.cancel()
    return probe


def _is_stand_in(choice: HostChoice) -> bool:
    return _kind(choice) in STAND_INS


def _kind(choice: HostChoice) -> str:
    return (choice.muse or "").partition(":")[0]
