"""What a connection still has to write: an ordered, bounded buffer whose newest entry may still grow.

A writer that is behind finds several text deltas of one message waiting at the end of the buffer. They say the same
as one longer delta, so the newest entry absorbs the next one until it is taken for writing. Nothing is ever held back
for that: the writer takes whatever is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from adapter.wire.framing import LONG_LINE, encode_frame

MERGED_BYTES = 32 * 1024
"""How long a merged entry may get; more and a reader would wait for one long line instead of seeing text flow."""


class Mergeable(Protocol):
    """A frame that can take up the one after it."""

    def absorb(self, later: Any, limit: int) -> bool:
        """Append `later` to this frame if it continues it and the sum stays below `limit`; else leave both alone."""

    def weight(self) -> int:
        """About how many bytes this frame will have on the wire."""

    def frame(self) -> dict[str, Any]:
        """The object to encode."""


class Outbox:
    """Encoded lines and still growing frames, in order.

    `on_lost` hears about a growing frame that could not be encoded when its time came; the others go on.
    """

    def __init__(self, cap: int, on_lost: Callable[[Exception], None]) -> None:
        self._cap = cap
        self._on_lost = on_lost
        self._pieces: deque[bytes] = deque()
        self._pieces_size = 0
        # Behind the pieces. One buffer, not a list of lines: what orjson returns keeps 4 KiB allocated however short
        # it is.
        self._encoded = bytearray()
        self._growing: Mergeable | None = None
        self._growing_weight = 0

    @property
    def size(self) -> int:
        """About how many bytes wait."""
        return self._pieces_size + len(self._encoded) + self._growing_weight

    def put(self, frame: dict[str, Any]) -> None:
        """Append a frame.

        Raises:
            FrameTooLarge, TypeError: it cannot be written; the buffer is unchanged.
        """
        line = encode_frame(frame, self._cap)
        if self._growing is not None:
            self._settle()
        if len(line) < LONG_LINE:
            self._encoded += line
        else:
            self._put_piece(bytes(self._encoded))
            self._encoded.clear()
            self._put_piece(line)

    def put_mergeable(self, frame: Mergeable) -> None:
        """Append a frame, or let the newest one absorb it.

        Raises:
            FrameTooLarge, TypeError: it is too long to grow and cannot be written; the buffer is unchanged.
        """
        growing = self._growing
        if growing is not None and growing.absorb(frame, MERGED_BYTES):
            self._growing_weight = growing.weight()
            return
        weight = frame.weight()
        if weight > MERGED_BYTES:
            # Nothing will be merged into it, so it is encoded while its sender can still be told that it does not fit.
            return self.put(frame.frame())
        self._settle()
        self._growing, self._growing_weight = frame, weight

    def take(self) -> bytes:
        """What waits first, as one piece: a long line, or everything up to the next one. Empty if nothing waits."""
        if self._pieces:
            piece = self._pieces.popleft()
            self._pieces_size -= len(piece)
            return piece
        self._settle()
        data = bytes(self._encoded)
        self._encoded.clear()
        return data

    def _put_piece(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._pieces_size += len(piece)

    def _settle(self) -> None:
        """Turn the growing frame into a line. Never raises: the frame is not the one the caller has in hand."""
        growing, self._growing, self._growing_weight = self._growing, None, 0
        if growing is None:
            return
        try:
            self._encoded += encode_frame(growing.frame(), self._cap)
        except Exception as error:
            self._on_lost(error)
