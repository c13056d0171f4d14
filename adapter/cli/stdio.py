"""The adapter's own stdin and stdout, taken away from everybody else.

stdout belongs to the ACP writer: the real descriptor is duplicated for it and number 1 is pointed at stderr, so that
a stray `print`, a warning or a C library cannot put a byte into the stream (`acp.md §25`, points 1 and 4). stdin
likewise, so that no child can read from it.
"""

from __future__ import annotations

import os
import sys

from adapter.wire.pipes import FdReader, FdWriter


def take_over_stdio() -> tuple[FdReader, FdWriter]:
    """The reader and the writer of the client's pipe. Call once, before anything prints or starts a process."""
    for fd, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        _make_sure_open(fd, mode)
    if sys.stdout is not None:
        sys.stdout.flush()
    reader, writer = FdReader(os.dup(0)), FdWriter(os.dup(1))
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return reader, writer


def _make_sure_open(fd: int, mode: int) -> None:
    """A standard descriptor the caller closed would otherwise be given to the next file that is opened."""
    try:
        os.fstat(fd)
    except OSError:
        opened = os.open(os.devnull, mode)
        if opened != fd:
            os.dup2(opened, fd)
            os.close(opened)
