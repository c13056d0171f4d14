"""`make fuzz`: every target of `tests/fuzz/targets` under atheris, then a million damaged frames from each side.

`FUZZ_SECONDS` is the time of each target (600), `FUZZ_TARGETS` names some of them, or `frames`, `FUZZ_AT_ONCE` how many
run side by side (2), `FUZZ_SEED` repeats a run. Figures of runs of the whole time go to `docs/reliability.md`.

Exit codes: 0 nothing was found, 1 something was, 75 nothing was run because there is no atheris for this Python.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Final

from tests.fuzz import frames
from tests.fuzz.environment import NotAvailable, set_up
from tests.fuzz.runs import Outcome, fuzz
from tests.fuzz.targets import TARGETS
from tests.reliability import Figures

FULL_SECONDS: Final = 600
FRAMES: Final = "frames"
FAILED: Final = 1
NOT_RUN: Final = 75


def main() -> int:
    """Run what the environment asks for."""
    wanted = os.environ.get("FUZZ_TARGETS", "").replace(",", " ").split() or [*TARGETS, FRAMES]
    unknown = [name for name in wanted if name not in (*TARGETS, FRAMES)]
    if unknown:
        print(f"there is no {unknown[0]}; the targets are {', '.join((*TARGETS, FRAMES))}")
        return FAILED
    seconds = int(os.environ.get("FUZZ_SECONDS", FULL_SECONDS))
    seed = int(os.environ.get("FUZZ_SEED", 0)) or random.SystemRandom().randrange(1, 2**31)
    print(f"FUZZ_SEED={seed}", flush=True)
    found = False
    targets = [name for name in wanted if name != FRAMES]
    if targets:
        try:
            python = set_up()
        except NotAvailable as error:
            print(f"fuzz was not run: {error}")
            return NOT_RUN
        at_once = int(os.environ.get("FUZZ_AT_ONCE", 2))

        def tell(outcome: Outcome) -> None:
            _say(outcome)
            if seconds >= FULL_SECONDS:
                _keep(outcome)

        found = any(outcome.problem for outcome in fuzz(python, targets, seconds, at_once, seed, tell))
    if FRAMES in wanted:
        found |= bool(frames.main(["--seed", str(seed), *(["--write"] if seconds >= FULL_SECONDS else [])]))
    return FAILED if found else 0


def _say(outcome: Outcome) -> None:
    print(
        f"{outcome.problem or 'ok':30} {outcome.target:12} {outcome.executions:10,} executions "
        f"{outcome.seconds:4.0f} s {outcome.edges:5} edges {outcome.kept:5} inputs",
        flush=True,
    )


def _keep(outcome: Outcome) -> None:
    Figures(
        title="Fuzzing",
        command="make fuzz",
        told=(
            "Coverage-guided fuzzing: each target states promises of one part of the adapter, and a run of it ends "
            "where one is broken, something is raised that should not be, or an execution takes ten seconds. Edges are "
            "places in the code that were reached, inputs those that reached something new. A corpus of each target "
            "runs in `make test`."
        ),
        columns=["target", "executions", "seconds", "edges", "inputs", "found in this run"],
        rows=[
            [
                outcome.target,
                f"{outcome.executions:,}",
                f"{outcome.seconds:.0f}",
                str(outcome.edges),
                str(outcome.kept),
                outcome.problem or "nothing",
            ]
        ],
    ).keep("fuzz", among=list(TARGETS))


if __name__ == "__main__":
    sys.exit(main())
