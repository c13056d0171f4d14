"""The runs of one seed, in a process of their own or not."""

from __future__ import annotations

import logging
import time
import traceback
from collections import Counter
from typing import Final, NamedTuple

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

BATCH: Final = 100
"""Examples of one seed."""

STEPS: Final = 40


class Batch(NamedTuple):
    """What came of the examples of one seed."""

    number: int
    failure: str
    """Empty if there was none."""
    totals: Counter[str]
    acts: Counter[str]


def run(number: int, until: float) -> Batch | None:
    """A batch of examples, unless it is too late to begin one."""
    if time.monotonic() > until:
        return None
    # What the adapter logs is looked at by the machine itself.
    logging.getLogger("adapter").propagate = False
    Machine.TOTALS.clear()
    Machine.ACTS.clear()
    Machine.HAS_FAILED.clear()
    machine = seed(number)(type("Seeded", (Machine,), {}))
    options = settings(
        max_examples=BATCH,
        stateful_step_count=STEPS,
        derandomize=False,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    failure = ""
    try:
        run_state_machine_as_test(machine, settings=options)
    except Exception:
        failure = f"FAILED\n{traceback.format_exc()}"
    return Batch(number, failure, Machine.TOTALS.copy(), Machine.ACTS.copy())
