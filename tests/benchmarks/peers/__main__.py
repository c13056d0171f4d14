"""`python -m tests.benchmarks.peers`: install the peers, try each of them once, and say what came of it.

This needs a registry for what is not installed yet. The numbers are of one run each, so they say that a peer can be
measured and not more.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from tests.benchmarks.peers.install import PeerAdapter, peers
from tests.benchmarks.peers.running import NotMeasured
from tests.benchmarks.peers.start_up import spawn_to_initialize
from tests.benchmarks.peers.streaming import stream

INSTALLED_IN: Final = Path(__file__).resolve().parents[3] / ".interop" / "peers"
DELTAS: Final = 5000
ROW: Final = "{:20}{:>9}  {:>10}  {:>10}  {}"


def main() -> None:
    """One row for each peer."""
    print(ROW.format("", "version", "start, ms", "deltas/s", "not measured"))
    for peer in peers(INSTALLED_IN):
        print(row(peer), flush=True)


def row(peer: PeerAdapter) -> str:
    """What came of one of them."""
    start, rate, reasons = "-", "-", dict[str, None]()
    # Not below the directory for temporary files, where codex-acp does less.
    with tempfile.TemporaryDirectory(dir=INSTALLED_IN) as directory:
        try:
            spawn_to_initialize(peer, Path(directory))
            start = f"{spawn_to_initialize(peer, Path(directory)) * 1000:.0f}"
        except NotMeasured as error:
            reasons[str(error)] = None
    try:
        rate = f"{DELTAS / stream(peer, DELTAS):.0f}"
    except NotMeasured as error:
        reasons[str(error)] = None
    return ROW.format(peer.name, peer.version, start, rate, "; ".join(reasons)).rstrip()


if __name__ == "__main__":
    main()
