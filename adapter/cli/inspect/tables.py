"""What people look for in a recording, as tables of text: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adapter.acp.text import one_line
from adapter.cli.inspect import words
from adapter.cli.inspect.ladder import Entry, Ladder


class Row(NamedTuple):
    """What stands in the columns, and the line of the transcript to look at."""

    line: int | None
    """None for what is in no line."""
    cells: Sequence[str]


class Summary(NamedTuple):
    """One table; the line of each row is its first column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Row]


def summaries(ladder: Ladder) -> list[Summary]:
    """The tables that have rows."""
    totals = ladder.totals
    failed = _said(totals.failed)
    if ladder.ending is not None and ladder.ending.failed:
        failed.append(Row(None, ("", f"ended {ladder.ending.words}")))
    slowest = [
        Row(one.number, (_lasted(one.elapsed_ms), one.method, one.words)) for one in totals.slowest if one.elapsed_ms
    ]
    tables = [
        Summary("Turns", ("turn", "ended", "after", "holds", "prompt"), _turns(ladder)),
        Summary("Asked of the user", ("what", "choices", "answer", "after"), _asked(ladder)),
        Summary("Reads of stored output", ("wanted", "served", "output"), _reads(ladder)),
        Summary("Failures", ("method", "what"), failed),
        Summary("Not available here", ("method", "what"), _said(totals.lacking)),
        Summary("Slowest answers", ("after", "method", "answer"), slowest),
        Summary("Never answered", ("method", "what"), _said(totals.unanswered)),
    ]
    return [
        Summary(title, columns, [Row(row.line, [one_line(cell, words.QUOTED) for cell in row.cells]) for row in rows])
        for title, columns, rows in tables
        if rows
    ]


def _turns(ladder: Ladder) -> list[Row]:
    return [
        Row(
            turn.first,
            (
                f"{turn.number}",
                turn.outcome or "not over",
                _lasted(turn.lasted_ms),
                words.listed([words.counted(turn.items, "item"), f"{turn.asked} asked" if turn.asked else ""]),
                turn.prompt,
            ),
        )
        for turn in ladder.turns
    ]


def _asked(ladder: Ladder) -> list[Row]:
    return [
        Row(
            one.number,
            (
                one.what + (f", in {one.stages} stages" if one.stages > 1 else ""),
                one.choices,
                one.answer or "no answer",
                _lasted(one.waited_ms),
            ),
        )
        for one in ladder.asked
    ]


def _reads(ladder: Ladder) -> list[Row]:
    return [Row(one.number, (one.wanted, one.served or "no answer", one.ref)) for one in ladder.reads]


def _said(entries: Iterable[Entry]) -> list[Row]:
    return [Row(one.number, (one.method, one.words)) for one in entries]


def _lasted(milliseconds: int | None) -> str:
    return "" if milliseconds is None else words.lasted(milliseconds)
