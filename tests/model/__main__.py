"""`make model`: thousands of runs of the machine, and what happened in them. A run that fails is made small and told
with its seed; `python -m tests.model --seed N --batches 1` does it again."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from typing import Final

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine
from tests.reliability import Figures

BATCH: Final = 100
"""Examples of one seed."""

STEPS: Final = 40


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--batches", type=int, default=40, help=f"how many seeds, {BATCH} examples each")
    parser.add_argument("--seconds", type=float, default=1800.0, help="begin no other batch after so long")
    parser.add_argument("--write", action="store_true", help="keep the figures")
    asked = parser.parse_args(arguments)
    # What the adapter logs is looked at by the machine itself.
    logging.getLogger("adapter").propagate = False
    began = time.monotonic()
    failed = 0
    for number in range(asked.seed, asked.seed + asked.batches):
        if time.monotonic() - began > asked.seconds:
            break
        good = run(number)
        failed += not good
        so_far = f"{Machine.TOTALS['examples']} examples, {sum(Machine.ACTS.values())} acts"
        print(f"seed {number}: {'ok' if good else 'FAILED'}; {so_far}", flush=True)
    figures = figures_of(Machine.TOTALS, Machine.ACTS, failed)
    print(figures.part())
    if asked.write and not failed:
        figures.keep("model")
    return 1 if failed else 0


def run(number: int) -> bool:
    """A batch of examples; what fails is printed."""
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
    try:
        run_state_machine_as_test(machine, settings=options)
    except Exception:
        traceback.print_exc()
        return False
    return True


def figures_of(totals: Counter[str], acts: Counter[str], failed: int) -> Figures:
    """A row for each kind of act, and one for each thing that was seen."""
    rows = [[f"done: {name}", f"{many:,}"] for name, many in sorted(acts.items())]
    rows += [
        [f"seen: {name}", f"{many:,}"] for name, many in sorted(totals.items()) if name not in ("examples", "frames")
    ]
    examples, frames = totals["examples"], totals["frames"]
    return Figures(
        title="Model of the turn",
        command="make model",
        told=(
            f"A machine plays client and hosts against the whole adapter, on a clock of its own: {examples:,} runs, "
            f"{sum(acts.values()):,} acts, {frames:,} frames. After every act it is checked that each request has been "
            "answered once with an id of the same type, that a command keeps its id and is sent again only where it "
            "was not taken in, that a prompt ends with its own turn and with the right stop reason, that its text is "
            "on screen whole and nothing of it comes later, and that nothing is allowed which was not selected for "
            "that very stage. At the end of each run everything is answered, a new prompt works in every open "
            f"session, and no task is left. Runs that broke a rule: {failed}."
        ),
        columns=["what", "times"],
        rows=rows,
    )


if __name__ == "__main__":
    sys.exit(main())
