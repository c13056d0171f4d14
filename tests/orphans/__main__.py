"""`make orphans`: nothing outlives an adapter, however and whenever it ends.

At least 200 are killed while their Muse and its tools run, and 40 asked to end in each of the other ways, at moments
spread over their life. `--seed N` repeats the choices of a run, `--write` keeps the figures of a whole one. Exits 1 if
anything is left, if an end is not as it is documented, or if a trial was not where it was to be.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.orphans.trial import ENDS, PHASES, SURVIVAL_SECONDS, Outcome, run, trials
from tests.reliability import Figures

KILLS: Final = 200
MORE: Final = 1.1
"""Begun for each of the kills at work: some turns have not begun when they are killed, others have ended."""

ENDS_OF_EACH: Final = 40


def main() -> int:
    """Run, tell, and perhaps keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.orphans")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    parser.add_argument("--kills", type=int, default=KILLS, help="while hosts are at work")
    parser.add_argument("--ends", type=int, default=ENDS_OF_EACH, help="of each kind")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help="write the figures to docs/reliability.md")
    options = parser.parse_args()
    print(f"orphans: seed {options.seed}, {options.kills} kills, {options.ends} ends of each kind", flush=True)
    outcomes = []
    with ThreadPoolExecutor(options.at_once) as pool:
        for outcome in pool.map(run, trials(options.seed, round(options.kills * MORE), options.ends)):
            outcomes.append(outcome)
            if outcome.problems or len(outcomes) % 20 == 0:
                print(f"{len(outcomes):4}  {outcome.trial}  {'; '.join(outcome.problems) or 'ok'}", flush=True)
    figures = figures_of(outcomes, options.seed)
    for row in figures.rows:
        print("  ".join(f"{cell:>14}" for cell in row))
    failed = [outcome for outcome in outcomes if outcome.problems]
    at_work = sum(outcome.at_work for outcome in outcomes if outcome.trial.how == "kill")
    if at_work < options.kills:
        print(f"only {at_work} were killed while a host and what it had started ran, not {options.kills}")
    if failed or at_work < options.kills:
        return 1
    if options.write and options.kills >= KILLS and options.ends >= ENDS_OF_EACH:
        figures.keep("orphans")
    elif options.write:
        print(f"not kept: that takes {KILLS} kills and {ENDS_OF_EACH} ends of each kind")
    return 0


def figures_of(outcomes: Sequence[Outcome], seed: int) -> Figures:
    """A row for the kills of each phase, and one for each other way to end."""
    rows = []
    for phase in PHASES:
        killed = [one for one in outcomes if one.trial.how == "kill" and one.trial.phase == phase]
        rows += [_row(f"killed: {phase}", killed)] if killed else []
    rows += [_row("killed: all", [one for one in outcomes if one.trial.how == "kill"])]
    for how in ENDS:
        rows += [_row(how, [one for one in outcomes if one.trial.how == how])]
    return Figures(
        title="Orphans",
        command="make orphans",
        told=(
            f"Adapters with a Muse, its read host and its questions for a version are ended at a random moment of each "
            f"phase of their life. Each turn runs tools: a plain one, ones that ignore SIGTERM, ones in sessions of "
            f"their own, and ones that have cleared their environment, also in a group of their own or left to "
            f"nobody; of the Muses a third stays when its input ends, another third ignores SIGTERM as well, and a "
            f"third has cleared its environment. What has been started is found by a variable of the test, not by "
            f"the mark of the adapter. A trial that did not come to its phase, or had too few processes there, has "
            f"failed; so has one that shows a key of its environment. After `kill -9` nothing may live on for more "
            f"than {SURVIVAL_SECONDS:g} s; after the other ends nothing is left when the adapter has ended, and its "
            f"exit code is the documented one. Seed {seed}."
        ),
        columns=["end", "adapters", "with Muse at work", "processes at that moment", "median", "longest", "failed"],
        rows=rows,
        after=(
            "Seconds are, for kills, those that the last process lived on; for other ends, those until the adapter had "
            "ended, with a ladder of half a second instead of five and two. The guardian counts as a process."
        ),
    )


def _row(name: str, outcomes: Sequence[Outcome]) -> list[str]:
    seconds = [one.seconds for one in outcomes] or [0.0]
    alive = sum(one.alive for one in outcomes)
    bad = sum(1 for one in outcomes if one.problems)
    median, longest = statistics.median(seconds), max(seconds)
    at_work = sum(one.at_work for one in outcomes)
    return [name, str(len(outcomes)), str(at_work), str(alive), f"{median:.1f} s", f"{longest:.1f} s", str(bad)]


if __name__ == "__main__":
    sys.exit(main())
