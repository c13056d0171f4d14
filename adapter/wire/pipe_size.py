"""How much a pipe holds."""

from __future__ import annotations

import contextlib
import sys

if sys.platform == "linux":
    import fcntl

PIPE_BYTES = 1024 * 1024
"""What a pipe is made to hold where that can be chosen; Linux lets everybody have this much."""


def widen_pipe(fd: int) -> None:
    """Make a pipe hold `PIPE_BYTES`, if the system lets us: long frames need fewer wake-ups on both sides."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
