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
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.faults.matrix.cell import HELD_SECONDS
from tests.faults.matrix.client_ends import End
from tests.faults.matrix.fault import STANDS
from tests.faults.matrix.host_faults import STANDS_END
from tests.faults.matrix.limits import A_HOST, LIMITS, measure
from tests.faults.matrix.phases import PHASES, Phase
from tests.faults.matrix.registry import FAULTS, Column, cells, run, why_not
from tests.faults.matrix.run import STOP_SECONDS, Passed, held_when_idle
from tests.reliability import Figures

TOTAL_SECONDS: Final = 5400.0
"""After this no cell is begun any more, and what was not run counts as wrong."""

COMMAND: Final = ".venv/bin/python -m tests.faults.matrix --only"
"""How a cell is run alone."""

Result = dict[tuple[str, str], Passed | str]
"""What was looked at in each cell, by phase and fault, or what is wrong in it."""


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
    chosen, unknown = _chosen(asked.only)
    if unknown:
        print(f"there is no such cell: {', '.join(unknown)}; see --list")
        return 2
    slowness = measure(asked.j)
    print(
        f"{len(chosen)} cells, {asked.j} at once; the machine counts as {slowness:.1f} times as slow as the reference"
    )
    held_when_idle()
    began = time.monotonic()
    with ThreadPoolExecutor(asked.j) as pool:
        came = list(pool.map(lambda cell: _came(cell[0], cell[1], began + TOTAL_SECONDS), chosen))
    results: Result = {(row.name, column.name): each for (row, column), each in zip(chosen, came, strict=True)}
    first = {cell: each for cell, each in results.items() if isinstance(each, str)}
    for row, column in chosen if len(chosen) > 1 else []:
        if (row.name, column.name) in first:
            results[row.name, column.name] = _came(row, column, began + TOTAL_SECONDS)
    seconds = time.monotonic() - began
    wrong = {cell: each for cell, each in results.items() if isinstance(each, str)}
    print(_table(results))
    for (phase, fault), problem in wrong.items():
        print(f"\n{phase}:{fault}\n  {problem}\n  {COMMAND} {phase}:{fault}")
    second = [cell for cell in first if cell not in wrong]
    for phase, fault in second:
        print(f"\n{phase}:{fault} was right when it was run alone, after\n  {first[phase, fault]}")
    print(f"\n{len(results)} cells, {len(wrong)} wrong, {len(second)} right the second time, {seconds:.0f} s")
    print(_times(results))
    if asked.write and asked.only is None and not wrong:
        _figures(results, len(second), seconds, slowness).keep("faults")
    return 1 if wrong else 0


def _chosen(words: list[str] | None) -> tuple[list[tuple[Phase, Column]], list[str]]:
    """The cells that are meant, and the words that mean none."""
    meant = {word: [cell for cell in cells() if _means(word, *cell)] for word in words or ["*"]}
    wanted = {(phase.name, fault.name) for found in meant.values() for phase, fault in found}
    chosen = [cell for cell in cells() if (cell[0].name, cell[1].name) in wanted]
    return chosen, [word for word, found in meant.items() if not found]


def _means(word: str, phase: Phase, fault: Column) -> bool:
    wanted_phase, _, wanted_fault = word.partition(":")
    return wanted_phase in ("*", phase.name) and wanted_fault in ("*", "", fault.name)


def _came(phase: Phase, fault: Column, deadline: float) -> Passed | str:
    """What was looked at in a cell, or what is wrong in it."""
    if time.monotonic() > deadline:
        return "not run: there was no time left"
    try:
        return run(phase, fault)
    except Exception as error:
        print(f"wrong: {phase.name}:{fault.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return f"{type(error).__name__}: {error}"


def _longest(results: Result, group: str) -> str:
    names = {fault.name for fault in FAULTS if not isinstance(fault, End) and fault.group == group}
    took = [each.seconds for (_, name), each in results.items() if name in names and isinstance(each, Passed)]
    return f"{max((seconds for seconds in took if seconds is not None), default=0.0):.1f} s"


def _times(results: Result) -> str:
    """What an answer may take, and took at most, by kinds of faults."""
    return "\n".join(f"{group:10} {most:4.1f} s  {_longest(results, group)}" for group, most in LIMITS.items())


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
    return "X" if isinstance(results[cell], str) else "."


def _figures(results: Result, second: int, seconds: float, slowness: float) -> Figures:
    counts = Counter(fault for _, fault in results)
    passed = [each for each in results.values() if isinstance(each, Passed)]
    beside, counted = sum(each.beside for each in passed), sum(each.descriptors for each in passed)
    told = (
        f"{len(results)} runs of the adapter, each with one fault at one moment of a session: {len(PHASES)} phases, "
        f"{sum(bool(count) for count in counts.values())} faults. In each: the answer with the right code and reason "
        "in time, the text or the bytes that belong to it, every request of the client and of each host that still "
        "listens answered once, the next prompt with its words, an orderly end; and nothing left: no process below the "
        "adapter, no file, no traceback, no consent that was not given, no secret of its environment or its prompts "
        f"in the log, an error or a file. In {beside} of them a turn of another session ran on the side and was let "
        f"alone; in the {len(passed) - beside} others none could, or the adapter ended. In {counted} the descriptors "
        f"and the tasks of the adapter were counted in the end; in the {len(passed) - counted} others they end with "
        f"it. All were right, {second} of them when they were run a second time, alone; after {seconds / 60:.0f} "
        "minutes."
    )
    limits = ", ".join(f"{group} {most:g} s (longest {_longest(results, group)})" for group, most in LIMITS.items())
    reasons = Counter(reason for phase in PHASES for fault in FAULTS if (reason := why_not(phase, fault)) is not None)
    instead = {reason: reasons.pop(reason, 0) for reason in (STANDS, STANDS_END)}
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
        after=(
            f"The answer that is judged may take, by what the adapter can know of the fault: {limits}; {A_HOST:g} s "
            f"more for each host that the phase starts, {STOP_SECONDS:g} s where a user stops a turn that does not "
            f"end, {HELD_SECONDS:g} s where another host keeps the session, and what the fault itself waits. The "
            f"waits of these adapters are shortened. All that times {slowness:.1f}, which is how slow the machine was "
            f"then. The phases: "
            f"{', '.join(f'`{phase.name}`' for phase in PHASES)}. Left out, as something else stands for it there: "
            f"{_counted(instead)}. Cells that make no sense: {_counted(reasons)}."
        ),
    )


def _counted(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{reason} ({count})" for reason, count in sorted(reasons.items()))


if __name__ == "__main__":
    sys.exit(main())
