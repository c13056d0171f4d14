"""`make load`: much of everything, in a small and a big form, each with an adapter of its own.

Names of loads do only those; `--write` keeps the figures. Exits 1 if anything is lost, doubled or wrong, if the log has
a traceback, or if memory or descriptors grow with the load.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.load.loads import LOADS, Load, Taken, measure
from tests.reliability import Figures

MORE_DESCRIPTORS: Final = 4
"""A host more, perhaps: one for reads that is kept a while."""

COLUMNS: Final = ["load", "small", "big", "peak, small", "peak, big", "descriptors", "time", "what came of it"]


def main() -> int:
    """Run, tell, and perhaps keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.load")
    parser.add_argument("names", nargs="*", choices=[*LOADS, []], help="which loads; all if none is named")
    parser.add_argument("--write", action="store_true", help="write the figures to docs/reliability.md")
    options = parser.parse_args()
    rows, failed = [], []
    for name in options.names or LOADS:
        load = LOADS[name]
        try:
            small, big = (_measured(load, size) for size in (load.small, load.big))
        except (AssertionError, OSError) as error:
            failed.append(f"{name}: {error!r}")
            print(failed[-1], flush=True)
        else:
            rows.append(_row(load, small, big))
            failed += _problems(load, small, big)
            print(" | ".join(rows[-1]), flush=True)
    print("\n".join(failed) or "nothing lost, nothing grows")
    if options.write and not failed:
        _figures(rows).keep("load", among=[_named(load) for load in LOADS.values()])
    return 1 if failed else 0


def _measured(load: Load, size: int) -> Taken:
    with tempfile.TemporaryDirectory() as folder:
        return measure(load, size, Path(folder))


def _problems(load: Load, small: Taken, big: Taken) -> list[str]:
    problems = []
    if big.peak > load.growth * small.peak:
        problems.append(f"{load.name}: {big.peak:.0f} MiB instead of {small.peak:.0f} MiB")
    for taken in (small, big):
        before, after = taken.descriptors
        if after > before + MORE_DESCRIPTORS:
            problems.append(f"{load.name}: {after} descriptors instead of {before}")
    return problems


def _row(load: Load, small: Taken, big: Taken) -> list[str]:
    return [
        _named(load),
        f"{load.small:,} {load.unit}",
        f"{load.big:,}",
        f"{small.peak:.0f} MiB",
        f"{big.peak:.0f} MiB",
        f"{big.descriptors[0]}, then {big.descriptors[1]}",
        f"{big.seconds:.0f} s",
        big.told,
    ]


def _most() -> str:
    """How much more the big form of a load may take."""
    usual = min(load.growth for load in LOADS.values())
    others = [f"{load.growth:g} times in `{load.name}`" for load in LOADS.values() if load.growth != usual]
    return f"{usual:g} times ({', '.join(others)})" if others else f"{usual:g} times"


def _named(load: Load) -> str:
    return f"{load.name}: {load.what}"


def _figures(rows: list[list[str]]) -> Figures:
    return Figures(
        title="Memory and back-pressure",
        command="make load",
        told=(
            "Much of one thing, to an adapter of its own each time, once so much and once about ten times as much. "
            "The peak is the most memory that the adapter had at any time, the descriptors those before and after, "
            "the time that of the big form. All that comes to the client is checked: text is whole and in order, each "
            "card ends as it should, stored output is compared byte by byte, each request is answered once, and the "
            "log has no traceback and nothing of the environment. A load fails if the peak of the big form is more "
            f"than {_most()} that of the small one, or if there are more than {MORE_DESCRIPTORS} descriptors more. "
            "Nothing is dropped; only pieces of one text that arrive together, or wait for a client that is slow, are "
            "joined."
        ),
        columns=COLUMNS,
        rows=rows,
        after=(
            "An answer or an output that comes in one line is held as a whole, so that the line of up to 10 MiB counts "
            "in `output`, and those of 9 MiB in `deaf-host`, of which 64 MiB may be open."
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
