"""`make bench`: what the adapter costs, as ratios of two things measured in the same run.

The two sides of a ratio take turns, so that a noisy machine is noisy for both, and what counts is the median. Exits 1
if a bound is missed.
"""

from __future__ import annotations

import compileall
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks.beside import delta_latency
from tests.benchmarks.reading import PAGE_MIB, long_output, questions_of_a_read, warm_and_cold
from tests.benchmarks.serving import IDLE_SECONDS, REPOSITORY, idle, start_up, streaming

ONE_OF_EACH: Final = {"session/read": 1, "view/page": 1, "item/readOutput": 1}


def report(what: str, value: float, bound: str, holds: bool, details: str = "") -> bool:
    print(f"{'ok    ' if holds else 'MISSED'}  {what:46} {value:8.2f}  (bound: {bound})  {details}", flush=True)
    return holds


def serving(home: Path) -> Iterator[bool]:
    """Start-up, streaming and idleness."""
    imports, initialize = start_up(home)
    ratio, details = initialize / imports, f"{initialize * 1000:.0f} ms / {imports * 1000:.0f} ms"
    yield report("initialize answered / bare imports", ratio, "at most 1.6", ratio <= 1.6, details)
    for items, what in ((1, "one message"), (2, "two messages in turn, nothing to merge")):
        bare, through = streaming(home, items)
        ratio, details = through / bare, f"{through / 1000:.0f} k/s / {bare / 1000:.0f} k/s, {what}"
        yield report(f"deltas through the adapter / bare loop, {items}", ratio, "at least 0.35", ratio >= 0.35, details)
    woken, memory = idle(home)
    yield report(f"wake-ups in {IDLE_SECONDS:g} idle seconds", woken, "0", woken == 0)
    yield report("peak memory, MiB", memory, "below 60", memory < 60)


def reading(home: Path) -> Iterator[bool]:
    """Stored output."""
    warm, cold = warm_and_cold(home)
    ratio, details = cold / warm, f"{cold * 1000:.0f} ms / {warm * 1000:.0f} ms"
    yield report("300,000 bytes, a host a page / a warm host", ratio, "at least 15", ratio >= 15, details)
    bare, through, growth = long_output(home)
    ratio, details = through / bare, f"{through:.0f} MiB/s / {bare:.0f} MiB/s"
    yield report("64 MiB through the adapter / bare loop", ratio, "at least 0.5", ratio >= 0.5, details)
    pages, details = growth / PAGE_MIB, f"{growth:.2f} MiB, a page is {PAGE_MIB:.2f} MiB of base64"
    yield report("growth of its memory meanwhile, pages", pages, "below 4", pages < 4, details)
    asked = questions_of_a_read(home)
    details = ", ".join(f"{count} {method}" for method, count in asked.items())
    yield report("questions to the host of one read", asked.total(), "one of each", asked == ONE_OF_EACH, details)
    quiet, busy = delta_latency(home, REPOSITORY)
    ratio, details = busy / quiet, f"{busy:.2f} ms / {quiet:.2f} ms"
    yield report("p99 of delta latency, ten readers / none", ratio, "at most 2", ratio <= 2, details)


def main() -> int:
    """Measure everything, or the parts that are named; 1 if a bound is missed."""
    # Bytecode, as an installation has it, whatever the environment says about writing it.
    for package in ("adapter", "host_probe"):
        compileall.compile_dir(REPOSITORY / package, quiet=1)
    parts = {"serving": serving, "reading": reading}
    results: list[bool] = []
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as directory:
            results += parts[name](Path(directory))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
