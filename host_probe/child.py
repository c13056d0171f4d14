"""A child process that has been started, and the wait for its end on whatever event loop there is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Final

import anyio

POLL: Final = 0.05
"""Seconds between looks where nothing tells of the end: there is no descriptor and no thread to be had."""


class Child:
    """What `launch` has started. Any number of tasks may wait for its end at once."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    @property
    def exit_code(self) -> int | None:
        """What it ended with, negative for a signal; None while it runs. It is reaped by this."""
        return self._process.poll()

    async def wait(self) -> None:
        """Wait until it has ended and is reaped."""
        while self.exit_code is None:
            await self._change()

    def send_signal(self, signum: signal.Signals) -> None:
        """Does nothing to one that has ended."""
        self._process.send_signal(signum)

    if sys.platform == "linux":

        async def _change(self) -> None:
            try:
                # One for each that waits: an event loop lets only one wait for a descriptor.
                fd = os.pidfd_open(self.pid)
            except OSError:
                return await anyio.sleep(POLL)
            try:
                return await anyio.wait_readable(fd)
            finally:
                os.close(fd)

    else:

        async def _change(self) -> None:
            # A thread of its own: nothing else that is done in threads, and may hang there, can keep this waiting.
            try:
                await anyio.to_thread.run_sync(
                    self._process.wait, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True
                )
            except RuntimeError:
                await anyio.sleep(POLL)
