"""`make soak`: the real adapter with twenty sessions, for half an hour.

`SOAK_SECONDS` is how long, 30 at least; less than half an hour keeps no figures. `--seed N` repeats the
choices of a run. Exits 1 if anything is not as it must be, or too little has been done to say so.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from tests.reliability import Figures
from tests.soak.findings import Findings
from tests.soak.lane import PATIENCE, Lane, Plan

DEFAULT_SECONDS: Final = 1800.0

PLANS: Final = (
    Plan("steady", "1.2.1", 10, life=(86_400.0, 86_400.0), kill=(100.0, 200.0), faults=False),
    Plan("stormy", "1.2.1", 5, life=(6.0, 45.0), kill=(3.0, 20.0), faults=True),
    Plan("newer", "1.4.13", 5, life=(6.0, 45.0), kill=(3.0, 20.0), faults=True),
)

LEAST_SECONDS: Final = 30.0
LEAST_TURNS: Final = 1.0
"""For each second; it is about ten."""

WARM_SECONDS: Final = 60.0
"""After this, or a third of a short run, an adapter has seen everything once, and what it grows by from then on
counts."""

MOST_GROWTH: Final = 1.5
"""Memory at the end, as a multiple of that when it was warm."""

USUAL_MEMORY: Final = 70.0
"""MiB that one comes to have in a minute or two, more or less of it before it is looked at first."""

MOST_MEMORY: Final = 250.0
"""MiB that no adapter may ever have."""

MORE_DESCRIPTORS: Final = 16
"""How many more descriptors there may be at the end than when it was warm: hosts come and go."""

STAGGER_SECONDS: Final = 0.5

TOLD: Final = """\
Three adapters at once, with twenty sessions, on simulated hosts of 1.2.1 and 1.4.13. One adapter runs all the time,
the others are ended again and again: by the end of input, by SIGTERM and SIGINT, by SIGKILL. Their hosts are killed,
end by themselves, stand still, answer late, write what is no frame; the client pauses reading. Twenty users ask for
text, tools, plans and stored outputs, allow, refuse, stop or ignore what they are asked, take requests back, read,
change options and modes, close, load, resume, list and copy sessions. The client knows every answer beforehand, so text
that is lost, doubled, out of place or not what the user decided is seen, at once and in each load; stored outputs are
compared byte for byte; every request must have one answer, those of hosts that live on within {patience:g} s, every
decision that allows something a click. Five seconds after an adapter nothing that it or its hosts have started may run,
found by a variable of the test and by what was seen below them each second; no file is left, and nothing of the
environment is told. Memory may be {growth:g} times what it was after a minute, or {usual:g} MiB; descriptors
{descriptors} more."""

AFTER: Final = """\
Operations during which a host died, stood still, or the client did not read are not among the times. An error after
the death of a host is in order where it says so, and no other one is."""


def main() -> int:
    """Run, tell, and perhaps keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    options = parser.parse_args()
    seconds = float(os.environ.get("SOAK_SECONDS") or DEFAULT_SECONDS)
    if seconds < LEAST_SECONDS:
        parser.error(f"SOAK_SECONDS must be {LEAST_SECONDS:g} at least")
    print(f"soak: {seconds:g} s, seed {options.seed}", flush=True)
    findings = Findings()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        ends = time.monotonic() + seconds
        lanes = [Lane(plan, options.seed, Path(directory) / plan.name, findings, ends) for plan in PLANS]
        threads = [threading.Thread(target=lane.run) for lane in lanes]
        for thread in threads:
            thread.start()
            time.sleep(STAGGER_SECONDS)
        for thread in threads:
            thread.join()
    rows = [*_memory(findings, min(WARM_SECONDS, seconds / 3)), *_operations(findings)]
    _judge_amount(findings, seconds)
    _print(findings, rows)
    if seconds >= DEFAULT_SECONDS and not findings.problems:
        _figures(findings, seconds, rows).keep("soak")
    return 1 if findings.problems.total() else 0


def _judge_amount(findings: Findings, seconds: float) -> None:
    """A run in which little has happened shows little."""
    if findings.counts["turns"] < seconds * LEAST_TURNS:
        findings.problem("amount", f"only {findings.counts['turns']} turns in {seconds:g} s")
    wanted = _TOLD if seconds >= DEFAULT_SECONDS else ("questions for permission", "reads", "frames judged")
    for name in wanted:
        if not findings.counts[name]:
            findings.problem("amount", f"no {name}")


def _memory(findings: Findings, warm_seconds: float) -> list[list[str]]:
    """What the longest run of an adapter had of memory and descriptors, which may not grow."""
    for name, samples in findings.memory.items():
        if max(memory for _, memory, _ in samples) > MOST_MEMORY:
            findings.problem("memory", f"{name}: more than {MOST_MEMORY:g} MiB")
    if not findings.memory:
        findings.problem("memory", "it was never looked at")
        return []
    longest = max(findings.memory.values(), key=lambda samples: samples[-1][0] - samples[0][0])
    began = longest[0][0]
    warm = [each for each in longest if each[0] >= began + warm_seconds]
    if len(warm) < 2:
        findings.problem("memory", f"no adapter ran for more than {warm_seconds:g} s")
        return []
    (_, before, opened), (at, after, left) = warm[0], warm[-1]
    if after > max(before * MOST_GROWTH, USUAL_MEMORY):
        findings.problem("memory", f"{before:.0f} MiB after {warm_seconds:g} s, {after:.0f} MiB at the end")
    if left > opened + MORE_DESCRIPTORS:
        findings.problem("descriptors", f"{opened} after {warm_seconds:g} s, {left} at the end")
    most = max(each[1] for each in longest)
    return [
        ["longest run of one adapter", f"{at - began:.0f} s"],
        ["its memory after one minute, at the end, at most", f"{before:.0f}, {after:.0f}, {most:.0f} MiB"],
        ["its descriptors after one minute, at the end", f"{opened}, {left}"],
    ]


def _operations(findings: Findings) -> list[list[str]]:
    return [
        [f"{name}: p50, p99", f"{middle * 1000:.0f} ms, {late * 1000:.0f} ms ({many:,} times)"]
        for name, many, middle, late in findings.operations()
    ]


_TOLD: Final = (
    *("turns", "turns that have ended", "turns that have failed", "turns that have cancelled", "turns that have died"),
    *("questions for permission", "reads", "bytes read", "sessions opened again", "hosts that died", "hosts killed"),
    *("adapters ended: close", "adapters ended: terminate", "adapters ended: interrupt", "adapters ended: kill"),
    *("pauses of reading", "hosts that stood still"),
    "frames judged",
)


def _counted(findings: Findings) -> list[list[str]]:
    return [[name, f"{findings.counts[name]:,}"] for name in _TOLD]


def _print(findings: Findings, rows: list[list[str]]) -> None:
    for name, value in [*_counted(findings), *rows]:
        print(f"{name:56} {value}")
    for what, many in sorted(findings.excused.items()):
        print(f"in order, since a host had died or something ran: {what} ({many} times)")
    for kind, many in sorted(findings.problems.items()):
        print(f"WRONG: {kind}, {many} times")
    print("all as it must be" if not findings.problems else f"{findings.problems.total()} problems")


def _figures(findings: Findings, seconds: float, rows: list[list[str]]) -> Figures:
    return Figures(
        title="Half an hour of everything",
        command="make soak",
        told=TOLD.format(patience=PATIENCE, growth=MOST_GROWTH, usual=USUAL_MEMORY, descriptors=MORE_DESCRIPTORS),
        columns=["", f"in {seconds / 60:.0f} minutes"],
        rows=[
            *_counted(findings),
            *rows,
            ["lost, doubled or wrong; anything else that was not as it must be", "nothing"],
        ],
        after=AFTER,
    )


if __name__ == "__main__":
    sys.exit(main())
