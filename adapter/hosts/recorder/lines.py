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

    def feed(self, data: bytes) -> list[RawLine]:
        """The lines that `data` completes."""
        *pieces, tail = data.split(b"\n")
        lines = []
        for piece in pieces:
            if self._held or len(piece) > self._cap:
                self._hold(piece)
                lines += self.end()
            elif piece and not piece.isspace():
                lines.append(RawLine(piece, len(piece)))
        self._hold(tail)
        return lines

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
