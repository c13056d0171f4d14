"""stdin and stdout of this process, taken out of everybody else's reach.

A stray `print`, a warning or a C library must not get between the frames, and nobody else may read the peer's bytes.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapter.wire.pipes import FdReader, FdWriter

_FIRST_FREE_FD = 3


def claim_stdio() -> tuple[FdReader, FdWriter]:
    """The real stdin and stdout. From then on fd 0 is empty and what is written to fd 1 goes to stderr, also from child
    processes and from C.

    Call it before anything else opens a descriptor, an event loop for one: if stderr is closed, its number is free for
    whoever comes first. Nothing but the standard library is imported before it is done: an import may print.

    Raises:
        OSError: stdin or stdout is closed.
    """
    nowhere = _above_stdio(os.open(os.devnull, os.O_RDWR))
    try:
        if not _is_open(2):
            os.dup2(nowhere, 2)
        stdin = _duplicate(0)
        stdout = _duplicate(1)
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
    finally:
        os.close(nowhere)
    from adapter.wire.pipes import FdReader, FdWriter

    return FdReader(stdin), FdWriter(stdout)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _above_stdio(fd: int) -> int:
    """`fd` itself, or another number for it: one of 0, 1 and 2 that was closed must not be given to something else."""
    if fd >= _FIRST_FREE_FD:
        return fd
    moved = _duplicate(fd)
    os.close(fd)
    return moved


def _duplicate(fd: int) -> int:
    if sys.platform == "win32":
        return os.dup(fd)
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
