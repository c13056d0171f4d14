"""One `muse serve` process: its pipes, its stderr, and the ladder that ends it.

The contract of the end (`msp.md §23.3`): close stdin and let the host record what was running, wait `CLOSE_GRACE`,
then SIGTERM to its process group, wait `TERM_GRACE`, then SIGKILL. The process counts as gone when it is reaped, even
if a grandchild still holds its pipes; whatever is left in its group is ended too, and reaped where that falls to us
(`fault-cases.md F5`). Then what it has left elsewhere is ended, as far as its mark, its session, or a look at what it
had started before each step shows. Every wait is bounded, and cancelling the ladder skips to SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeVar

import anyio

from adapter.msp import sweep
from adapter.msp.budgets import CLOSE_GRACE
from adapter.msp.host_command import HostCommand
from adapter.msp.launch import Launched, launch
from adapter.msp.process_mark import has_ended, those_that_run
from adapter.msp.secrets import scrub
from adapter.msp.stderr_tail import StderrTail
from adapter.wire.pipes import FdReader, FdWriter
from host_probe.child import Child

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL (`msp.md §25`)."""

REAP_GRACE = 2.0
"""Seconds a killed process may take to be reaped: only the kernel can make it longer."""

GROUP_GRACE = 0.5
"""Seconds what a host left running in its group has between SIGTERM and SIGKILL, and then to be reaped."""

LOOK_SECONDS = 1.0
"""Seconds that a look at what it has started may hold up the next step; it takes some hundredths of one."""

REAPED_ELSEWHERE_LOOKS = 15
"""How many times the event loop may go round, `GROUP_POLL` apart, before it is nobody's what has ended and was not
reaped."""

STRAY_KILL_SECONDS = 1.0
"""Seconds what a host left outside its group may take to be gone after SIGKILL; before that it has `GROUP_GRACE`."""

GROUP_POLL = 0.02
"""Seconds between looks at whether anything is left in the group; nothing tells us when a grandchild ends."""

if sys.platform == "win32":
    _KILL: Final = signal.SIGTERM  # which nothing can catch there
else:
    _KILL: Final = signal.SIGKILL


_T = TypeVar("_T")


class HostProcess:
    """A running host. Make one with `spawn`, and `end` it whatever happens."""

    def __init__(self, launched: Launched) -> None:
        self.command = launched.command
        self._child = child = Child(launched.process)
        self.pid = child.pid
        mark = launched.mark
        self._family = sweep.Family(str(mark), {child.pid: launched.began}) if mark is not None else None
        """What it has started; None where that cannot be seen."""
        self.stdin = FdWriter(launched.stdin)
        self.stdout = FdReader(launched.stdout)
        self._stderr = FdReader(launched.stderr)
        self._tail = StderrTail()
        self._ended = False

    @classmethod
    def spawn(cls, command: HostCommand) -> HostProcess:
        """Start the process; `adapter.msp.launch` tells how, and what it raises."""
        return cls(launch(command))

    @property
    def exit_code(self) -> int | None:
        """What it ended with, negative for a signal; None while it runs."""
        return self._child.exit_code

    async def drain_stderr(self) -> None:
        """Read stderr until it ends, so that a host that logs much never blocks; the end of it is kept."""
        with contextlib.suppress(OSError):
            while data := await self._stderr.receive():
                self._tail.feed(data)

    async def wait(self) -> None:
        """Wait until the process is reaped."""
        await self._child.wait()

    def stderr_text(self) -> str:
        """The last lines of stderr, without secrets."""
        return self._tail.text(lambda text: scrub(text, self.command.environ))

    async def end(self, close_grace: float = CLOSE_GRACE) -> None:
        """Climb the ladder until the process and its group are gone. The pipes stay readable until `close_pipes`."""
        if self._ended:
            return
        try:
            await self._look()
            self.stdin.close()
            await self._reaped_within(close_grace)
            if self.exit_code is None:
                await self._look()
                self._signal(signal.SIGTERM)
                await self._reaped_within(TERM_GRACE)
            await self._end_group()
        finally:
            self.stdin.close()
            with anyio.CancelScope(shield=True):
                if self.exit_code is None or self._group_lives():
                    await self._look()
                    self._signal(_KILL)
                    await self._reaped_within(REAP_GRACE)
                    await self._group_reaped_within(GROUP_GRACE)
                await self._end_strays()
            self._ended = True
            has_ended(self.pid)

    def close_pipes(self) -> None:
        """Let go of the pipes; whoever still reads them sees end of file."""
        self.stdin.close()
        self.stdout.close()
        self._stderr.close()

    async def _reaped_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._child.wait()

    async def _end_group(self) -> None:
        """Ask what the host started and did not end itself to end."""
        if self.exit_code is None or not self._group_lives():
            return
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(GROUP_GRACE):
            while self._group_lives():  # noqa: ASYNC110 - nothing signals the end of a grandchild
                await anyio.sleep(GROUP_POLL)

    async def _group_reaped_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while self._reap_group():  # noqa: ASYNC110 - as above
                await anyio.sleep(GROUP_POLL)

    async def _look(self) -> None:
        """Learn what it has started, as long as it shows that."""
        if self._family is not None and self.exit_code is None:
            with anyio.move_on_after(LOOK_SECONDS), contextlib.suppress(OSError):
                await _in_thread(self._family.look)

    async def _end_strays(self) -> None:
        """End what it has started in other groups than its own. Where there is no thread or no descriptor to be had,
        what is left is the guardian's."""
        if self._family is not None:
            with contextlib.suppress(OSError):
                await _in_thread(partial(_end_family, self._family))
                await _reap_orphans(those_that_run() - {self.pid})

    def _reap_group(self) -> bool:
        """Reap the dead of the group that are children of ours, and say whether living ones are. A process whose
        parent has ended becomes one if we are PID 1 of a container or a sub-reaper."""
        if sys.platform == "win32" or self.exit_code is None:
            # The leader is the event loop's to reap.
            return False
        try:
            while os.waitpid(-self.pid, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def _group_lives(self) -> bool:
        if sys.platform == "win32":
            return False
        # A dead member that nobody has reaped would count as one that lives.
        self._reap_group()
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _signal(self, signum: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._child.send_signal(signum)
            else:
                os.killpg(self.pid, signum)


def _end_family(family: sweep.Family) -> None:
    sweep.end(family, grace=0.0, term_grace=GROUP_GRACE, kill_seconds=STRAY_KILL_SECONDS)


async def _reap_orphans(but: Collection[int]) -> None:
    """Reap what has ended and is a child of this process without having been started by it: so it is for the first
    process of a container, and for a sub-reaper (`fault-cases.md F5`). Whatever somebody waits for is left to them, and
    to the event loop, which may be busy for long, what it can reap itself."""
    dead = (await _in_thread(sweep.dead_children)).difference(but)
    for _ in range(REAPED_ELSEWHERE_LOOKS):
        if not dead:
            return
        await anyio.sleep(GROUP_POLL)
        dead = sweep.still_dead(dead)
    sweep.reap(dead)


async def _in_thread(function: Callable[[], _T]) -> _T:
    """Not on the loop: there may be many processes. Nothing else that is done in threads, and may hang there, can keep
    this waiting.

    Raises:
        OSError: there is no thread to be had. What `function` raises comes through.
    """
    began = False

    def run() -> _T:
        nonlocal began
        began = True
        return function()

    try:
        return await anyio.to_thread.run_sync(run, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True)
    except RuntimeError as error:
        if began:
            raise
        raise OSError(str(error)) from None
