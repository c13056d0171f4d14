"""Whether a unit of work costs the same however much there is: its cost with the most sessions, or behind the longest
history, over the least that it is with fewer. Linear growth of the whole is 1; what looks at all there is each time
would be about the number of times by which there is more."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks.growth import work
from tests.benchmarks.growth.work import WORDS, Amounts, Costs
from tests.benchmarks.measuring import Curve, Figure

RUNS: Final = 5
SHORT_RUNS: Final = 3

BOUND: Final = 1.5
"""A unit may cost so many times as much where there is a hundred times as much."""

MARGIN: Final = 0.2

SESSIONS: Final = "sessions"
HISTORY: Final = "history"

MORE: Final = {SESSIONS: "sessions open", HISTORY: "items loaded before"}


class Axis(NamedTuple):
    """What there is more and more of, and how the costs are found beside so much of it."""

    name: str
    sizes: tuple[int, ...]
    costs: Callable[[Path, int, Amounts], Costs]


AXES: Final = (
    Axis(SESSIONS, (1, 10, 100), work.with_sessions),
    Axis(HISTORY, (200, 2_000, 20_000), work.with_history),
)
SHORT_AXES: Final = (
    Axis(SESSIONS, (1, 100), work.with_sessions),
    Axis(HISTORY, (200, 2_000), work.with_history),
)


class Round(NamedTuple):
    """The costs beside each size, measured in turn, and those of the limit."""

    ours: list[Costs]
    limit: list[Costs]


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """The growth of each cost with the sessions, then with the history."""
    amounts, runs = (work.SHORT, SHORT_RUNS) if short else (work.WHOLE, RUNS)
    for axis in SHORT_AXES if short else AXES:
        rounds = [_round(home, axis, amounts) for _ in range(runs)]
        yield from (figure(axis.name, axis.sizes, unit, rounds) for unit in WORDS)


def _round(home: Path, axis: Axis, amounts: Amounts) -> Round:
    ours = [axis.costs(home, size, amounts) for size in axis.sizes]
    # Of the limit only loading depends on the size, and that only where the history is what grows.
    loaded = axis.sizes if axis.name == HISTORY else (amounts.items,)
    limits = [work.limits(home, items, amounts) for items in loaded]
    return Round(ours, limits if len(limits) == len(ours) else limits * len(ours))


def figure(name: str, sizes: Sequence[int], unit: str, rounds: Sequence[Round]) -> Figure:
    """How one cost grows."""
    ours = [[getattr(costs, unit) for costs in each.ours] for each in rounds]
    limit = [[getattr(costs, unit) for costs in each.limit] for each in rounds]
    medians = [statistics.median(costs) for costs in zip(*ours, strict=True)]
    bare = [statistics.median(costs) for costs in zip(*limit, strict=True)]
    most, fewer = sizes[-1] // sizes[0], " or ".join(f"{size:,}" for size in sizes[-2::-1])
    return Figure(
        what=f"CPU for {WORDS[unit]}, {sizes[-1]:,} {_more(name, unit)} / {fewer}",
        value=statistics.median(costs[-1] / min(costs[:-1]) for costs in ours),
        bound=BOUND,
        margin=MARGIN,
        told=f"{' and '.join(microseconds(cost) for cost in reversed(medians))}, {most} times as much; "
        f"a bare loop {microseconds(bare[-1])}",
        curve=Curve(name, WORDS[unit].removeprefix("a "), list(sizes), medians, bare),
    )


def _more(name: str, unit: str) -> str:
    return "of them" if (name, unit) == (HISTORY, "item") else MORE[name]


def microseconds(seconds: float) -> str:
    """A cost in words."""
    return f"{seconds * 1e6:,.{0 if seconds >= 1e-5 else 1}f} µs"
