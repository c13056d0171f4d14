"""What an adapter does while nothing happens, and what it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks.client import client, memory, wake_ups
from tests.benchmarks.measuring import Figure

SECONDS: Final = 60.0
SHORT_SECONDS: Final = 5.0

SETTLED: Final = 2.0
"""Seconds after which nothing of the last turn is left to be done."""


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """With one host and one session that has had a turn."""
    idle = SHORT_SECONDS if short else SECONDS
    with client(home, "--muse", "simulated") as running:
        running.initialize()
        running.until_answered(running.begin_prompt(running.new_session(home), "hello"))
        time.sleep(SETTLED)
        before = wake_ups(running.process.pid)
        time.sleep(idle)
        woken, resident = wake_ups(running.process.pid) - before, memory(running.process.pid)
    yield Figure(what=f"wake-ups in {idle:g} idle seconds", value=woken, bound=0, margin=0)
    yield Figure(what="resident memory of an idle adapter", value=resident, unit="MiB", bound=45, margin=0.05)
