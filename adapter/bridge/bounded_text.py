"""Text that fits a card: head and tail of what is too long, cut at character borders, with the truth about what is
missing."""

from __future__ import annotations

from typing import Final

import msgspec

CARD_TEXT_BYTES: Final = 48 * 1024
"""UTF-8 bytes of tool text on a card (`stored-output.md`, what every client sees of truncation)."""

NOTICE_BYTES: Final = 2 * 1024
"""Room kept for what is said about a cut: a session id and an item id may be long."""

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
    """`text` if it has at most `limit` bytes, else its ends, two thirds from its beginning: together they and
    `NOTICE_BYTES` of words about the cut fit `limit`."""
    if len(text) * 4 <= limit:
        return whole_text(text)
    room = max(limit - NOTICE_BYTES, 3)
    if text.isascii():
        # Known without a look at the text, which may be long and is looked at again each time it has grown.
        if len(text) <= limit:
            return BoundedText(text, "", len(text), 0, len(text))
        head, tail = text[: room * 2 // 3], text[len(text) - room // 3 :]
        return BoundedText(head, tail, len(head), len(tail), len(text))
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return BoundedText(text, "", len(data), 0, len(data))
    head = data[: room * 2 // 3].decode("utf-8", "ignore")
    tail = data[len(data) - room // 3 :].decode("utf-8", "ignore")
    return BoundedText(head, tail, len(head.encode()), len(tail.encode()), len(data))


def whole_text(text: str) -> BoundedText:
    """`text` as it is, however long."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return BoundedText(text, "", size, 0, size)


def close_fence(text: str) -> str:
    """`text` with a code fence that a cut left open closed again."""
    return f"{text.rstrip()}\n{_FENCE}" if text.count(_FENCE) % 2 else text


def with_notice(bounded: BoundedText, notice: str) -> str:
    """The two ends with `notice` on a line of its own between them."""
    parts = [close_fence(bounded.head), notice, *([bounded.tail] if bounded.tail else [])]
    return "\n".join(part.strip("\n") for part in parts)
