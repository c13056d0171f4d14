"""A plot of curves on logarithmic axes, as the text of an SVG. Pure, and readable on light and dark pages: it has a
ground of its own, and follows the colours of the reader's system."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tests.benchmarks.measuring import Curve

WIDTH, HEIGHT = 780, 440
LEFT, RIGHT, TOP, BOTTOM = 78, 580, 66, 376
"""Of the part with the curves; what they are called stands to the right of it."""

LABEL_HEIGHT: Final = 17

COLOURS: Final = (
    ("#0b62a4", "#6cb8f0"),
    ("#b3470a", "#f7a072"),
    ("#00695c", "#5fd0bf"),
    ("#8a3a8f", "#d99be0"),
    ("#6b5b00", "#dcc64a"),
)
"""Of the curves: on a light ground, and on a dark one."""

INK, GRID, GROUND = ("#263238", "#dde3e6"), ("#d5dde1", "#404a52"), ("#ffffff", "#1d2429")

TIMES: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Axis(NamedTuple):
    """From where to where an axis goes, in values and on the page."""

    least: float
    most: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """Where a value is."""
        part = math.log(value / self.least) / math.log(self.most / self.least)
        return self.begin + part * (self.end - self.begin)


def plot(title: str, below: str, curves: Sequence[Curve]) -> str:
    """The costs of units, in seconds, by sizes: solid the adapter's, dashed the limit's."""
    sizes = sorted({size for curve in curves for size in curve.sizes})
    costs = [cost for curve in curves for cost in (*curve.costs, *curve.limit)]
    across = Axis(sizes[0], sizes[-1], LEFT + 24, RIGHT - 24)
    up = Axis(10 ** math.floor(math.log10(min(costs))), 10 ** math.ceil(math.log10(max(costs))), BOTTOM, TOP)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="13" aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<style>{_style()}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            f'<text x="{LEFT}" y="28" font-size="16" font-weight="600">{escape(title)}</text>',
            *_legend(),
            *_grid(across, up, sizes),
            f'<text x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 46}" text-anchor="middle">{escape(below)}</text>',
            *(part for number, curve in enumerate(curves) for part in _curve(number, curve, across, up)),
            *_names(curves, up),
            "</svg>\n",
        ]
    )


def _style() -> str:
    def rules(dark: int) -> str:
        colours = [
            f".c{number}{{stroke:{pair[dark]}}}.n{number}{{fill:{pair[dark]}}}" for number, pair in enumerate(COLOURS)
        ]
        ground = f".ground{{fill:{GROUND[dark]}}}text{{fill:{INK[dark]}}}.key{{stroke:{INK[dark]}}}"
        return ground + f".grid{{stroke:{GRID[dark]}}}" + "".join(colours)

    return f"{rules(0)}@media (prefers-color-scheme: dark){{{rules(1)}}}"


def _legend() -> Iterator[str]:
    for at, dashes, words in ((LEFT, "", "the adapter"), (LEFT + 140, ' stroke-dasharray="5 5"', "a bare loop")):
        yield f'<path class="key" d="M{at} 46h28" stroke-width="2"{dashes}/>'
        yield f'<text x="{at + 36}" y="50">{words}</text>'


def _grid(across: Axis, up: Axis, sizes: Sequence[int]) -> Iterator[str]:
    for size in sizes:
        x = across.at(size)
        yield f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{size:,}</text>'
    for power in range(round(math.log10(up.least)), round(math.log10(up.most)) + 1):
        y = up.at(10.0**power)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{time(10.0**power)}</text>'


def _curve(number: int, curve: Curve, across: Axis, up: Axis) -> Iterator[str]:
    for costs, more in (
        (curve.limit, ' stroke-width="1.5" stroke-dasharray="5 5"'),
        (curve.costs, ' stroke-width="2.5"'),
    ):
        points = [(across.at(size), up.at(cost)) for size, cost in zip(curve.sizes, costs, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline class="c{number}" fill="none"{more} points="{line}"/>'
    yield from (f'<circle class="n{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points)


def _names(curves: Sequence[Curve], up: Axis) -> Iterator[str]:
    """What each curve is called and costs in the end, beside its end, and below the one before it."""
    lowest = 0.0
    for number, curve in sorted(enumerate(curves), key=lambda each: -each[1].costs[-1]):
        y = max(up.at(curve.costs[-1]) + 4, lowest + LABEL_HEIGHT)
        lowest = y
        words = f"{escape(curve.name)}, {time(curve.costs[-1])}"
        yield f'<text class="n{number}" x="{RIGHT + 6}" y="{y:.1f}">{words}</text>'


def time(seconds: float) -> str:
    """A time in its unit, with two digits at least."""
    size, unit = next(((size, unit) for size, unit in TIMES if seconds >= size * 0.9999), TIMES[-1])
    number = seconds / size
    return f"{number:.0f} {unit}" if number >= 9.95 or abs(number - round(number)) < 1e-6 else f"{number:.1f} {unit}"
