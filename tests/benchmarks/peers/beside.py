"""The peers beside this adapter and one composed of the official SDKs: how they start, and how they stream."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from adapter import __version__
from tests.benchmarks import start_up, streaming
from tests.benchmarks.client import ADAPTER, COMPOSED
from tests.benchmarks.fast_host import REPOSITORY, place
from tests.benchmarks.peers.install import PeerAdapter, peers
from tests.benchmarks.peers.row import DELTAS, PeerRow
from tests.benchmarks.peers.running import NotMeasured
from tests.benchmarks.peers.start_up import spawn_to_initialize
from tests.benchmarks.peers.streaming import stream

INSTALLED_IN: Final = REPOSITORY / ".interop" / "peers"
RUNS: Final = 3


class Measurable(NamedTuple):
    """An adapter, and how long it takes to start in a home, and to stream."""

    name: str
    version: str
    start: Callable[[Path], float]
    stream: Callable[[], float]


def measure(home: Path, *, runs: int = RUNS, found: list[PeerAdapter] | None = None) -> Iterator[PeerRow]:
    """A row for ours, for the composed one, and for each peer, which is installed if it can be."""
    muse = str(place(home, streaming.Streams, DELTAS))
    ours = _of_muse("muse-adapter", __version__, [*ADAPTER, "--muse", muse], home)
    composed = _of_muse("composed of the official SDKs", "", [*COMPOSED, "--muse", muse], home)
    others = [_of_peer(peer) for peer in (peers(INSTALLED_IN) if found is None else found)]
    for other in (ours, composed, *others):
        yield _beside(other, ours, home, runs)


def _of_muse(name: str, version: str, command: list[str], home: Path) -> Measurable:
    return Measurable(
        name, version, lambda at: start_up.initialized(command, at), lambda: streaming.through(command, home)
    )


def _of_peer(peer: PeerAdapter) -> Measurable:
    return Measurable(peer.name, peer.version, lambda at: spawn_to_initialize(peer, at), lambda: stream(peer, DELTAS))


def _beside(other: Measurable, ours: Measurable, home: Path, runs: int) -> PeerRow:
    reasons = dict[str, None]()

    def pairs(theirs: Callable[[], float], own: Callable[[], float]) -> tuple[float | None, float | None]:
        try:
            # The first time makes what is kept.
            theirs()
            taken = [(theirs(), own()) for _ in range(runs)]
        except NotMeasured as error:
            reasons[str(error)] = None
            return None, None
        return statistics.median(a for a, _ in taken), statistics.median(a / b for a, b in taken)

    # Not below the directory for temporary files, where codex-acp does less.
    INSTALLED_IN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALLED_IN) as directory:
        start, start_ratio = pairs(lambda: other.start(Path(directory)), lambda: ours.start(home))
    streamed, stream_ratio = pairs(other.stream, ours.stream)
    return PeerRow(
        name=other.name,
        version=other.version,
        start=start,
        start_ratio=start_ratio,
        stream=streamed,
        stream_ratio=stream_ratio,
        reason="; ".join(reasons),
    )
