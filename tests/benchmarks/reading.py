"""Reading stored output: how fast, with how much memory, with how many questions to the host."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from adapter.bridge.stored_output.contract import DEFAULT_LENGTH, KEY, MAX_LENGTH, METHOD
from adapter.hosts.simulated.witness import ENVIRONMENT as WITNESS
from tests.benchmarks.client import LINE_BUFFER, Client, Json, bare_environ, client, memory, peak_memory
from tests.benchmarks.measuring import Figure, seconds

RUNS: Final = 5
SHORT_BYTES: Final = 300_000
LONG_BYTES: Final = 64 * 1024 * 1024
PAGE_MIB: Final = (MAX_LENGTH + 2) // 3 * 4 / 2**20
"""What a page of 1 MiB takes in base64, as which it comes and goes."""

HOST: Final = [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", "1.2.1", "serve"]


def stored_output(running: Client, home: Path, kind: str, size: int) -> Json:
    """The params of a read of a new output of a new session."""
    session_id = running.new_session(home)
    frames = running.until_answered(running.begin_prompt(session_id, f"shell {kind} {size}"))
    handles = [frame["params"]["update"].get("_meta", {}).get(KEY) for frame in frames[:-1]]
    handle = next(handle for handle in handles if handle is not None)
    return {"sessionId": session_id, "itemId": handle["itemId"], "outputRef": handle["outputRef"]}


def read_whole(running: Client, output: Json, length: int) -> int:
    """Read page by page to the end; gives the number of pages."""
    offset = pages = 0
    while True:
        page = running.answer(METHOD, {**output, "offsetBytes": offset, "lengthBytes": length})
        offset += page["byteLen"]
        pages += 1
        if page["eof"]:
            return pages


# -- a warm read host


def warm_and_cold(home: Path, runs: int) -> tuple[float, float]:
    """Seconds to read 300,000 bytes in pages of the default length: with a read host that is there, and with one for
    each page."""

    def reads(*args: str) -> float:
        with client(home, "--muse", "simulated:1.2.1", *args) as running:
            running.initialize(**{KEY: 1})
            output = stored_output(running, home, "", SHORT_BYTES)
            read_whole(running, output, SHORT_BYTES)
            return seconds(lambda: read_whole(running, output, DEFAULT_LENGTH))

    pairs = [(reads(), reads("--read-host-idle", "0")) for _ in range(runs)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


# -- a long output

PASS_ON: Final = """
import subprocess, sys
pipe = subprocess.PIPE
host = subprocess.Popen(sys.argv[2:], bufsize=int(sys.argv[1]), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    host.stdin.write(line)
    host.stdin.flush()
    out.write(host.stdout.readline())
    out.flush()
host.stdin.close()
host.wait()
"""


class Bare(Client):
    """A client behind a blocking loop that hands lines on between it and a host, unread."""

    def __init__(self, home: Path, *host: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PASS_ON, str(LINE_BUFFER), *(host or HOST)],
            bufsize=LINE_BUFFER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=bare_environ(home),
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._next_id = 0
        self.answer("initialize", {"clientInfo": {"name": "bench", "version": "1"}, "capabilities": {}})

    def close(self) -> None:
        self.stdin.close()
        self.process.wait()
        self.stdout.close()


def move_all(running: Client, method: str, output: Json) -> None:
    """Ask for all pages of the long output, one after the other, and read the lines."""
    for offset in range(0, LONG_BYTES, MAX_LENGTH):
        running.ask(method, {**output, "offsetBytes": offset, "lengthBytes": MAX_LENGTH})
        line = running.stdout.readline()
        assert len(line) > MAX_LENGTH, line


def long_output(home: Path, runs: int) -> tuple[float, float, float]:
    """MiB of output a second, by a bare loop and by the adapter; and by how many MiB its memory grew at most."""
    with client(home, "--muse", "simulated:1.2.1") as running:
        running.initialize(**{KEY: 1})
        output = stored_output(running, home, "binary", LONG_BYTES)
        idle = memory(running.process.pid)
        running.answer(METHOD, {**output, "lengthBytes": 1})
        bare = Bare(home)
        try:
            pairs = [
                (
                    seconds(lambda: move_all(bare, "item/readOutput", output)),
                    seconds(lambda: move_all(running, METHOD, output)),
                )
                for _ in range(runs)
            ]
        finally:
            bare.close()
        growth = peak_memory(running.process.pid) - idle
    rates = [LONG_BYTES / 2**20 / statistics.median(pair[side] for pair in pairs) for side in (0, 1)]
    return rates[0], rates[1], growth


# -- questions


def questions_of_a_read(home: Path) -> Counter[str]:
    """What a warm read host is asked for one read of an item on the first page of the history."""
    witness = home / "witness.ndjson"
    with client(home, "--muse", "simulated:1.2.1", **{WITNESS: str(witness)}) as running:
        running.initialize(**{KEY: 1})
        output = stored_output(running, home, "", SHORT_BYTES)
        running.answer(METHOD, output)
        before = list(asked_of_read_hosts(witness))
        running.answer(METHOD, output)
    return Counter(list(asked_of_read_hosts(witness))[len(before) :])


def asked_of_read_hosts(witness: Path) -> Iterator[str]:
    for line in witness.read_bytes().splitlines():
        call = orjson.loads(line)
        if "--disable-write" in call["flags"]:
            yield call["method"]


# -- all of it


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """How fast, with how much memory, with how many questions."""
    warm, cold = warm_and_cold(home, 3 if short else RUNS)
    yield Figure(
        what="300,000 bytes, a host for each page / a warm host",
        value=cold / warm,
        bound=15,
        at_least=True,
        told=f"{cold * 1000:.0f} and {warm * 1000:.0f} ms",
    )
    bare, through, growth = long_output(home, 3 if short else RUNS)
    yield Figure(
        what="64 MiB of stored output in pages of 1 MiB / the limit",
        value=through / bare,
        bound=0.7,
        at_least=True,
        told=f"{through:.0f} and {bare:.0f} MiB/s",
    )
    yield Figure(what="growth of the memory meanwhile, pages in base64", value=growth / PAGE_MIB, bound=4, margin=0)
    asked = questions_of_a_read(home)
    yield Figure(
        what="questions to the host of one read",
        value=asked.total(),
        bound=3,
        margin=0,
        told=", ".join(f"{count} {method}" for method, count in asked.items()),
    )
