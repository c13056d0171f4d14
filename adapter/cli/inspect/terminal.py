"""The ladder in a terminal: the client's line left, the host's right, arrows between them, what is said beside.

Every text has been made one line without controls before it comes here. Where there is no terminal, each row is one
line however long it is, so that it can be searched.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from adapter.acp.text import one_line
from adapter.cli.inspect import words
from adapter.cli.inspect.brackets import Mark, brackets
from adapter.cli.inspect.facts import Sides, facts, sides, title
from adapter.cli.inspect.ladder import Entry, Ladder
from adapter.cli.inspect.recording import Recording
from adapter.cli.inspect.tables import Summary, summaries

_WIDEST: Final = 4096
"""Columns where there is no terminal."""

_LEAST_TEXT: Final = 24
"""Columns for what is said, also where the terminal is narrower than that: it breaks lines itself then."""

_LADDER: Final = 8
"""Columns of an arrow between two lines."""

_ROWS: Final = 20
"""Of a table."""


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
        self._console = Console(highlight=False, soft_wrap=True)
        if not self._console.is_terminal:
            self._console.width = _WIDEST
        self._recording = recording
        self._ladder = ladder
        self._name = name
        self._glyphs = _TYPED if self._console.options.ascii_only else _DRAWN

    def head(self) -> None:
        """What is shown."""
        self._console.print(Text(title(self._recording, self._name), "bold"))
        table = Table.grid(padding=(0, 2))
        for label, text in facts(self._recording, self._ladder):
            table.add_row(Text(f"  {label}", "dim"), Text(text))
        self._print_table(table)
        for note in self._recording.notes:
            self._console.print(Text(f"  {one_line(note, words.QUOTED)}", "yellow"))
        self._console.print()

    def rungs(self, entries: Sequence[Entry]) -> None:
        """The ladder."""
        if not entries:
            return self._console.print("Nothing in it fits what was asked for.")
        lines = _Rungs(self._glyphs, sides(self._recording), entries, self._ladder, self._console.width)
        for line in lines.all():
            self._console.print(line)
        return None

    def summary(self) -> None:
        """Tables of what people look for."""
        for summary in summaries(self._ladder):
            self._console.print()
            self._print_table(_table(summary))

    def _print_table(self, table: Table) -> None:
        """A table fills its columns with blanks, which only a terminal needs."""
        if self._console.is_terminal:
            return self._console.print(table, soft_wrap=False)
        with self._console.capture() as capture:
            self._console.print(table, soft_wrap=False)
        for line in capture.get().splitlines():
            self._console.print(Text(line.rstrip()))
        return None


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
        clocks = [words.clock(entry.at_ms) for entry in entries if entry.at_ms is not None]
        self._times = max((len(one) for one in clocks), default=0)
        self._begins = self._numbers + (self._times + 1 if self._times else 0) + 1
        self._between = " " if self._marks[0] else ""
        self._begins_ladder = self._begins + len(self._marks[0]) + len(self._between)
        self._text = max(width - self._begins_ladder - _LADDER - 1, _LEAST_TEXT)

    def all(self) -> Iterator[Text]:
        yield Text(
            " " * self._begins_ladder
            + f"{self._side.client:{_LADDER - 1}}{self._side.server}{'  in session' if self._several else ''}",
            "dim",
        )
        for entry, marks, turns in zip(self._entries, self._marks, self._turns, strict=True):
            yield from self._rung(entry, marks, turns)

    def _rung(self, entry: Entry, marks: list[Mark], turns: list[int]) -> Iterator[Text]:
        said = self._said(entry)
        lines = [said]
        if said.cell_len > self._text:
            lines = list(said.wrap(Console(width=self._text), self._text))
        yield self._first(entry, marks, turns).append_text(lines[0])
        for line in lines[1:]:
            yield self._beside(line, marks, turns)

    def _first(self, entry: Entry, marks: list[Mark], turns: list[int]) -> Text:
        text = Text()
        text.append(_numbers(entry).rjust(self._numbers), "dim")
        if self._times:
            text.append(" " + ("" if entry.at_ms is None else words.clock(entry.at_ms)).rjust(self._times), "dim")
        text.append(" ")
        text.append_text(self._lanes(marks, turns))
        text.append(f"{self._between}{self._glyphs.line}", "dim")
        text.append(self._arrow(entry), _style(entry))
        text.append(f"{self._glyphs.line} ", "dim")
        return text

    def _arrow(self, entry: Entry) -> str:
        if entry.direction == "unknown":
            return self._glyphs.unknown
        return (self._glyphs.to_server if entry.direction == "client" else self._glyphs.to_client)[entry.shape]

    def _beside(self, said: Text, marks: list[Mark], turns: list[int]) -> Text:
        """What of a rung did not fit, in a line without an arrow."""
        text = Text(" " * self._begins)
        text.append_text(self._lanes([_PASSING[mark] for mark in marks], turns))
        text.append(f"{self._between}{self._glyphs.line}      {self._glyphs.line} ", "dim")
        return text.append_text(said)

    def _lanes(self, marks: Sequence[Mark], turns: Sequence[int]) -> Text:
        text = Text()
        for mark, turn in zip(marks, turns, strict=True):
            text.append(self._glyphs.marks[mark], _TURN_STYLES[turn % len(_TURN_STYLES)])
        return text

    def _said(self, entry: Entry) -> Text:
        text = Text()
        if self._several:
            text.append(f"{entry.session or '-'} ", "dim")
        text.append(entry.method, _style(entry) or "bold")
        if entry.words:
            text.append(("  " if entry.method else "") + entry.words, "red" if entry.failed else "")
        if entry.elapsed_ms is not None:
            text.append(f"  {words.lasted(entry.elapsed_ms)}", "dim")
        if entry.shape == "request" and entry.partner is None:
            text.append("  never answered", "yellow")
        return text


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
    return "" if entry.shape == "notification" else "bold blue" if entry.direction == "client" else "bold green"


def _table(summary: Summary) -> Table:
    table = Table(
        box=None, header_style="dim", pad_edge=False, title=summary.title, title_justify="left", title_style="bold"
    )
    for column in ("line", *summary.columns):
        right = column in ("line", "turn", "after")
        table.add_column(column, justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in summary.rows[:_ROWS]:
        table.add_row(Text(str(row.line), "dim"), *(Text(cell) for cell in row.cells))
    if len(summary.rows) > _ROWS:
        table.add_row("", f"... and {len(summary.rows) - _ROWS:,} more")
    return table
