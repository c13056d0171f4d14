"""A few of the trials of `make orphans`, always the same ones."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.orphans.__main__ import figures_of
from tests.orphans.trial import AT_WORK, ENDS, PHASES, Trial, run, trials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left is found in /proc")

SEED: Final = 7

LOOK_AHEAD: Final = 4
"""Trials at once: they mostly wait."""


def test_nothing_outlives_adapters_that_are_killed_or_asked_to_end() -> None:
    chosen = trials(SEED, kills=len(AT_WORK), ends=1)
    with ThreadPoolExecutor(LOOK_AHEAD) as pool:
        outcomes = list(pool.map(run, chosen))
    assert [(one.trial, one.problems) for one in outcomes if one.problems] == []
    killed = [one for one in outcomes if one.trial.how == "kill"]
    assert max(one.alive for one in killed) > 8, "an adapter that had nothing shows nothing"
    assert {one.trial.phase for one in killed} == set(PHASES)
    assert sum(one.at_work for one in killed) >= len(AT_WORK) - 1
    assert {row[0] for row in figures_of(outcomes, SEED).rows} > set(ENDS)


def test_what_is_left_is_found() -> None:
    """An adapter whose guardian cannot be started leaves what a host without a pipe to it leaves."""
    no_guardian = "import sys; sys.executable = ''; import adapter.msp.guardian as g; g.SHELL = '/nowhere'; "
    serve = "from adapter.cli.entry import main; main()"
    trial = Trial(0, "kill", "tools", 0.0, deaf=True, stubborn=True)
    outcome = run(trial, wrap=lambda command: [command[0], "-c", no_guardian + serve], watched_for=3.0)
    assert outcome.alive > 8
    [problem] = outcome.problems
    assert "never ended" in problem and "sleep 600" in problem


@pytest.mark.parametrize(
    "broken",
    [
        "import os; os._exit(0)",
        "import os, sys; print(dict(os.environ), file=sys.stderr); from adapter.cli.entry import main; main()",
    ],
)
def test_an_adapter_that_does_nothing_or_tells_its_environment_has_failed(broken: str) -> None:
    trial = Trial(0, "kill", "opening", 0.0, deaf=False, stubborn=False)
    assert run(trial, wrap=lambda command: [command[0], "-c", broken]).problems
