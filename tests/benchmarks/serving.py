"""Start-up, streaming and idleness."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.benchmarks import streaming_host
from tests.benchmarks.client import client, peak_memory, seconds, wake_ups

RUNS: Final = 7
DELTAS: Final = 100_000
IDLE_SECONDS: Final = 3.0

BASELINE_IMPORTS: Final = "import anyio, anyio._backends._asyncio, orjson"
REPOSITORY: Final = Path(__file__).resolve().parents[2]

# -- start-up


def start_up(home: Path) -> tuple[float, float]:
    """Seconds: the imports nobody can do without, and spawn to `initialize` answered."""

    def imports() -> None:
        subprocess.run([sys.executable, "-c", BASELINE_IMPORTS], check=True)

    def initialize() -> float:
        began = time.perf_counter()
        with client(home, "--muse", "simulated") as running:
            running.initialize()
            return time.perf_counter() - began

    initialize()
    pairs = [(seconds(imports), initialize()) for _ in range(RUNS)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


# -- streaming

BARE_LOOP: Final = """
import sys, orjson
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    out.write(orjson.dumps(orjson.loads(line)) + b"\\n")
out.flush()
"""


def bare_stream(deltas: Path) -> float:
    """Seconds for a blocking loop to parse, encode and write every line of `deltas`."""
    with deltas.open("rb") as source:
        feeder = subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE)
        loop = subprocess.Popen([sys.executable, "-c", BARE_LOOP], stdin=feeder.stdout, stdout=subprocess.PIPE)
    assert feeder.stdout is not None and loop.stdout is not None
    feeder.stdout.close()
    fd = loop.stdout.fileno()
    os.read(fd, 1)
    took = seconds(lambda: drain(fd))
    feeder.wait()
    loop.wait()
    loop.stdout.close()
    return took


def drain(fd: int) -> None:
    while os.read(fd, 1 << 20):
        pass


def adapter_stream(home: Path, host: Path) -> float:
    """Seconds from the first piece of a streamed answer at the client to the answer of the prompt."""
    with client(home, "--muse", str(host)) as running:
        running.initialize()
        running.begin_prompt(running.new_session(home), "go")
        fd = running.stdout.fileno()
        tail = os.read(fd, 1)

        def until_answered() -> None:
            nonlocal tail
            while b'"stopReason"' not in tail:
                tail = tail[-64:] + os.read(fd, 1 << 20)

        return seconds(until_answered)


def streaming(home: Path, items: int) -> tuple[float, float]:
    """Deltas a second: a bare loop, and the whole adapter. With more than one item no two neighbours can be merged."""
    deltas = home / f"deltas-{items}.ndjson"
    deltas.write_bytes(streaming_host.deltas(DELTAS, items))
    host = home / f"muse-{items}"
    host.write_text(f"#!{sys.executable}\n{streaming_host.script(REPOSITORY, DELTAS, items)}")
    host.chmod(0o755)
    pairs = [(bare_stream(deltas), adapter_stream(home, host)) for _ in range(RUNS)]
    return DELTAS / statistics.median(pair[0] for pair in pairs), DELTAS / statistics.median(pair[1] for pair in pairs)


# -- idle


def idle(home: Path) -> tuple[int, float]:
    """Wake-ups of an idle adapter with one host in `IDLE_SECONDS`, and its peak memory in MiB."""
    with client(home, "--muse", "simulated") as running:
        running.initialize()
        running.until_answered(running.begin_prompt(running.new_session(home), "hello"))
        time.sleep(1.0)
        before = wake_ups(running.process.pid)
        time.sleep(IDLE_SECONDS)
        return wake_ups(running.process.pid) - before, peak_memory(running.process.pid)
