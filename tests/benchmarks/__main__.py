"""`make bench`: what the adapter costs, as ratios of two things measured in the same run (`measuring`).

Names of parts measure only those, `--short` a tenth of the work; a whole run writes `docs/performance.md` with
`--write`. Exits 1 if a bound is missed by more than the noise it allows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from tests.benchmarks import (
    beside,
    idling,
    loading,
    pacing,
    page,
    permission,
    reading,
    start_up,
    streaming,
    tool_output,
)
from tests.benchmarks.measuring import Figure


class Part(Protocol):
    def __call__(self, home: Path, *, short: bool = False) -> Iterator[Figure]: ...


PARTS: Final[dict[str, Part]] = {
    "start-up": start_up.measure,
    "streaming": streaming.measure,
    "pacing": pacing.measure,
    "tool-output": tool_output.measure,
    "loading": loading.measure,
    "permission": permission.measure,
    "reading": reading.measure,
    "beside": beside.measure,
    "idling": idling.measure,
}


def main() -> int:
    """Measure, and tell; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all if none is named")
    parser.add_argument("--short", action="store_true", help="a tenth of the work")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, if all of it was measured")
    options = parser.parse_args()
    figures: dict[str, list[Figure]] = {}
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory() as directory:
            figures[name] = [told(figure) for figure in PARTS[name](Path(directory), short=options.short)]
    if options.write and not options.parts and not options.short:
        page.keep(figures)
    return 0 if all(figure.holds for part in figures.values() for figure in part) else 1


def told(figure: Figure) -> Figure:
    """Print it as it comes."""
    holds = "ok    " if figure.holds else "MISSED"
    print(f"{holds}  {figure.what}: {figure.value:.2f} ({figure.limit}); {figure.told}", flush=True)
    return figure


if __name__ == "__main__":
    sys.exit(main())
