"""`muse-adapter doctor`, from what was asked for to the exit code."""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import typer
from rich.console import Console

from adapter import __version__
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.cli.doctor.client_profiles import PROFILES, ClientProfile
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.negotiation import offers
from adapter.cli.doctor.read_walk import walk
from adapter.cli.doctor.report import Report
from adapter.cli.doctor.screen import shown
from adapter.cli.doctor.support import Bundle, announcement, write
from adapter.cli.doctor.survey import survey
from adapter.cli.doctor.trial import READY_SECONDS
from adapter.cli.interrupts import cancel_on_signal
from adapter.cli.stdout import require_stdout
from adapter.cli.stop_signals import EXIT_INTERRUPTED
from adapter.wire.background import Background

log = logging.getLogger("adapter.doctor")

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
"""A check failed, or the report could not be written."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, and how to tell it."""

    as_json: bool = False
    wait: float = READY_SECONDS
    """Seconds a host may take to become ready."""
    profiles: tuple[ClientProfile, ...] = PROFILES
    read: tuple[str, str] | None = None
    """A session and an item of it, to be read step by step."""
    bundle: bool = False
    """Whether a file is written to go with a report of a fault."""
    file: Path | None = None
    """Where that goes, if not to a name of its own."""
    options: Mapping[str, Any] = {}
    """The global options by their names, for the bundle."""


class _Told(msgspec.Struct, frozen=True):
    report: Report
    facts: MuseFacts


def main(wanted: Wanted, choice: HostChoice) -> int:
    """Do it; the exit code tells whether a check failed.

    Raises:
        Unwritable: stdout cannot be written to.
    """
    require_stdout()
    told = anyio.run(_run, wanted, choice)
    if told is None:
        return EXIT_INTERRUPTED
    report = told.report
    typer.echo(report.document() if wanted.as_json else shown(report), nl=False)
    if wanted.bundle:
        try:
            file = write(Bundle(report, told.facts, choice, wanted.options, os.environ), wanted.file)
        except OSError as error:
            typer.echo(
                f"muse-adapter: {wanted.file or 'the bundle'} cannot be written: {error.strerror or error}", err=True
            )
            return EXIT_FAILED
        typer.echo(announcement(file), err=True)
    return EXIT_OK if report.ok else EXIT_FAILED


async def _run(wanted: Wanted, choice: HostChoice) -> _Told | None:
    """What there is to tell, None if it was interrupted. What was started has ended."""
    told: _Told | None = None
    console = Console(stderr=True)
    waiting = console.status("Looking at Muse and what it runs in…") if console.is_terminal else nullcontext()
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as work, waiting:
            await tasks.start(cancel_on_signal, work)
            told = await _told(wanted, choice, Background(tasks, log))
        tasks.cancel_scope.cancel()
    return told


async def _told(wanted: Wanted, choice: HostChoice, background: Background) -> _Told:
    found = await survey(choice, os.environ, background, wanted.wait)
    reads = () if wanted.read is None else await walk(choice, *wanted.read)
    report = Report(
        adapter={"version": __version__, "python": platform.python_version(), "platform": sys.platform},
        host=found.host,
        checks=found.checks + reads,
        negotiation=offers(choice, found.facts, wanted.profiles),
    )
    return _Told(report, found.facts)
