"""How long a peer takes from its start to the answer of `initialize`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from tests.benchmarks.peers.install import PeerAdapter
from tests.benchmarks.peers.running import running

START_SECONDS: Final = 30.0


def spawn_to_initialize(peer: PeerAdapter, home: Path, seconds: float = START_SECONDS) -> float:
    """Seconds. What a peer keeps in an empty home it makes at its first start, so the first run there takes longer.

    Raises:
        NotMeasured: it cannot be started, or gave no answer in time.
    """
    began = time.perf_counter()
    with running(peer, home, seconds) as client:
        client.initialize()
        return time.perf_counter() - began
