"""`muse-adapter demo`: a short conversation with the real adapter, in front of the simulated host, on the terminal.

The adapter runs as a child process, as an editor starts it, and then once more, since what a host has stored outlives
both. Every step is checked; the first that is not as it should be ends the demo with exit code 1 and a sentence. All
files are in a temporary directory, all waits are bounded.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import anyio

from adapter.cli.demo_client import STEP_SECONDS, Unexpected
from adapter.cli.demo_conversation import Conversation
from adapter.cli.demo_screen import Screen
from adapter.cli.interrupts import cancel_on_signal
from adapter.cli.stdout import Unwritable, require_stdout
from adapter.cli.stop_signals import EXIT_INTERRUPTED, raise_when_interrupted
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess

ADAPTER: Final = (sys.executable, "-P", "-m", "adapter.cli.entry", "--muse", "simulated:1.2.1")
"""`-P`: the directory the demo is started in may hold anything, also something called `adapter`."""

DEMO_SECONDS: Final = 45.0
"""Seconds both halves of the conversation may take."""

EXIT_SECONDS: Final = 12.0
"""Seconds an adapter may take to end after its input; it may have to kill a host meanwhile."""

EXIT_OK: Final = 0
EXIT_UNEXPECTED: Final = 1


class Failed(Exception):
    """Something was not as it should be; `log` is what the adapter said on stderr."""

    def __init__(self, problem: str, log: str) -> None:
        super().__init__(problem)
        self.log = log


def main(step_seconds: float = STEP_SECONDS) -> int:
    """Play the demo; the exit code tells whether all was as it should be.

    Raises:
        Unwritable: stdout cannot be written to.
    """
    require_stdout()
    screen = Screen()
    raise_when_interrupted()
    with tempfile.TemporaryDirectory(prefix="muse-adapter-demo-", ignore_cleanup_errors=True) as scratch:
        return anyio.run(_demo, screen, Path(scratch).resolve(), step_seconds)


async def _demo(screen: Screen, scratch: Path, step_seconds: float) -> int:
    screen.line("An editor talks to Muse through muse-adapter. The Muse host is simulated, no model is called.")
    screen.line()
    screen.line("    editor  --ACP--  muse-adapter  --MSP--  muse serve", style="bold")
    screen.line()
    began = time.monotonic()
    failed: Failed | Unwritable | None = None
    async with anyio.create_task_group() as tasks:
        with anyio.move_on_after(DEMO_SECONDS) as conversation:
            await tasks.start(cancel_on_signal, conversation)
            try:
                await _both_halves(screen, scratch, step_seconds)
            except (Failed, Unwritable) as failure:
                failed = failure
        tasks.cancel_scope.cancel()
    if isinstance(failed, Unwritable):
        raise failed
    if conversation.cancelled_caught and time.monotonic() - began < DEMO_SECONDS:
        screen.end_text()
        return EXIT_INTERRUPTED
    screen.line()
    if conversation.cancelled_caught:
        screen.line(f"Expected the demo to end within {DEMO_SECONDS:g} s.")
        return EXIT_UNEXPECTED
    if failed is not None:
        return _tell(screen, failed)
    screen.line(f"All of it was as it should be ({time.monotonic() - began:.1f} s).", style="bold green")
    return EXIT_OK


async def _both_halves(screen: Screen, scratch: Path, step_seconds: float) -> None:
    project = scratch / "project"
    project.mkdir()
    own = {"XDG_CACHE_HOME": str(scratch / "cache"), "MUSE_SIMULATED_HOME": str(scratch / "sessions")}
    session_id = ""

    async def first(process: HostProcess) -> None:
        nonlocal session_id
        session_id = await Conversation(process, screen, project, step_seconds).play()

    async def second(process: HostProcess) -> None:
        await Conversation(process, screen, project, step_seconds).play_again(session_id)

    await _with_adapter({**os.environ, **own}, first)
    screen.line()
    screen.line("The adapter and its host are gone. Later, a new adapter and new hosts:", style="bold")
    screen.line()
    await _with_adapter({**os.environ, **own}, second)


async def _with_adapter(environ: Mapping[str, str], play: Callable[[HostProcess], Awaitable[None]]) -> None:
    """One adapter's life.

    Raises:
        Failed: a step was not as it should be, or the adapter did not end as it should.
        Unwritable: stdout cannot be written to.
    """
    process = HostProcess.spawn(HostCommand(ADAPTER, environ))
    problem: str | None = None
    untold: Unwritable | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(process.drain_stderr)
            try:
                await play(process)
            except Unexpected as unexpected:
                problem = str(unexpected)
            except Unwritable as error:
                untold = error
            finally:
                with anyio.CancelScope(shield=True):
                    await process.end(EXIT_SECONDS)
                tasks.cancel_scope.cancel()
    finally:
        process.close_pipes()
    if untold is not None:
        raise untold
    if problem is None and process.exit_code != 0:
        problem = f"Expected the adapter to end with exit code 0, but came: {process.exit_code}"
    if problem is not None:
        raise Failed(problem, process.stderr_text())


def _tell(screen: Screen, failed: Failed) -> int:
    screen.line("The demo failed.", style="bold red")
    screen.line(str(failed))
    if failed.log:
        screen.line("The adapter's log:")
        screen.line(failed.log, style="dim")
    return EXIT_UNEXPECTED
