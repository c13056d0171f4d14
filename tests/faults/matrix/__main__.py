"""The matrix of faults: every phase of a session times everything that a host, a client or the machine can do wrong.

`python -m tests.faults.matrix` runs it all and prints the table, `--only PHASE:FAULT` a part, either of them `*`, and
`--write` puts the figures of a whole run into `docs/reliability.md`. What comes out wrong is run once more, alone: the
waits of a cell are short, and many at once keep each other waiting. That is told, with what was wrong the first time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.faults.matrix.phases import PHASES, Phase
from tests.faults.matrix.registry import FAULTS, Column, cells, run, why_not
from tests.reliability import Figures

TOTAL_SECONDS: Final = 5400.0
"""After this no cell is begun any more, and what was not run counts as wrong."""

Result = dict[tuple[str, str], str | None]
"""What is wrong in each cell, by phase and fault; None if nothing is."""


def main() -> int:
    """The command line; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description="Run the matrix of faults.")
    parser.add_argument("--only", metavar="PHASE:FAULT", action="append", help="either may be * (may be repeated)")
    parser.add_argument("-j", type=int, default=4, metavar="N", help="cells at once (default: 4)")
    parser.add_argument("--list", action="store_true", help="show the phases and faults, and run nothing")
    parser.add_argument("--write", action="store_true", help="write the figures, if all was run and is right")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(f"{each.name:24} {each.told}" for each in (*PHASES, *FAULTS)))
        return 0
    chosen = [cell for cell in cells() if asked.only is None or any(_means(word, *cell) for word in asked.only)]
    began = time.monotonic()
    with ThreadPoolExecutor(asked.j) as pool:
        problems = list(pool.map(lambda cell: _problem(cell[0], cell[1], began + TOTAL_SECONDS), chosen))
    results = {(phase.name, fault.name): problem for (phase, fault), problem in zip(chosen, problems, strict=True)}
    first = {cell: problem for cell, problem in results.items() if problem is not None}
    for row, column in chosen if len(chosen) > 1 else []:
        if (row.name, column.name) in first:
            results[row.name, column.name] = _problem(row, column, began + TOTAL_SECONDS)
    seconds = time.monotonic() - began
    wrong = {cell: problem for cell, problem in results.items() if problem is not None}
    print(_table(results))
    for (phase, fault), problem in wrong.items():
        print(f"\n{phase}:{fault}\n  {problem}\n  python -m tests.faults.matrix --only {phase}:{fault}")
    second = [cell for cell in first if cell not in wrong]
    for phase, fault in second:
        print(f"\n{phase}:{fault} was right when it was run alone, after\n  {first[phase, fault]}")
    print(f"\n{len(results)} cells, {len(wrong)} wrong, {len(second)} right the second time, {seconds:.0f} s")
    if not results:
        print("there is no such cell; see --list")
    if asked.write and asked.only is None and not wrong:
        _figures(results, len(second), seconds).keep("faults")
    return 0 if results and not wrong else 1


def _means(word: str, phase: Phase, fault: Column) -> bool:
    wanted_phase, _, wanted_fault = word.partition(":")
    return wanted_phase in ("*", phase.name) and wanted_fault in ("*", "", fault.name)


def _problem(phase: Phase, fault: Column, deadline: float) -> str | None:
    """What is wrong in a cell; None if nothing is."""
    if time.monotonic() > deadline:
        return "not run: there was no time left"
    try:
        run(phase, fault)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _table(results: Result) -> str:
    """Rows and columns with a mark for each cell: `.` right, `X` wrong, none where it was not run or makes no sense."""
    columns = [fault for fault in FAULTS if any(name == fault.name for _, name in results)]
    rows = [phase for phase in PHASES if any(name == phase.name for name, _ in results)]
    width = max((len(phase.name) for phase in rows), default=0)
    numbers = [f"{number:3}" for number in range(1, len(columns) + 1)]
    lines = [f"{'':{width}} " + "".join(number[place] for number in numbers) for place in range(3)]
    for phase in rows:
        marks = [_mark(results, phase, fault) for fault in columns]
        lines.append(f"{phase.name:{width}} " + "".join(marks))
    legend = [f"{number} {fault.name}: {fault.told}" for number, fault in zip(numbers, columns, strict=True)]
    return "\n".join([*lines, "", *legend])


def _mark(results: Result, phase: Phase, fault: Column) -> str:
    cell = (phase.name, fault.name)
    if cell not in results:
        return " "
    return "." if results[cell] is None else "X"


def _figures(results: Result, second: int, seconds: float) -> Figures:
    counts = Counter(fault for _, fault in results)
    left_out = Counter(reason for phase in PHASES for fault in FAULTS if (reason := why_not(phase, fault)) is not None)
    told = (
        f"{len(results)} runs of the adapter, each with one fault at one moment of a session: {len(PHASES)} phases, "
        f"{len(FAULTS)} faults. In each: the answer with the right code and reason, everything else answered once, a "
        "turn of another session let alone, the next prompt, an orderly end, and nothing left: no process, no "
        f"descriptor, no temporary file, no traceback, no consent that was not given. All were right, {second} of "
        f"them when they were run a second time, alone; after {seconds / 60:.0f} minutes."
    )
    reasons = "; ".join(f"{reason} ({count})" for reason, count in sorted(left_out.items()))
    return Figures(
        title="Faults at every moment",
        command="make faults",
        told=told,
        columns=["fault", "what it is", "phases", "right"],
        rows=[
            [f"`{fault.name}`", fault.told, str(counts[fault.name]), str(counts[fault.name])]
            for fault in FAULTS
            if counts[fault.name]
        ],
        after=f"The phases: {', '.join(f'`{phase.name}`' for phase in PHASES)}. Cells that make no sense: {reasons}.",
    )


if __name__ == "__main__":
    sys.exit(main())
