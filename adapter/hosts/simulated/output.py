"""Stdout: frames gathered and written in one go; nothing else may ever reach it."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from adapter.wire.framing import encode_frame

HIGH_WATER: Final = 128 * 1024
"""Bytes gathered before they are written without waiting for the end of the slice."""


class Output:
    """The writing end. Frames above `cap` bytes raise `FrameTooLarge` and write nothing."""

    def __init__(self, fd: int, cap: int) -> None:
        self._fd = fd
        self.cap = cap
        self._gathered: list[bytes] = []
        self._size = 0
        self.broken = False
        """Whether nobody reads any more."""

    def put(self, frame: dict[str, Any]) -> None:
        """Add a frame."""
        self.put_bytes(encode_frame(frame, self.cap))

    def put_bytes(self, data: bytes) -> None:
        """Add bytes as they are."""
        self._gathered.append(data)
        self._size += len(data)
        if self._size >= HIGH_WATER:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered; blocks as long as the client does not read."""
        if not self._gathered:
            return
        view = memoryview(b"".join(self._gathered))
        self._gathered.clear()
        self._size = 0
        if self.broken:
            return
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            self.broken = True

    def close(self) -> None:
        """Close stdout; the client sees end of file."""
        self.flush()
        self.broken = True
        os.close(self._fd)


def take_over_stdout() -> int:
    """The real stdout as a descriptor of our own; fd 1 is stderr from now on, so a stray print cannot harm a frame."""
    fd = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return fd
