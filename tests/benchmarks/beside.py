"""What reading does to a turn that streams at the same time."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import orjson

from adapter.bridge.stored_output.contract import KEY, METHOD
from tests.benchmarks import paced_host
from tests.benchmarks.client import Client, Json, client
from tests.benchmarks.fast_host import REPOSITORY
from tests.benchmarks.measuring import Figure, percentile
from tests.benchmarks.reading import SHORT_BYTES, stored_output

READERS: Final = 10
DELTAS: Final = 2000
APART_SECONDS: Final = 0.005
PHASE_SECONDS: Final = 0.5
"""Reading and not reading take turns, so that a noisy machine is noisy for both."""

_SENT: Final = re.compile(rb'"text":"(\d+) ')


def delta_latency(home: Path, repository: Path, deltas: int) -> tuple[float, float]:
    """The 99th percentile of the milliseconds from a delta's sending at the host to its arrival at the client: while
    nothing else happens, and while ten sessions are read page by page."""
    muse = home / "muse-paced"
    muse.write_text(f"#!{sys.executable}\n{paced_host.script(repository)}")
    muse.chmod(0o755)
    with client(home, "--muse", str(muse)) as running:
        running.initialize(**{KEY: 1})
        outputs = [stored_output(running, home, "", SHORT_BYTES) for _ in range(READERS)]
        running.answer(METHOD, outputs[0])
        session_id = running.new_session(home)
        prompt = running.begin_prompt(session_id, f"paced {deltas} {APART_SECONDS}")
        quiet, busy = _latencies(running, prompt, outputs)
    return percentile(quiet, 99), percentile(busy, 99)


def _latencies(running: Client, prompt: int, outputs: Sequence[Json]) -> tuple[list[float], list[float]]:
    """Milliseconds of the deltas while nobody reads, and while all do."""
    found: tuple[list[float], list[float]] = ([], [])
    reads: dict[int, Json] = {}
    began = time.monotonic()
    while True:
        line = running.stdout.readline()
        now = time.monotonic_ns()
        reading = int((time.monotonic() - began) / PHASE_SECONDS) % 2 == 1
        sent = _SENT.search(line, 0, 500)
        if sent is not None:
            # A phase's last reads may end in the next one: a moment of slack belongs to neither.
            if bool(reads) == reading:
                found[reading].append((now - int(sent[1])) / 1e6)
            if reading and not reads:
                for output in outputs:
                    reads[running.ask(METHOD, output)] = output
            continue
        frame = orjson.loads(line)
        if frame.get("id") == prompt:
            return found
        if frame.get("id") in reads and (output := reads.pop(frame["id"])) and reading:
            result = frame["result"]
            following = 0 if result["eof"] else result["offsetBytes"] + result["byteLen"]
            again = {**output, "offsetBytes": following}
            reads[running.ask(METHOD, again)] = again


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """The delay of deltas, with readers and without."""
    quiet, busy = delta_latency(home, REPOSITORY, DELTAS // 4 if short else DELTAS)
    yield Figure(
        what=f"p99 of the delay of deltas, {READERS} readers, beyond that with none",
        value=busy - quiet,
        unit="ms",
        bound=2,
        margin=0.2,
        told=f"{busy:.2f} and {quiet:.2f} ms",
    )
