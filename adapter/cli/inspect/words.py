"""Numbers and texts as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adapter.acp.text import one_line
from adapter.cli.inspect.members import Members

QUOTED: Final = 160
"""Characters of a text that is quoted in a line."""

_KIB: Final = 1024
_MINUTE_MS: Final = 60_000


def quoted(text: str, limit: int = QUOTED) -> str:
    """The beginning of a text, between quotes."""
    return f'"{one_line(text, limit)}"'


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(count: int) -> str:
    """`812 bytes`, `12.5 KiB`, `6.0 MiB`."""
    if count < 10 * _KIB:
        return counted(count, "byte")
    if count < _KIB * _KIB:
        return f"{count / _KIB:.1f} KiB"
    return f"{count / _KIB / _KIB:.1f} MiB"


def lasted(milliseconds: int) -> str:
    """`12 ms`, `1.2 s`, `2 min 3 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE_MS:
        return f"{milliseconds / 1000:.1f} s"
    minutes, rest = divmod(milliseconds, _MINUTE_MS)
    return f"{minutes:,} min {rest // 1000} s"


def clock(milliseconds: int) -> str:
    """`0.012`, `1:02.345`, `1:00:00.000`: since the first frame."""
    if milliseconds < 0:
        return f"-{clock(-milliseconds)}"
    minutes, rest = divmod(milliseconds, _MINUTE_MS)
    hours, minutes = divmod(minutes, 60)
    seconds, thousandths = divmod(rest, 1000)
    if hours:
        return f"{hours}:{minutes:02}:{seconds:02}.{thousandths:03}"
    return f"{minutes}:{seconds:02}.{thousandths:03}" if minutes else f"{seconds}.{thousandths:03}"


def listed(words: Iterable[str]) -> str:
    """The words that are not empty, with commas."""
    return ", ".join(word for word in words if word)


def after(label: str, words: str) -> str:
    """`label words`, and nothing at all without words."""
    return f"{label} {words}" if words else ""


def blocks(parts: list[Members]) -> str:
    """The content of a prompt or a message: its texts quoted, the rest counted by its type (`msp.md §12`,
    `acp.md §5`)."""
    texts = " ".join(part.text("text") for part in parts if part.text("text"))
    others = [part.text("type") or "part" for part in parts if not part.text("text")]
    kinds = dict.fromkeys(others)
    return listed([quoted(texts) if texts else "", *(counted(others.count(kind), kind) for kind in kinds)])


def refusal(error: Members) -> str:
    """A refused request."""
    return f"refused: {error_words(error)}"


def error_words(error: Members) -> str:
    """An error: what it is called, its code, and the sentence for people (`msp.md §7`, `acp.md §14`)."""
    sentence = error.inner("data").text("details") or error.text("message")
    return ": ".join(part for part in (error_name(error), one_line(sentence, QUOTED)) if part)


def error_name(error: Members) -> str:
    """What an error is called, and its code."""
    code = error.number("code")
    reason = error.inner("data").text("reason", "kind")
    return " ".join(word for word in (reason, "" if code is None else str(code)) if word)


def read_wanted(params: Members) -> str:
    """What a read of stored output asks for (`msp.md §14`)."""
    length = params.number("lengthBytes")
    return listed(
        [f"from byte {params.number('offsetBytes') or 0:,}", "" if length is None else f"up to {size(length)}"]
    )


def read_served(result: Members) -> str:
    """The piece that a read was answered with."""
    served = result.number("byteLen")
    return listed(
        [
            "a piece of unknown length" if served is None else size(served),
            f"from byte {result.number('offsetBytes') or 0:,}",
            result.text("mediaType"),
            "the end" if result.flag("eof") else "more follows",
        ]
    )
