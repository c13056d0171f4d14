"""What is measured is measured beside something: both take turns, so that a noisy machine is noisy for both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

RUNS: Final = 7

Measure = Callable[[], float]


class Curve(msgspec.Struct, frozen=True):
    """What a unit costs, in seconds, beside so much of something; and what it costs the limit."""

    axis: str
    name: str
    sizes: list[int]
    costs: list[float]
    limit: list[float]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One bound and what was measured of it. `margin` is the part of the bound by which noise alone may miss it."""

    what: str
    value: float
    unit: str = ""
    """Of the value; a ratio and a count have none."""
    bound: float
    at_least: bool = False
    margin: float = 0.1
    told: str = ""
    """What the value is made of."""
    curve: Curve | None = None
    """The same, to be drawn."""

    @property
    def holds(self) -> bool:
        """Whether the bound is kept, or missed by no more than noise."""
        if self.at_least:
            return self.value >= self.bound * (1 - self.margin)
        return self.value <= self.bound * (1 + self.margin)

    @property
    def limit(self) -> str:
        """The bound in words."""
        return f"{'at least' if self.at_least else 'at most'} {self._of_unit(f'{self.bound:g}')}"

    @property
    def measured(self) -> str:
        """The value in words."""
        return self._of_unit(f"{self.value:.2f}")

    def _of_unit(self, number: str) -> str:
        return f"{number} {self.unit}".strip()


def seconds(action: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def in_turn(*measures: Measure, runs: int = RUNS) -> list[list[float]]:
    """What each gives, `runs` times, each after the others."""
    rounds = [[measure() for measure in measures] for _ in range(runs)]
    return [list(values) for values in zip(*rounds, strict=True)]


def ratio(upper: Sequence[float], lower: Sequence[float]) -> float:
    """The median of the ratios of what was measured side by side."""
    return statistics.median(a / b for a, b in zip(upper, lower, strict=True))


def milliseconds(values: Sequence[float]) -> str:
    """The median of some seconds."""
    return f"{statistics.median(values) * 1000:.1f} ms"


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which so many of a hundred lie."""
    return sorted(values)[len(values) * percent // 100]
