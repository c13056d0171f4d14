"""The end of what a host wrote to stderr: drained from birth, and kept bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

TAIL_BYTES = 8 * 1024
TAIL_LINES = 100
"""What is told for error messages; the official SDK keeps as much (`msp.md §23.2`)."""

KEPT_BYTES = 2 * TAIL_BYTES
KEPT_LINES = 2 * TAIL_LINES
"""What is kept: nobody would know the rest of a secret for what it is, so secrets are looked for before the cut."""


def _as_it_is(text: str) -> str:
    return text


class StderrTail:
    """Feed it what arrives; it remembers the last lines."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._open = b""

    def feed(self, data: bytes) -> None:
        """Take in bytes, cut anywhere."""
        *lines, rest = (self._open + data).split(b"\n")
        self._lines.extend(line[-KEPT_BYTES:] for line in lines if line.strip())
        self._open = rest[-KEPT_BYTES:]

    def text(self, scrub: Callable[[str], str] = _as_it_is) -> str:
        """The last lines after `scrub`, at most `TAIL_BYTES` and `TAIL_LINES` of them. Whole ones, unless the last is
        too long itself."""
        lines = [*self._lines, self._open] if self._open.strip() else list(self._lines)
        kept = _end_of(b"\n".join(lines), KEPT_BYTES)
        clean = scrub(kept.decode("utf-8", "replace").lstrip("\ufffd")).strip()
        last = "\n".join(clean.split("\n")[-TAIL_LINES:])
        return _end_of(last.encode("utf-8", "replace"), TAIL_BYTES).decode("utf-8", "ignore").strip()


def _end_of(data: bytes, size: int) -> bytes:
    """The last lines within `size` bytes, or the end of the last one."""
    tail = data[-size:]
    if len(tail) < len(data) and data[-size - 1] != ord("\n"):
        tail = tail.partition(b"\n")[2] or tail
    return tail
