"""The page has what was measured, and says when a bound is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import page
from tests.benchmarks.measuring import Figure, percentile, ratio

SPEED = Figure(what="streaming / the limit", value=0.5, bound=0.5, at_least=True, told="1 and 2")
DELAY = Figure(what="delay, ms", value=0.3, bound=0.3, margin=0.2)


def test_the_page_has_what_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    assert page.kept() is None
    page.keep({"start-up": [SPEED], "pacing": [DELAY]})
    written = (tmp_path / "page.md").read_text("utf-8")
    measured = page.kept()
    assert measured is not None and page.page(measured) == written
    assert "## Start up" in written and "| streaming / the limit | 0.50 | at least 0.5 | 10% | 1 and 2 |" in written


@pytest.mark.parametrize(
    ("figure", "value", "holds"),
    [(SPEED, 0.46, True), (SPEED, 0.44, False), (SPEED, 9.0, True), (DELAY, 0.35, True), (DELAY, 0.37, False)],
)
def test_a_bound_may_be_missed_by_noise_and_no_more(figure: Figure, value: float, holds: bool) -> None:
    measured = Figure(what=figure.what, value=value, bound=figure.bound, at_least=figure.at_least, margin=figure.margin)
    assert measured.holds is holds


def test_ratios_are_of_what_was_measured_side_by_side() -> None:
    assert ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == 3.0
    assert percentile(range(1000), 99) == 990
