"""A byte stream cut into lines to be kept, byte for byte. No I/O in it.

The `FrameDecoder` of the wire is for a reader of frames, and leaves out what is none of a frame's business: a CR, the
length of a line that is too long. A recording has that too. Blank lines are no frames, and are not kept.
"""

from __future__ import annotations

from typing import Final

import msgspec

from adapter.wire.framing import ACP_FRAME_CAP, PREFIX_BYTES

LONGEST_LINE: Final = ACP_FRAME_CAP
"""Bytes of a line that is kept whole: the longest either protocol allows. Of a longer one the beginning is kept."""


class RawLine(msgspec.Struct, frozen=True):
    """A line without its LF. `length` is what it had; `data` has less if that was above `LONGEST_LINE`."""

    data: bytes
    length: int

    @property
    def whole(self) -> bool:
        """Whether all of it is there."""
        return len(self.data) == self.length


class LineCutter:
    """Feed it what went by; it gives the lines that are complete, and keeps no more than `cap` bytes of one that is
    not."""

    def __init__(self, cap: int = LONGEST_LINE) -> None:
        self._cap = cap
        self._prefix = min(PREFIX_BYTES, cap)
        self._held = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> tuple[list[RawLine], bytes]:
        """The lines that `data` completes: the one that had begun before, and all that lie in `data`, still in one
        piece with their LFs. `lines_of` cuts that."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._hold(data)
            return [], b""
        begun: list[RawLine] = []
        start = 0
        if self._held:
            start = data.index(b"\n") + 1
            self._hold(data[: start - 1])
            begun = self.end()
        block = data[start:end]
        self._hold(data[end:])
        return begun, block

    def lines_of(self, block: bytes) -> list[RawLine]:
        """The lines in a block that `feed` gave."""
        return [
            RawLine(line, len(line)) if len(line) <= self._cap else RawLine(line[: self._prefix], len(line))
            for line in block.split(b"\n")
            if line and not line.isspace()
        ]

    def end(self) -> list[RawLine]:
        """The line that is held, if there is one: as if an LF had come, or because nothing comes any more."""
        data, length = bytes(self._held), len(self._held) + self._dropped
        self._held.clear()
        self._dropped = 0
        return [RawLine(data, length)] if length > len(data) or data.strip() else []

    def _hold(self, piece: bytes) -> None:
        if self._dropped:
            self._dropped += len(piece)
            return
        self._held += piece
        if len(self._held) > self._cap:
            self._dropped = len(self._held) - self._prefix
            del self._held[self._prefix :]
