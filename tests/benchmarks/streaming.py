"""A long answer through the whole adapter, as fast as the client reads; beside the limit, and beside what one would
compose of the official SDKs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from tests.benchmarks.client import ADAPTER, COMPOSED, Json, client, cpu_seconds
from tests.benchmarks.fast_host import TURN, FastHost, delta, event, item_id, place
from tests.benchmarks.measuring import RUNS, Figure, in_turn, milliseconds, ratio, seconds

COUNTS: Final = (2_000, 20_000, 200_000)
SHORT_COUNTS: Final = (20_000,)
"""Fewer are over before a busy machine has given both of them their turn."""

COMPOSED_RUNS: Final = 3

AT_ONCE: Final = 1 << 20
"""Bytes that the client reads at once."""

LIMIT: Final = """
import sys, orjson
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    out.write(orjson.dumps(orjson.loads(line)) + b"\\n")
out.flush()
"""
"""A bare blocking loop: each line parsed, encoded, written."""


def word(number: int) -> str:
    """The text of one delta."""
    return f"word {number:06d} of the answer "


def pieces(count: int, items: int) -> bytes:
    """So many deltas, which belong to `items` messages in turn."""
    return b"".join(
        delta(number, item_id(number % items), word(number), emittedAtMs=1754590941100)
        for number in range(1, count + 1)
    )


class Streams(FastHost):
    """Answers a prompt with so many deltas of `items` messages."""

    def __init__(self, out: BinaryIO, count: int, items: int = 1) -> None:
        super().__init__(out)
        started = [
            {"itemId": item_id(number), "turnId": TURN, "kind": "agentMessage", "revision": 1, "status": "inProgress"}
            for number in range(items)
        ]
        begin = [event("item/started", item={**item, "text": ""}) for item in started]
        end = event("turn/completed", turnId=TURN, terminal="completed")
        self.answer = b"".join([*begin, pieces(count, items), end])

    def on_turn_start(self, params: Json) -> Json:
        self.behind = event("turn/started", turnId=TURN, commandId=params["commandId"]) + self.answer
        return super().on_turn_start(params)


def limit(deltas: Path) -> float:
    """Seconds for a bare loop, from its first byte on."""
    return _limit(deltas)[0]


def limit_cpu(deltas: Path) -> float:
    """Seconds of CPU of it, from that byte on."""
    return _limit(deltas)[1]


def _limit(deltas: Path) -> tuple[float, float]:
    with deltas.open("rb") as source:
        feeder = subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE)
        loop = subprocess.Popen([sys.executable, "-c", LIMIT], stdin=feeder.stdout, stdout=subprocess.PIPE)
    assert feeder.stdout is not None and loop.stdout is not None
    feeder.stdout.close()
    fd = loop.stdout.fileno()
    os.read(fd, 1)
    before = cpu_seconds(loop.pid)
    took = seconds(lambda: _drain(fd))
    feeder.wait()
    # Only then is what it has used final, and it is gone with the wait.
    _, _, usage = os.wait4(loop.pid, 0)
    loop.returncode = 0
    loop.stdout.close()
    return took, usage.ru_utime + usage.ru_stime - before


def _drain(fd: int) -> None:
    while os.read(fd, AT_ONCE):
        pass


def through(command: Sequence[str], home: Path) -> float:
    """Seconds through an adapter, from the first byte of the answer at the client to the answer of the prompt."""
    with client(home, command=command) as running:
        running.initialize()
        running.begin_prompt(running.new_session(home), "go")
        fd = running.stdout.fileno()
        tail = os.read(fd, 1)

        def until_answered() -> None:
            nonlocal tail
            while b'"stopReason"' not in tail:
                tail = tail[-64:] + os.read(fd, AT_ONCE)

        return seconds(until_answered)


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """For answers of growing length; then for one of which no two neighbours can be merged."""
    for count in SHORT_COUNTS if short else COUNTS:
        yield beside_limit(home, count, 1, short=short)
    yield beside_limit(home, COUNTS[1], 2, short=short)
    yield beside_composed(home, COUNTS[0] if short else COUNTS[1])


def beside_limit(home: Path, count: int, items: int, *, short: bool) -> Figure:
    deltas = home / f"deltas-{count}-{items}.ndjson"
    deltas.write_bytes(pieces(count, items))
    muse = place(home, Streams, count, items)
    bare, ours = in_turn(
        lambda: limit(deltas), lambda: through([*ADAPTER, "--muse", str(muse)], home), runs=3 if short else RUNS
    )
    rates = [count / statistics.median(each) / 1000 for each in (ours, bare)]
    what = "one message" if items == 1 else f"{items} messages in turn"
    return Figure(
        what=f"streaming, {count:,} deltas of {what} / the limit",
        value=ratio(bare, ours),
        bound=0.5 if items == 1 else 0.35,
        at_least=True,
        told=f"{rates[0]:.0f} and {rates[1]:.0f} thousand a second",
    )


def beside_composed(home: Path, count: int) -> Figure:
    """What one would compose takes quadratic time, so that there are few runs."""
    muse = str(place(home, Streams, count))
    composed = [*COMPOSED, "--muse", muse]
    other, ours = in_turn(
        lambda: through(composed, home), lambda: through([*ADAPTER, "--muse", muse], home), runs=COMPOSED_RUNS
    )
    return Figure(
        what=f"streaming, {count:,} deltas, an adapter composed of the official SDKs / ours, time",
        value=ratio(other, ours),
        bound=1,
        at_least=True,
        told=f"{milliseconds(other)} and {milliseconds(ours)}",
    )
