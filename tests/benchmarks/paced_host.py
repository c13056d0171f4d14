"""The simulated host with one more script: a steady stream of deltas that say when they were sent."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from adapter.hosts.simulated import scripts
from adapter.hosts.simulated.__main__ import main as simulated
from adapter.hosts.simulated.steps import Completed, Delta, Script, Started, Wait
from adapter.hosts.simulated.turn import Turn


def paced(turn: Turn) -> Script:
    """`paced N SECONDS`: N deltas, so many seconds apart, each with the nanosecond it was sent at."""
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    for _ in range(turn.number(1, 100)):
        yield Wait(turn.seconds(2, 0.01))
        yield Delta(message, f"{time.monotonic_ns()} ")
    yield Completed(message, {"messagePhase": "finalAnswer"})


def script(repository: Path) -> str:
    """The text of an executable that is such a host, without its first line."""
    lines = [
        "import sys",
        f"sys.path.insert(0, {str(repository)!r})",
        "from tests.benchmarks.paced_host import main",
        "main()",
    ]
    return "\n".join(lines)


def main() -> None:
    """Be `muse`, version 1.2.1."""
    scripts._SCRIPTS["paced"] = paced
    sys.exit(simulated(["--profile", "1.2.1", *sys.argv[1:]]))
