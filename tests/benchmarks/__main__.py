"""`make bench`: what the adapter costs, as ratios of two things measured in the same run (`measuring`).

Names of parts measure only those, `--short` a tenth of the work; a whole run writes `docs/performance.md` with
`--write`. Exits 1 if a bound is missed by more than the noise it allows. `--compare` is `make speed` (`compare`):
bounds do not count there, only what the last whole run has kept.
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
from tests.benchmarks.compare import COMPARED, compare
from tests.benchmarks.growth import measure as growth
from tests.benchmarks.measuring import Figure
from tests.benchmarks.peers import beside as peers
from tests.benchmarks.peers.row import PeerRow


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
    "growth": growth.measure,
}
PEERS: Final = "peers"
"""The part without bounds: others are what they are."""


def main() -> int:
    """Measure, and tell; 1 if a bound is missed, or something has become clearly worse."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, PEERS, []], help="which parts; all if none is named")
    parser.add_argument("--short", action="store_true", help="a tenth of the work")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md, if all of it was measured")
    parser.add_argument("--compare", action="store_true", help="compare a short form with the last whole run")
    options = parser.parse_args()
    if options.compare:
        return compared()
    wanted = options.parts or [*PARTS, PEERS]
    figures = {name: measured(name, short=options.short) for name in wanted if name != PEERS}
    rows = beside_peers() if PEERS in wanted and not (options.short and not options.parts) else []
    if options.write and not options.parts and not options.short:
        print("the short form, to be compared with:", flush=True)
        page.keep(figures, {name: measured(name, short=True, judged=False) for name in COMPARED}, rows)
    return 0 if all(figure.holds for part in figures.values() for figure in part) else 1


def compared() -> int:
    """Compare with what is kept; 1 if something is clearly worse."""
    kept = page.kept()
    if kept is None or not kept.short:
        print("There is nothing to compare with yet: run `make bench`.")
        return 0
    print(f"Compared with {kept.when}, {kept.where}.", flush=True)
    worse = compare(
        kept.short, lambda name: measured(name, short=True, judged=False), lambda line: print(line, flush=True)
    )
    print(*worse or ["Nothing is clearly worse."], sep="\n")
    return 1 if worse else 0


def measured(name: str, *, short: bool, judged: bool = True) -> list[Figure]:
    """The figures of a part, each printed as it comes."""
    with tempfile.TemporaryDirectory() as directory:
        return [told(figure, judged) for figure in PARTS[name](Path(directory), short=short)]


def beside_peers() -> list[PeerRow]:
    """The rows of the peers, each printed as it comes."""
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        for row in peers.measure(Path(directory)):
            print(row.row(), flush=True)
            rows.append(row)
    return rows


def told(figure: Figure, judged: bool) -> Figure:
    """Print it as it comes, and whether it holds if that counts: bounds are for the whole form."""
    holds, limit = ("ok      " if figure.holds else "MISSED  ", f" ({figure.limit})") if judged else ("", "")
    print(f"{holds}{figure.what}: {figure.measured}{limit}; {figure.told}", flush=True)
    return figure


if __name__ == "__main__":
    sys.exit(main())
