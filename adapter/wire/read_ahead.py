"""Reading a descriptor on asyncio for the least that it can cost.

anyio registers a descriptor for each wait and takes it out again afterwards, and wakes a task that then reads: for what
comes in small pieces that is most of the work. Here it stays registered, and the event loop itself reads, one piece
ahead of whoever takes it (`docs/performance.md`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os


class ReadAhead:
    """What has arrived at `fd`, which the running event loop watches from the first `receive` on."""

    def __init__(self, fd: int, most: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._most = most
        self._piece: bytes | OSError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._watched = False

    async def receive(self) -> bytes:
        """What has arrived, at least one byte; empty at end of file, and after `stop`.

        Raises:
            OSError: reading failed, or the event loop cannot watch this.
        """
        while self._piece is None:
            if not self._watched:
                self._loop.add_reader(self._fd, self._read)
                self._watched = True
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        piece, self._piece = self._piece, None
        if isinstance(piece, OSError):
            raise piece
        return piece

    def stop(self) -> None:
        """Let go of the descriptor; who waits wakes up with the end of file."""
        self._unwatch()
        self._piece = b""
        self._wake()

    def _read(self) -> None:
        if self._piece is not None:
            # Nobody takes what there is; until somebody does, what comes stays where it is.
            return self._unwatch()
        try:
            self._piece = os.read(self._fd, self._most)
        except BlockingIOError:
            return None
        except OSError as error:
            self._piece = error
        if not isinstance(self._piece, bytes) or not self._piece:
            self._unwatch()
        return self._wake()

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            # The event loop may be closed by now.
            with contextlib.suppress(RuntimeError):
                self._loop.remove_reader(self._fd)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def read_ahead(fd: int, most: int) -> ReadAhead | None:
    """A reader of at most so many bytes at once, None where asyncio is not what runs."""
    try:
        return ReadAhead(fd, most)
    except RuntimeError:
        return None
