"""Tables of the terminal, as lines: columns beside each other, or, where it is narrow, the cells of a row in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from adapter.cli.inspect.lines import Piece, columns, wrapped
from adapter.cli.inspect.tables import Row, Summary

NARROW: Final = 60
"""Columns of a terminal below which less is shown beside each other."""

_ROWS: Final = 20
"""Of a table."""

_GAP: Final = "  "
_LEAST: Final = 8
"""Columns to which one is narrowed."""

_WHOLE: Final = frozenset({"line", "turn", "after"})
"""Columns of numbers: set to the right, and never broken."""


def table_lines(summary: Summary, width: int) -> Iterator[list[Piece]]:
    """The table with its title."""
    yield [(summary.title, "bold")]
    rows = summary.rows[:_ROWS]
    names = ("line", *summary.columns)
    cells = [(_line(row), *row.cells) for row in rows]
    widths = _widths([names, *cells], names, width)
    if width < NARROW or widths is None:
        yield from _in_rows(rows, width)
    else:
        for number, row in enumerate([names, *cells]):
            yield from _beside(row, names, widths, heading=number == 0)
    if len(summary.rows) > _ROWS:
        yield [(f"... and {len(summary.rows) - _ROWS:,} more", "dim")]


def _line(row: Row) -> str:
    return "" if row.line is None else str(row.line)


def _widths(rows: Sequence[Sequence[str]], names: Sequence[str], width: int) -> list[int] | None:
    """How wide each column is, the widest ones narrowed until all fit; None if they cannot."""
    widths = [max(map(columns, cells)) for cells in zip(*rows, strict=True)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    for _ in range(excess):
        widest = max((at for at, name in enumerate(names) if name not in _WHOLE), key=lambda at: widths[at])
        if widths[widest] <= _LEAST:
            return None
        widths[widest] -= 1
    return widths


def _beside(row: Sequence[str], names: Sequence[str], widths: list[int], *, heading: bool) -> Iterator[list[Piece]]:
    parts = [wrapped([(cell, "")], width) for cell, width in zip(row, widths, strict=True)]
    for lines in zip_longest(*parts, fillvalue=[]):
        made: list[Piece] = []
        for at, pieces in enumerate(lines):
            text = "".join(piece for piece, _ in pieces)
            blanks = " " * (widths[at] - columns(text))
            text = blanks + text if names[at] in _WHOLE else text + blanks if at + 1 < len(lines) else text
            made += [(text, "dim" if heading or at == 0 else ""), (_GAP, "")]
        yield made[:-1]


def _in_rows(rows: Sequence[Row], width: int) -> Iterator[list[Piece]]:
    indent = max(len(_line(row)) for row in rows)
    for row in rows:
        lines = wrapped([(_GAP.join(cell for cell in row.cells if cell), "")], width - indent - len(_GAP))
        for number, line in enumerate(lines):
            yield [(("" if number else _line(row)).rjust(indent) + _GAP, "dim"), *line]
