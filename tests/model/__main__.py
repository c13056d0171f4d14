"""`make model`: thousands of runs of the machine, and what happened in them. A run that fails is made small and told
with its seed; `python -m tests.model --seed N --batches 1` does it again.

On asyncio alone: the machine needs a clock that it can move on and a loop that says when nothing can go on any more.
trio has such a clock for tests, but its loop goes on by itself until it is over, while the machine goes on from step to
step; the unit tests of the turn run on both.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Final

from tests.model.batches import BATCH, run
from tests.reliability import Figures

WHOLE: Final = 1000
"""Runs without which figures are not kept."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--batches", type=int, default=40, help=f"how many seeds, {BATCH} examples each")
    parser.add_argument("--seconds", type=float, default=1800.0, help="begin no other batch after so long")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="keep the figures")
    asked = parser.parse_args(arguments)
    until = time.monotonic() + asked.seconds
    totals, acts = Counter[str](), Counter[str]()
    failed = 0
    with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
        numbers = range(asked.seed, asked.seed + asked.batches)
        for done in as_completed([pool.submit(run, number, until) for number in numbers]):
            batch = done.result()
            if batch is None:
                continue
            totals.update(batch.totals)
            acts.update(batch.acts)
            failed += bool(batch.failure)
            print(f"seed {batch.number}: {batch.failure or 'ok'}", flush=True)
            print(f"{totals['examples']} examples, {acts.total()} acts so far", flush=True)
    figures = figures_of(totals, acts, failed)
    print(figures.part())
    if asked.write and not failed and totals["examples"] >= WHOLE:
        figures.keep("model")
    elif asked.write:
        print(f"not kept: that takes {WHOLE} runs without a fault")
    return 1 if failed else 0


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
            "session, no task is left that nothing needs, and nothing of the environment was told. Runs that broke a "
            f"rule: {failed}."
        ),
        columns=["what", "times"],
        rows=rows,
    )


if __name__ == "__main__":
    sys.exit(main())
