"""stdin and stdout of this process, taken out of everybody else's reach.

A stray `print`, a warning or a C library must not get between the frames, and nobody else may read the peer's bytes.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2

_FIRST_FREE_FD: Final = 3

_UNUSABLE: Final = {STDIN: os.O_WRONLY, STDOUT: os.O_RDONLY}
"""How a stream is open that cannot be used for what it is there for."""


def occupy_stdio() -> None:
    """Open what is closed of stdin, stdout and stderr, so that no file, pipe or event loop of ours gets its number, and
    with it what others read or write there.

    Nothing is written to stderr then. A stdin or stdout that was closed still is an error for whoever uses it.
    """
    for fd in (STDIN, STDOUT, STDERR):
        if not _is_open(fd):
            # The lowest free number is taken: this one, since those below it are open.
            os.set_inheritable(os.open(os.devnull, _UNUSABLE.get(fd, os.O_WRONLY)), True)


def is_usable(fd: int) -> bool:
    """Whether stdin can be read, or stdout written to."""
    if sys.platform == "win32":
        return _is_open(fd)
    import fcntl

    return _is_open(fd) and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != _UNUSABLE[fd]


def claim_stdio() -> tuple[int, int]:
    """The descriptors of the real stdin and stdout. From then on fd 0 is empty and what is written to fd 1 goes to
    stderr, also from child processes and from C.

    Call it before anything else opens a descriptor, an event loop for one: if stderr is closed, its number is free for
    whoever comes first. Nothing but the standard library is imported before it is done: an import may print.

    Raises:
        OSError: stdin or stdout is closed.
    """
    nowhere = _above_stdio(os.open(os.devnull, os.O_RDWR))
    try:
        if not (is_usable(STDIN) and is_usable(STDOUT)):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        if not _is_open(STDERR):
            os.dup2(nowhere, STDERR)
        stdin = _duplicate(STDIN)
        stdout = _duplicate(STDOUT)
        os.dup2(nowhere, STDIN)
        os.dup2(STDERR, STDOUT)
    finally:
        os.close(nowhere)
    return stdin, stdout


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
