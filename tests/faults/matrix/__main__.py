"""`python -m tests.faults.matrix`: run the matrix, or `--only PHASE:FAULT`."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.faults.matrix.phases import Phase
from tests.faults.matrix.registry import Column, cells, run


def main() -> int:
    """The command line; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description=__doc__)
    parser.add_argument("--only", metavar="PHASE:FAULT", action="append", help="either may be * (may be repeated)")
    parser.add_argument("-j", type=int, default=4, metavar="N", help="cells at once (default: 4)")
    asked = parser.parse_args()
    chosen = [cell for cell in cells() if asked.only is None or any(_means(word, *cell) for word in asked.only)]
    began = time.monotonic()
    with ThreadPoolExecutor(asked.j) as pool:
        results = list(pool.map(lambda cell: _told(*cell), chosen))
    print(f"{len(chosen)} cells, {sum(map(bool, results))} wrong, {time.monotonic() - began:.0f} s")
    return 1 if any(results) else 0


def _means(word: str, phase: Phase, fault: Column) -> bool:
    wanted_phase, _, wanted_fault = word.partition(":")
    return wanted_phase in ("*", phase.name) and wanted_fault in ("*", "", fault.name)


def _told(phase: Phase, fault: Column) -> str | None:
    problem = _result(phase, fault)
    print(
        f"{'ok' if problem is None else 'WRONG':6} {phase.name}:{fault.name}" + (f"  {problem}" if problem else ""),
        flush=True,
    )
    return problem


def _result(phase: Phase, fault: Column) -> str | None:
    """What is wrong; None if nothing is."""
    try:
        run(phase, fault)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
