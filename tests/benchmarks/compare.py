"""`make speed`: a short form of some parts, beside what the short form of them gave in the last whole run.

Only ratios and counts are compared, no times. A machine may be busy, and it is another than the one of that run: so a
figure has to be `FACTOR` times worse, twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from tests.benchmarks.measuring import Figure

COMPARED: Final = ("start-up", "streaming", "loading", "reading", "growth")
"""The parts whose figures are ratios of work, not of waiting, and which take a few seconds each. A round trip of
`permission` is mostly waiting for whoever is to be woken; its work is in `growth`."""

FACTOR: Final = 2.0

FAR: Final = 0.5
"""A figure that stays far below its bound may change a lot and mean nothing: it also has to come nearer to that, by
this part of it."""

ENOUGH: Final = 4.0
"""One that is so many times above a bound below which it may not fall is as good as any."""


def worsened(now: Figure, before: Figure) -> bool:
    """Whether a figure is clearly worse than it was."""
    if now.unit:
        return False
    if now.at_least:
        enough = ENOUGH * now.bound
        return min(before.value, enough) > FACTOR * min(now.value, enough)
    return now.value > FACTOR * before.value and now.value - before.value > FAR * now.bound


def comparable(figures: Iterable[Figure]) -> dict[str, Figure]:
    """The figures by their names; of one that is drawn also the cost beside that of the limit, where there is least."""
    found: dict[str, Figure] = {}
    for figure in figures:
        found[figure.what] = figure
        if (curve := figure.curve) is not None:
            what = f"CPU beside a bare loop's, {curve.name}, {curve.axis}: {curve.sizes[0]}"
            found[what] = Figure(what=what, value=curve.costs[0] / curve.limit[0], bound=0, told=figure.told)
    return found


def compare(
    kept: dict[str, list[Figure]], again: Callable[[str], Iterable[Figure]], say: Callable[[str], None]
) -> list[str]:
    """Measure each part that is kept, once more if it seems worse; what is worse both times, a line each."""
    found: list[str] = []
    for part in COMPARED:
        before = comparable(kept.get(part, []))
        if not before:
            say(f"nothing is kept of {part}: run `make bench`")
            continue
        worse = _worse(again(part), before)
        if worse:
            say(f"{part} seems worse, and is measured again: {', '.join(worse)}")
            second = _worse(again(part), before)
            found += [line for what, line in second.items() if what in worse]
    return found


def _worse(figures: Iterable[Figure], before: dict[str, Figure]) -> dict[str, str]:
    return {
        now.what: f"{now.what}: {now.value:.2f}, was {before[now.what].value:.2f}; {now.told}"
        for now in comparable(figures).values()
        if now.what in before and worsened(now, before[now.what])
    }
