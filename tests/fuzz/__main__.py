"""`make fuzz`: every target of `tests/fuzz/targets` under atheris, then a million damaged frames from each side.

`FUZZ_SECONDS` is the time of each target (600), `FUZZ_TARGETS` names some of them, or `frames`, `FUZZ_AT_ONCE` how many
run side by side (2), `FUZZ_SEED` repeats a run. Figures of runs of the whole time in which nothing was found go to
`docs/reliability.md`. With fewer seconds the frames of each side end after those.

Exit codes: 0 nothing was found, 1 something was, 75 nothing was, but targets were not run because there is no atheris
for this Python.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
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
    found, left_out = False, False
    targets = [name for name in wanted if name != FRAMES]
    if targets:
        try:
            python = set_up()
        except NotAvailable as error:
            print(f"the targets were not run: {error}", flush=True)
            left_out = True
        else:
            found = _fuzz(python, targets, seconds, seed)
    if FRAMES in wanted:
        # They need no atheris.
        how = ["--write"] if seconds >= FULL_SECONDS else ["--seconds", str(seconds)]
        found |= bool(frames.main(["--seed", str(seed), *how]))
    return FAILED if found else NOT_RUN if left_out else 0


def _fuzz(python: Path, targets: list[str], seconds: int, seed: int) -> bool:
    """Whether anything was found."""

    def tell(outcome: Outcome) -> None:
        _say(outcome)
        if seconds >= FULL_SECONDS and not outcome.problem:
            _keep(outcome)

    at_once = int(os.environ.get("FUZZ_AT_ONCE", 2))
    return any(outcome.problem for outcome in fuzz(python, targets, seconds, at_once, seed, tell))


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
            "runs in `make test`. Only runs in which nothing was found are here."
        ),
        columns=["target", "executions", "seconds", "edges", "inputs"],
        rows=[
            [
                outcome.target,
                f"{outcome.executions:,}",
                f"{outcome.seconds:.0f}",
                str(outcome.edges),
                str(outcome.kept),
            ]
        ],
    ).keep("fuzz", among=list(TARGETS))


if __name__ == "__main__":
    sys.exit(main())
