"""What a connection still has to write: an ordered, bounded buffer whose newest entry may still grow.

A writer that is behind finds several text deltas of one message waiting at the end of the buffer. They say the same
as one longer delta, so the newest entry absorbs the next one until it is taken for writing. Nothing is ever held back
for that: the writer takes whatever is there.
"""

from __future__ import annotations

from typing import Any, Protocol

from adapter.wire.framing import encode_frame

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
    """Encoded lines and still growing frames, in order."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._lines: list[bytes] = []
        self._growing: Mergeable | None = None
        self._growing_weight = 0
        self._size = 0

    @property
    def size(self) -> int:
        """About how many bytes wait."""
        return self._size + self._growing_weight

    def put(self, frame: dict[str, Any]) -> None:
        """Append a frame.

        Raises:
            FrameTooLarge, TypeError: it cannot be written; the buffer is unchanged.
        """
        line = encode_frame(frame, self._cap)
        self._settle()
        self._lines.append(line)
        self._size += len(line)

    def put_mergeable(self, frame: Mergeable) -> None:
        """Append a frame, or let the newest one absorb it.

        Raises:
            FrameTooLarge, TypeError: the frame before it turned out to be unwritable.
        """
        growing = self._growing
        if growing is None or not growing.absorb(frame, MERGED_BYTES):
            self._settle()
            self._growing = growing = frame
        self._growing_weight = growing.weight()

    def take(self) -> bytes:
        """Everything that waits, as one piece; the buffer is empty afterwards."""
        self._settle()
        data = b"".join(self._lines) if len(self._lines) != 1 else self._lines[0]
        self._lines.clear()
        self._size = 0
        return data

    def _settle(self) -> None:
        growing, self._growing, self._growing_weight = self._growing, None, 0
        if growing is not None:
            line = encode_frame(growing.frame(), self._cap)
            self._lines.append(line)
            self._size += len(line)
