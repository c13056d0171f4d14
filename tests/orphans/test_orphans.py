"""A few of the trials of `make orphans`, always the same ones."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.orphans.__main__ import figures_of
from tests.orphans.trial import ENDS, PHASES, Trial, run, trials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left is found in /proc")

SEED: Final = 7

LOOK_AHEAD: Final = 4
"""Trials at once: they mostly wait."""


def test_nothing_outlives_adapters_that_are_killed_or_asked_to_end() -> None:
    chosen = trials(SEED, kills=len(PHASES), ends=1)
    with ThreadPoolExecutor(LOOK_AHEAD) as pool:
        outcomes = list(pool.map(run, chosen))
    assert [(one.trial, one.problems) for one in outcomes if one.problems] == []
    killed = [one for one in outcomes if one.trial.how == "kill"]
    assert max(one.alive for one in killed) > 8, "an adapter that had nothing shows nothing"
    assert {one.trial.phase for one in killed} == set(PHASES)
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
