"""The model of the turn (`tests.model`), a few runs of it; `make model` does thousands."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings

from tests.model.machine import Machine

TestTurns = Machine.TestCase
TestTurns.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    # What fails is made small by `make model`, which has the time.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
