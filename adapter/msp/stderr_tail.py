"""The end of what a host wrote to stderr: drained from birth, and kept bounded."""

from __future__ import annotations

from collections import deque

TAIL_BYTES = 8 * 1024
TAIL_LINES = 100
"""What is kept for error messages; the official SDK keeps as much (`msp.md §23.2`)."""


class StderrTail:
    """Feed it what arrives; it remembers the last lines."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._open = b""

    def feed(self, data: bytes) -> None:
        """Take in bytes, cut anywhere."""
        *lines, rest = (self._open + data).split(b"\n")
        self._lines.extend(line[-TAIL_BYTES:] for line in lines if line.strip())
        self._open = rest[-TAIL_BYTES:]

    def text(self) -> str:
        """The last lines, at most `TAIL_BYTES` of them; not scrubbed. Whole ones, unless the last is too long itself:
        nobody would know the rest of a secret for what it is."""
        lines = [*self._lines, self._open] if self._open.strip() else list(self._lines)
        kept = b"\n".join(lines)
        tail = kept[-TAIL_BYTES:]
        if len(tail) < len(kept) and kept[-TAIL_BYTES - 1] != ord("\n"):
            tail = tail.partition(b"\n")[2] or tail
        return tail.decode("utf-8", "replace").lstrip("\ufffd").strip()
