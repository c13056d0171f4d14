"""Lines of a terminal: made of pieces in styles, broken where they are too long, drawn with its escapes.

Tens of thousands of lines are shown, so each style is turned into escapes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from rich.cells import cell_len, get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style

Piece: TypeAlias = tuple[str, str]
"""A text, and the name of its style; empty for none."""

_BREAKS: Final = (" ", "/", "._-:,;?&=")
"""Where lines are broken by preference: behind one of these."""


def columns(text: str) -> int:
    """How wide a text is."""
    return len(text) if text.isascii() else cell_len(text)


def wrapped(pieces: Sequence[Piece], width: int) -> list[list[Piece]]:
    """The pieces as lines of at most `width` columns."""
    text = "".join(piece for piece, _ in pieces)
    if columns(text) <= width:
        return [list(pieces)]
    return [_cut(pieces, begin, end) for begin, end in _lines(text, width)]


def _lines(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where each line begins and ends; blanks between two lines are in neither."""
    begin = 0
    while begin < len(text):
        end = _fitting(text, begin, width)
        if end < len(text):
            end = _break(text, begin, end)
        yield begin, begin + len(text[begin:end].rstrip(" "))
        begin = end + len(text[end:]) - len(text[end:].lstrip(" "))


def _fitting(text: str, begin: int, width: int) -> int:
    """As far as a line can go; at least one character."""
    left = width
    for at in range(begin, len(text)):
        left -= get_character_cell_size(text[at])
        if left < 0:
            return max(at, begin + 1)
    return len(text)


def _break(text: str, begin: int, end: int) -> int:
    """Where to break a line that has to end at `end`: not so early that it is left half empty."""
    if text[end] == " ":
        return end
    for marks in _BREAKS:
        at = max(text.rfind(mark, begin, end) for mark in marks) + 1
        if at - begin >= (end - begin) // 2:
            return at
    return end


def _cut(pieces: Iterable[Piece], begin: int, end: int) -> list[Piece]:
    found, at = [], 0
    for text, style in pieces:
        part = text[max(begin - at, 0) : max(end - at, 0)]
        if part:
            found.append((part, style))
        at += len(text)
    return found


class Ink:
    """Draws lines for one terminal, or plainly where there is none."""

    def __init__(self, console: Console) -> None:
        self._plain = console.color_system is None or console.legacy_windows
        self._colours = not console.no_color
        self._escapes: dict[str, tuple[str, str]] = {"": ("", "")}
        """By style: what stands before and after a text."""

    def drawn(self, pieces: Iterable[Piece]) -> str:
        """The line; blanks at its end are left out."""
        if self._plain:
            return "".join(text for text, _ in pieces).rstrip(" ")
        return "".join([self._piece(text, style) for text, style in pieces])

    def _piece(self, text: str, name: str) -> str:
        escapes = self._escapes.get(name)
        if escapes is None:
            style = Style.parse(name)
            drawn = (style if self._colours else style.without_color).render("\0", color_system=ColorSystem.STANDARD)
            before, _, after = drawn.partition("\0")
            escapes = self._escapes[name] = before, after
        return f"{escapes[0]}{text}{escapes[1]}" if text else ""
