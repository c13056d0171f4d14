"""Text that fits a card: head and tail of what is too long, cut at character borders, with the truth about what is
missing."""

from __future__ import annotations

from typing import Final

import msgspec

CARD_TEXT_BYTES: Final = 48 * 1024
"""UTF-8 bytes of tool text on a card (`stored-output.md`, what every client sees of truncation)."""

_FENCE: Final = "```"


class BoundedText(msgspec.Struct, frozen=True):
    """What is left of a text. `head` and `tail` are its two ends; without truncation `head` is all of it.

    `total_bytes` is the length of the text that was given, in UTF-8 bytes; `head_bytes` and `tail_bytes` what is
    shown of it.
    """

    head: str
    tail: str
    head_bytes: int
    tail_bytes: int
    total_bytes: int

    @property
    def truncated(self) -> bool:
        """Whether anything was left out."""
        return self.head_bytes + self.tail_bytes < self.total_bytes


def bound_text(text: str, limit: int = CARD_TEXT_BYTES) -> BoundedText:
    """The ends of `text` that fit `limit` bytes, two thirds of them from its beginning."""
    if len(text) * 4 <= limit:
        size = len(text.encode())
        return BoundedText(text, "", size, 0, size)
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return BoundedText(text, "", len(data), 0, len(data))
    head = data[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = data[len(data) - limit // 3 :].decode("utf-8", "ignore")
    return BoundedText(head, tail, len(head.encode()), len(tail.encode()), len(data))


def with_notice(bounded: BoundedText, notice: str) -> str:
    """The two ends with `notice` on a line of its own between them; a code fence the cut leaves open is closed."""
    head = bounded.head
    if head.count(_FENCE) % 2:
        head += f"\n{_FENCE}"
    parts = [head, notice, bounded.tail] if bounded.tail else [head, notice]
    return "\n".join(part.strip("\n") for part in parts)
