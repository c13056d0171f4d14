"""Where turns begin and end beside a ladder: a lane for each turn, used anew when the turn is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from adapter.cli.inspect.ladder import Entry
from adapter.cli.inspect.story import Turn

Mark = Literal["", "begin", "inside", "beside", "end", "alone"]
"""What a lane shows at a row: the turn begins or ends here, the row is of it, or it only passes."""


def brackets(entries: Sequence[Entry], turns: Sequence[Turn]) -> list[list[Mark]]:
    """For each row the marks of all lanes; every row has as many."""
    spans = _spans(entries, turns)
    lanes: dict[int, int] = {}
    busy_until: list[int] = []
    for turn, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        free = next((lane for lane, until in enumerate(busy_until) if until < first), len(busy_until))
        busy_until[free : free + 1] = [last]
        lanes[turn] = free
    marks: list[list[Mark]] = [["" for _ in busy_until] for _ in entries]
    for turn, (first, last) in spans.items():
        for row in range(first, last + 1):
            marks[row][lanes[turn]] = _mark(row, first, last, entries[row].turn == turn)
    return marks


def _spans(entries: Sequence[Entry], turns: Sequence[Turn]) -> dict[int, tuple[int, int]]:
    """By number of a turn its first and its last row. What comes after its end, of work in the background, is not in
    it."""
    ends = {turn.number: turn.last for turn in turns}
    spans: dict[int, tuple[int, int]] = {}
    for row, entry in enumerate(entries):
        if entry.turn is not None and entry.number <= ends[entry.turn]:
            spans[entry.turn] = (spans.get(entry.turn, (row, row))[0], row)
    return spans


def _mark(row: int, first: int, last: int, of_it: bool) -> Mark:
    if first == last:
        return "alone"
    if row in (first, last):
        return "begin" if row == first else "end"
    return "inside" if of_it else "beside"
