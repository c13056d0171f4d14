"""The growth of costs: what is done is what it says, with next to nothing to do; and what is made of the costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.client import client
from tests.benchmarks.fast_host import place
from tests.benchmarks.growth import measure, work
from tests.benchmarks.growth.host import PLACES, GrownHost
from tests.benchmarks.growth.measure import Round
from tests.benchmarks.growth.work import Amounts, Costs, Grown

FEW = Amounts(deltas=2 * PLACES, items=8, consents=3, pieces=20, reads=3)


@pytest.mark.parametrize("costs", [work.with_sessions, work.with_history])
def test_all_work_costs_something(tmp_path: Path, costs: Callable[[Path, int, Amounts], Costs]) -> None:
    assert all(cost > 0 for cost in costs(tmp_path, 8, FEW))


def test_the_limit_does_all_of_it_too(tmp_path: Path) -> None:
    assert all(cost > 0 for cost in work.limits(tmp_path, 8, FEW._replace(deltas=5_000, pieces=100)))


def test_every_session_has_its_part(tmp_path: Path) -> None:
    with client(tmp_path, "--muse", str(place(tmp_path, GrownHost, 0))) as running:
        grown = Grown(running, 4, stored=False)
        grown.open()
        told = grown.conducted(f"deltas {2 * PLACES}")
        asked = grown.conducted("consents 6")
        shown = grown.conducted("pieces 80")
        grown.conducted("end")
    pieces = [frame["params"] for frame in told if "agent_message_chunk" in str(frame)]
    texts = "".join(params["update"]["content"]["text"] for params in pieces)
    assert sorted(texts.split("word ")[1:]) == [f"{number:06d} of the answer " for number in range(2 * PLACES)]
    assert len({params["sessionId"] for params in pieces}) == 4
    questions = [frame["params"] for frame in asked if frame.get("method") == "session/request_permission"]
    assert len({params["sessionId"] for params in questions[:4]}) == 4 and len(questions) == 6
    cards = [frame["params"] for frame in shown if '"status": "completed"' in json.dumps(frame)]
    assert len(cards) == len({params["sessionId"] for params in cards}) == 4


def test_a_figure_is_the_growth_of_a_cost() -> None:
    def costs(delta: float) -> Costs:
        return Costs(delta, 1.0, 1.0, 1.0, 1.0)

    rounds = [Round([costs(2e-6), costs(top)], [costs(1e-6), costs(1e-6)]) for top in (3e-6, 90e-6, 4e-6)]
    figure = measure.figure("sessions", (1, 100), "delta", rounds)
    assert figure.what == "CPU for a delta, 100 sessions open / 1"
    assert figure.value == pytest.approx(2.0) and not figure.holds
    assert figure.told == "4.0 µs and 2.0 µs, 100 times as much; a bare loop 1.0 µs"
    assert figure.curve is not None and figure.curve.costs == pytest.approx([2e-6, 4e-6])


def test_what_is_loaded_is_called_so() -> None:
    rounds = [Round([Costs(1, 1, 1, 1, 1)] * 2, [Costs(1, 1, 1, 1, 1)] * 2)]
    figure = measure.figure("history", (200, 20_000), "item", rounds)
    assert figure.what == "CPU for a loaded item, 20,000 of them / 200" and figure.holds
