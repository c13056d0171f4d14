"""A plot is a picture that a browser can draw, with every curve in its place."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest

from tests.benchmarks.measuring import Curve
from tests.benchmarks.plot import BOTTOM, LEFT, RIGHT, TOP, WIDTH, plot, time

SVG = "{http://www.w3.org/2000/svg}"

CURVES = [
    Curve("sessions", "delta", [1, 10, 100], [1e-5, 1e-5, 2e-5], [4e-6, 4e-6, 4e-6]),
    Curve("sessions", "loaded item", [1, 10, 100], [1e-5, 1.1e-5, 2.1e-5], [6e-6, 6e-6, 6e-6]),
    Curve("sessions", "A & B < C", [1, 10, 100], [3e-3, 3e-3, 3e-3], [1e-3, 1e-3, 1e-3]),
]


def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(plot("Costs & sessions", "sessions open", CURVES))


def test_it_is_well_formed_and_says_what_it_is() -> None:
    picture = drawn()
    texts = [element.text or "" for element in picture.iter(f"{SVG}text")]
    assert picture.tag == f"{SVG}svg" and picture.get("aria-label") == picture.findtext(f"{SVG}title")
    assert {"Costs & sessions", "sessions open", "the adapter", "a bare loop", "1", "10", "100"} <= set(texts)
    assert {"1 µs", "10 µs", "100 µs", "1 ms", "10 ms"} <= set(texts)
    assert {"delta, 20 µs", "loaded item, 21 µs", "A & B < C, 3 ms"} <= set(texts)


def test_a_flat_curve_is_a_level_line_and_all_points_are_inside() -> None:
    lines = [
        [tuple(map(float, pair.split(","))) for pair in (line.get("points") or "").split()]
        for line in drawn().iter(f"{SVG}polyline")
    ]
    assert len(lines) == 2 * len(CURVES)
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for line in lines for x, y in line)
    # The limit of the first; then the first, of which the last is higher.
    assert len({y for _, y in lines[0]}) == 1
    assert lines[1][0][1] == lines[1][1][1] > lines[1][2][1]
    steps = [b[0] - a[0] for a, b in zip(lines[1], lines[1][1:], strict=False)]
    assert steps[0] == pytest.approx(steps[1], abs=0.2)


def test_names_do_not_cover_each_other() -> None:
    names = [element for element in drawn().iter(f"{SVG}text") if (element.get("class") or "").startswith("n")]
    heights = sorted(float(name.get("y") or 0) for name in names)
    assert len(heights) == len(CURVES) and all(b - a >= 13 for a, b in itertools.pairwise(heights))
    assert all(float(name.get("x") or 0) + 8 * len(name.text or "") < WIDTH for name in names)


def test_it_follows_the_readers_colours_and_loads_and_runs_nothing() -> None:
    text = plot("t", "b", CURVES)
    assert "@media (prefers-color-scheme: dark)" in text
    assert re.findall(r"<script|href|url\(|\son\w+=|@import", text) == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1e-6, "1 µs"), (1.5e-6, "1.5 µs"), (1e-3, "1 ms"), (9.99e-4, "999 µs"), (2.4e-8, "24 ns"), (1.0, "1 s")],
)
def test_times_are_told_in_their_unit(seconds: float, words: str) -> None:
    assert time(seconds) == words
