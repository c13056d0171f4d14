"""What counts as clearly worse, and that a part which seems so is measured again before it fails."""

from __future__ import annotations

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks import page
from tests.benchmarks.compare import COMPARED, compare, worsened
from tests.benchmarks.measuring import Curve, Figure


def rate(value: float) -> Figure:
    return Figure(what="streaming / the limit", value=value, bound=0.5, at_least=True)


def cost(value: float, unit: str = "", bound: float = 1.3) -> Figure:
    return Figure(what="start / bare imports", value=value, unit=unit, bound=bound)


@pytest.mark.parametrize(
    ("now", "before", "worse"),
    [
        (rate(0.9), rate(2.0), True),
        (rate(1.1), rate(2.0), False),
        (rate(4.0), rate(2.0), False),
        # Both are far above the bound.
        (rate(2.1), rate(9.0), False),
        (rate(0.9), rate(9.0), True),
        (cost(2.5), cost(1.2), True),
        (cost(2.3), cost(1.2), False),
        # Times are not compared.
        (cost(30.0, "ms"), cost(1.0, "ms"), False),
        # Far inside of the bound.
        (cost(0.5), cost(0.2), False),
        (cost(1, bound=0), cost(0, bound=0), True),
    ],
)
def test_what_is_clearly_worse(now: Figure, before: Figure, worse: bool) -> None:
    assert worsened(now, before) is worse


@pytest.mark.parametrize(
    ("measured", "found"),
    [([2.0], 0), ([0.5, 1.9], 0), ([0.5, 0.4], 1)],
    ids=["as before", "once", "twice"],
)
def test_what_seems_worse_is_measured_again(measured: list[float], found: int) -> None:
    left, said = list(measured), list[str]()
    worse = compare({"streaming": [rate(2.0)]}, lambda part: [rate(left.pop(0))], said.append)
    assert left == [] and len(worse) == found
    assert any("streaming seems worse" in line for line in said) is (len(measured) == 2)
    assert all(any(f"nothing is kept of {part}" in line for line in said) for part in COMPARED if part != "streaming")
    assert not worse or worse[0].startswith("streaming / the limit: 0.40, was 2.00")


def test_a_figure_that_was_not_kept_is_passed_over() -> None:
    assert compare({"streaming": [cost(1.0)]}, lambda part: [rate(0.1)], lambda line: None) == []


def test_the_cost_beside_that_of_the_limit_is_compared_too() -> None:
    def growth(cost: float) -> Figure:
        curve = Curve("sessions", "delta", [1, 100], [cost, cost], [1e-6, 1e-6])
        return Figure(what="CPU for a delta, 100 sessions open / 1", value=1.0, bound=1.5, curve=curve)

    said = list[str]()
    worse = compare({"growth": [growth(2e-6)]}, lambda part: [growth(5e-6)], said.append)
    assert [line.partition(";")[0] for line in worse] == [
        "CPU beside a bare loop's, delta, sessions: 1: 5.00, was 2.00"
    ]


def test_what_is_compared_is_measured() -> None:
    assert set(COMPARED) <= set(benchmarks.PARTS)


def test_without_a_whole_run_there_is_nothing_to_compare_with(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "kept", lambda: None)
    assert benchmarks.compared() == 0
    assert "run `make bench`" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "code"), [(2.0, 0), (0.5, 1)])
def test_it_fails_if_something_is_clearly_worse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: float, code: int
) -> None:
    kept = page.Measured({}, "2026-12-01", "here", short={"streaming": [rate(2.0)]})
    monkeypatch.setattr(page, "kept", lambda: kept)
    monkeypatch.setattr(benchmarks, "measured", lambda name, short, judged: [rate(value)])
    assert benchmarks.compared() == code
    assert capsys.readouterr().out.startswith("Compared with 2026-12-01, here.")
