"""How long the answer may take that is judged, by what was wrong. Not counted is how long the driver makes the host
stand still, and how long a user waits before a turn is stopped."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.faults.matrix.fault import Fault, Group
from tests.faults.matrix.phases import Phase

OWN: Final = 1.0
"""For what the adapter does itself."""

A_HOST: Final = 2.5
"""For a host that is started, asked what it can do, and told of the session."""

A_WAIT: Final = 2.0
"""The waits of these adapters for an answer (`cell.HURRY`)."""

LIMITS: Final[Mapping[Group, float]] = {
    "harmless": OWN,
    "refused": OWN,
    "malformed": OWN + A_WAIT,
    "gone": OWN + A_HOST,
    "lost": OWN + 2 * A_WAIT,
    "deaf": OWN + 2 * A_WAIT + A_HOST,
    "mute": OWN + 2 * A_WAIT + A_HOST,
}
"""By what the adapter can know of the fault. What it has to wait for in vain may be two things in a row."""

MOST_SLOW: Final = 4.0
"""The limits are never longer than that many times: on a machine that is slower they would show nothing."""

REFERENCE: Final = 0.16
"""Seconds for `_work` on the machine for which these limits are told."""

_WORK: Final = "import asyncio, json, subprocess, typing; sum(range(1_000_000))"


def limit(phase: Phase, fault: Fault) -> float:
    """Seconds for an answer, on the machine at hand."""
    hosts = A_HOST * phase.hosts
    return (LIMITS[fault.group] + fault.seconds + phase.seconds + hosts) * slowness()


_measured: list[float] = []


def measure(at_once: int = 1) -> float:
    """How much slower than the reference the machine is while so many cells run."""
    with ThreadPoolExecutor(at_once) as pool:
        seconds = list(pool.map(lambda _: _work(), range(2 * at_once + 1)))
    _measured[:] = [min(MOST_SLOW, max(1.0, statistics.median(seconds) / REFERENCE))]
    return _measured[0]


def slowness() -> float:
    """As measured once."""
    return _measured[0] if _measured else measure()


def _work() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", _WORK], check=True)
    return time.monotonic() - began
