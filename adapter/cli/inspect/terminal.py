"""The ladder in a terminal: the client's line left, the host's right, arrows between them, what is said beside.

Every text has been made one line without controls before it comes here. Where there is no terminal, each row is one
line however long it is, so that it can be searched.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import Console

from adapter.acp.text import one_line
from adapter.cli.inspect import words
from adapter.cli.inspect.brackets import Mark, brackets
from adapter.cli.inspect.facts import Sides, facts, sides, title
from adapter.cli.inspect.ladder import Entry, Ladder
from adapter.cli.inspect.lines import Ink, Piece, wrapped
from adapter.cli.inspect.recording import Recording
from adapter.cli.inspect.table_lines import NARROW, table_lines
from adapter.cli.inspect.tables import summaries

_WIDEST: Final = 4096
"""Columns where there is no terminal."""

_LEAST_TEXT: Final = 16
"""Columns for what is said, also where the terminal is narrower than that: it breaks lines itself then."""

_SHORT: Final = 2
"""Columns of an arrow where it is narrow."""


class Glyphs(NamedTuple):
    """What the lines are drawn with."""

    line: str
    to_server: dict[str, str]
    to_client: dict[str, str]
    unknown: str
    marks: dict[Mark, str]


_DRAWN: Final = Glyphs(
    line="│",
    to_server={"request": "─────▶", "notification": "─────▶", "answer": "╌╌╌╌╌▶", "unreadable": "──✗──▶"},
    to_client={"request": "◀─────", "notification": "◀─────", "answer": "◀╌╌╌╌╌", "unreadable": "◀──✗──"},
    unknown="  ??  ",
    marks={"": " ", "begin": "╭", "inside": "├", "beside": "│", "end": "╰", "alone": "╶"},
)

_TYPED: Final = Glyphs(
    line="|",
    to_server={"request": "----->", "notification": "----->", "answer": "- - ->", "unreadable": "--x-->"},
    to_client={"request": "<-----", "notification": "<-----", "answer": "<- - -", "unreadable": "<--x--"},
    unknown="  ??  ",
    marks={"": " ", "begin": "+", "inside": "|", "beside": ":", "end": "+", "alone": "-"},
)
"""For a terminal that has only ASCII."""

_PASSING: Final[dict[Mark, Mark]] = {
    "": "",
    "begin": "beside",
    "inside": "beside",
    "beside": "beside",
    "end": "",
    "alone": "",
}
"""What a lane shows below a row."""

_TURN_STYLES: Final = ("cyan", "magenta", "yellow", "green")


class Screen:
    """One recording on the terminal."""

    def __init__(self, recording: Recording, ladder: Ladder, name: str) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        console = Console(highlight=False)
        self._file = console.file
        self._width = console.width if console.is_terminal else _WIDEST
        self._ink = Ink(console)
        self._recording = recording
        self._ladder = ladder
        self._name = name
        self._glyphs = _TYPED if console.options.ascii_only else _DRAWN

    def head(self) -> None:
        """What is shown."""
        self._write([[(title(self._recording, self._name), "bold")]])
        told = facts(self._recording, self._ladder)
        label_width = max(len(label) for label, _ in told) + 4
        for label, text in told:
            lines = wrapped([(text, "")], max(self._width - label_width, _LEAST_TEXT))
            labels = [f"  {label}".ljust(label_width)] + [" " * label_width] * len(lines)
            self._write([(label, "dim"), *line] for label, line in zip(labels, lines, strict=False))
        for note in self._recording.notes:
            lines = wrapped([(one_line(note, words.QUOTED), "yellow")], max(self._width - 2, _LEAST_TEXT))
            self._write([("  ", ""), *line] for line in lines)
        self._write([[]])
        self._file.flush()

    def rungs(self, entries: Sequence[Entry]) -> None:
        """The ladder, and how what was recorded ended."""
        indent = 0
        if entries:
            rungs = _Rungs(self._glyphs, sides(self._recording), entries, self._ladder, self._width)
            indent = rungs.indent
            self._write(rungs.all())
        else:
            self._write([[("No frame fits what was asked for.", "")]])
        ending = self._ladder.ending
        if ending is not None:
            side = sides(self._recording).server
            self._write([[(" " * indent + f"the {side} ended {ending.words}", "bold red" if ending.failed else "dim")]])
        self._file.flush()

    def summary(self) -> None:
        """Tables of what people look for."""
        for summary in summaries(self._ladder):
            self._write([[]])
            self._write(table_lines(summary, self._width))
        self._file.flush()

    def _write(self, lines: Iterable[Sequence[Piece]]) -> None:
        for line in lines:
            self._file.write(self._ink.drawn(line) + "\n")


class _Rungs:
    """The rows of a ladder as lines of a given width."""

    def __init__(self, glyphs: Glyphs, side: Sides, entries: Sequence[Entry], ladder: Ladder, width: int) -> None:
        self._glyphs = glyphs
        self._side = side
        self._entries = entries
        self._several = len({entry.session for entry in entries} - {None}) > 1
        """Whether it has to be told which session a row is of."""
        self._marks = brackets(entries, ladder.turns)
        self._turns = _turn_of_lanes(entries, self._marks)
        self._numbers = max(len(_numbers(entry)) for entry in entries)
        self._narrow = width < NARROW
        clocks = [words.clock(entry.at_ms) for entry in entries if entry.at_ms is not None and not self._narrow]
        self._times = max((len(one) for one in clocks), default=0)
        self._begins = self._numbers + (self._times + 1 if self._times else 0) + 1
        self._between = " " if self._marks[0] else ""
        self.indent = self._begins + len(self._marks[0]) + len(self._between)
        """Columns before the ladder."""
        self._arrows = _SHORT if self._narrow else len(glyphs.unknown)
        self._text = max(width - self.indent - self._arrows - len(f"{glyphs.line}{glyphs.line} "), _LEAST_TEXT)

    def all(self) -> Iterator[list[Piece]]:
        head = f"{self._side.client:{self._arrows}} {self._side.server}"
        yield [(" " * self.indent + head + ("  in session" if self._several else ""), "dim")]
        for entry, marks, turns in zip(self._entries, self._marks, self._turns, strict=True):
            lines = wrapped(self._said(entry), self._text)
            yield self._first(entry, marks, turns) + lines[0]
            for line in lines[1:]:
                yield self._beside(marks, turns) + line

    def _first(self, entry: Entry, marks: list[Mark], turns: list[int]) -> list[Piece]:
        numbers = _numbers(entry).rjust(self._numbers)
        if self._times:
            numbers += " " + ("" if entry.at_ms is None else words.clock(entry.at_ms)).rjust(self._times)
        return [
            (f"{numbers} ", "dim"),
            *self._lanes(marks, turns),
            (f"{self._between}{self._glyphs.line}", "dim"),
            (self._arrow(entry), _style(entry)),
            (f"{self._glyphs.line} ", "dim"),
        ]

    def _arrow(self, entry: Entry) -> str:
        if entry.direction == "unknown":
            return self._glyphs.unknown.strip() if self._narrow else self._glyphs.unknown
        if entry.direction == "client":
            return self._glyphs.to_server[entry.shape][-self._arrows :]
        return self._glyphs.to_client[entry.shape][: self._arrows]

    def _beside(self, marks: list[Mark], turns: list[int]) -> list[Piece]:
        """What stands beside what of a rung did not fit: no arrow."""
        line = self._glyphs.line
        return [
            (" " * self._begins, ""),
            *self._lanes([_PASSING[mark] for mark in marks], turns),
            (f"{self._between}{line}{' ' * self._arrows}{line} ", "dim"),
        ]

    def _lanes(self, marks: Sequence[Mark], turns: Sequence[int]) -> list[Piece]:
        return [
            (self._glyphs.marks[mark], _TURN_STYLES[turn % len(_TURN_STYLES)])
            for mark, turn in zip(marks, turns, strict=True)
        ]

    def _said(self, entry: Entry) -> list[Piece]:
        pieces: list[Piece] = []
        if self._several:
            pieces.append((f"{entry.session or '-'} ", "dim"))
        pieces.append((entry.method, _style(entry) or "bold"))
        if entry.words:
            pieces.append((("  " if entry.method else "") + entry.words, _style_of_words(entry)))
        if entry.elapsed_ms is not None:
            pieces.append((f"  {words.lasted(entry.elapsed_ms)}", "dim"))
        if entry.shape == "request" and entry.partner is None:
            pieces.append(("  never answered", "yellow"))
        return pieces


def _turn_of_lanes(entries: Sequence[Entry], marks: list[list[Mark]]) -> list[list[int]]:
    """The turn in each lane of each row, for its colour."""
    current = [0] * len(marks[0])
    rows = []
    for entry, lanes in zip(entries, marks, strict=True):
        for lane, mark in enumerate(lanes):
            if mark in ("begin", "alone") and entry.turn is not None:
                current[lane] = entry.turn
        rows.append(list(current))
    return rows


def _numbers(entry: Entry) -> str:
    first, last = entry.numbers[0], entry.numbers[-1]
    return str(first) if first == last else f"{first}-{last}"


def _style(entry: Entry) -> str:
    if entry.failed:
        return "bold red"
    if entry.kind == "probe":
        return "dim"
    return "" if entry.shape == "notification" else "bold blue" if entry.direction == "client" else "bold green"


def _style_of_words(entry: Entry) -> str:
    if entry.failed:
        return "red"
    return "yellow" if entry.lacking else "dim" if entry.kind == "probe" else ""
