"""One file descriptor as a byte stream: pipes, sockets, terminals, regular files and `/dev/null` alike.

Readiness comes from the event loop, the bytes from `os.read` and `os.write`, so one small class serves stdin, stdout
and the pipes of a child. A descriptor the loop cannot watch (a regular file, `/dev/null`) is always ready. On
Windows, where pipes cannot be watched either, the calls run in a thread.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

from adapter.wire.room import Room

if TYPE_CHECKING:
    from adapter.wire.read_ahead import ReadAhead

READ_CHUNK = 64 * 1024
"""Bytes of one read. A Linux pipe holds 64 KiB, a socket more; larger reads mean fewer wake-ups for the same bytes."""

HANG_UP_POLL = 0.1
"""Seconds between looks at whether a stream that is not read now has come to its end: no event loop tells of that
alone."""


class FdReader:
    """Reads a file descriptor it owns. `ahead` is what has been read from it before."""

    def __init__(self, fd: int, ahead: bytes = b"") -> None:
        self._fd = fd
        self._ahead = ahead
        self._watchable = True
        self._over = False
        self._source: ReadAhead | None = None

    async def receive(self) -> bytes:
        """What has arrived, at least one byte; empty at end of file.

        Raises:
            OSError: the descriptor failed; a closed one reads as end of file.
        """
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        if sys.platform == "win32":
            if self._fd < 0:
                return b""
            return await anyio.to_thread.run_sync(os.read, self._fd, READ_CHUNK, abandon_on_cancel=True)
        try:
            while self._fd >= 0:
                if self._watchable and (source := self._read_ahead()) is not None:
                    try:
                        return await source.receive()
                    except PermissionError:
                        # A regular file, or `/dev/null`.
                        self._watchable = False
                        continue
                await self._readable()
                if self._fd >= 0:
                    with contextlib.suppress(BlockingIOError):
                        return os.read(self._fd, READ_CHUNK)
        except ConnectionResetError:
            pass
        return b""

    def _read_ahead(self) -> ReadAhead | None:
        if self._source is None and "asyncio" in sys.modules:
            from adapter.wire.read_ahead import read_ahead  # here, because it would import asyncio

            self._source = read_ahead(self._fd, READ_CHUNK)
        return self._source

    def unless_over(self, room: Room) -> Room:
        """The room there has to be before reading on, but no longer than until nobody can write to the other end any
        more: what is left to be read is little then, and whoever waits for the end of it must not wait for something
        else."""
        return Room(room.is_there, partial(self._wait_unless_over, room))

    async def _wait_unless_over(self, room: Room) -> None:
        while not self._over:
            with anyio.move_on_after(HANG_UP_POLL):
                return await room.wait()
            # It stays so: the rest is read without a look, before whoever waits for the end of it goes on without.
            self._over = self._is_over()
        return None

    def _is_over(self) -> bool:
        if sys.platform == "win32":
            return False
        if self._fd < 0:
            return True
        poll = select.poll()
        # Of a socket; that a pipe is over is always told.
        poll.register(self._fd, getattr(select, "POLLRDHUP", 0))
        return bool(poll.poll(0))

    async def _readable(self) -> None:
        if self._watchable:
            try:
                return await anyio.wait_readable(self._fd)
            except OSError:
                # Not a thing to watch, or broken: the read tells which.
                self._watchable = False
            except anyio.ClosedResourceError:
                return
        await checkpoint()

    def close(self) -> None:
        """Let go of the descriptor; a reader that waits on it wakes up with end of file."""
        fd, self._fd = self._fd, -1
        if self._source is not None:
            self._source.stop()
        _close(fd)


class FdWriter:
    """Writes to a file descriptor it owns, which it makes non-blocking for as long as it has it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._watchable = True
        self._was_blocking = True
        if sys.platform != "win32":
            self._was_blocking = os.get_blocking(fd)
            os.set_blocking(fd, False)

    async def send(self, data: bytes) -> None:
        """Write all of `data`. Nobody else runs meanwhile, unless it has to be waited for that somebody reads.

        Raises:
            BrokenPipeError: nobody reads the other end any more, or the writer was closed.
            OSError: the descriptor failed.
        """
        view = memoryview(data)
        if sys.platform == "win32":
            while view:
                view = view[await anyio.to_thread.run_sync(os.write, self._fd, view, abandon_on_cancel=True) :]
            return
        while view:
            if self._fd < 0:
                raise BrokenPipeError("the pipe is closed")
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                await self._writable()

    async def unread(self) -> None:
        """Wait until nobody can read the other end any more, without writing to it; for ever where no system call tells
        of that."""
        if sys.platform == "linux":
            # Regular files and the null device cannot be watched; what is written to them is never unread.
            with contextlib.suppress(OSError), select.epoll() as ends:
                # Errors and hang-ups are told of unasked. An event loop that watched the descriptor itself would also
                # wake for what a socket has to be read.
                ends.register(self._fd, 0)
                return await anyio.wait_readable(ends.fileno())
        return await anyio.sleep_forever()

    async def _writable(self) -> None:
        if self._watchable:
            try:
                return await anyio.wait_writable(self._fd)
            except OSError:
                # Not a thing to watch, or broken: the write tells which.
                self._watchable = False
            except anyio.ClosedResourceError:
                return
        await checkpoint()

    def close(self) -> None:
        """Let go of the descriptor; the other end sees end of file."""
        fd, self._fd = self._fd, -1
        if fd >= 0 and sys.platform != "win32" and self._was_blocking:
            # The open file may be shared, with a terminal for one: leave it as it was found.
            with contextlib.suppress(OSError):
                os.set_blocking(fd, True)
        _close(fd)


def _close(fd: int) -> None:
    if fd < 0:
        return
    if sys.platform != "win32":
        # No event loop, no waiter to wake up.
        with contextlib.suppress(RuntimeError):
            anyio.notify_closing(fd)
    with contextlib.suppress(OSError):
        os.close(fd)
