"""From the start of the process to its first answers: `initialize`, and a new session."""

from __future__ import annotations

import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from adapter.bridge.stored_output.contract import KEY
from tests.benchmarks.client import ADAPTER, COMPOSED, client
from tests.benchmarks.fast_host import FastHost, place
from tests.benchmarks.measuring import RUNS, Figure, in_turn, milliseconds, ratio, seconds

FLOOR: Final = "import anyio, anyio._backends._asyncio, orjson"
"""The imports that a program cannot do without that speaks JSON on an event loop of anyio."""

STORED: Final = 6_000
SHORT_STORED: Final = 600
SIMULATED: Final = [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", "1.2.1"]


class Readable(FastHost):
    """A host of the version whose stored output can be read."""

    VERSION = "1.2.1"


def floor() -> float:
    return seconds(lambda: subprocess.run([sys.executable, "-c", FLOOR], check=True))


def initialized(command: Sequence[str], home: Path, **meta: int) -> float:
    """Seconds from the start of an adapter to its answer to `initialize`."""
    began = time.perf_counter()
    with client(home, command=command) as running:
        running.initialize(**meta)
        return time.perf_counter() - began


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """`initialize`, with and without what is known of the host; then a new session beside many stored ones."""
    yield from first_answer(home, runs=3 if short else RUNS)
    yield first_session(home, SHORT_STORED if short else STORED, runs=3 if short else RUNS)


def first_answer(home: Path, *, runs: int) -> Iterator[Figure]:
    muse = place(home, Readable)
    warm_home, cold_home = home / "warm", home / "cold"
    warm_home.mkdir()

    def ours(at: Path) -> float:
        return initialized([*ADAPTER, "--muse", str(muse)], at, **{KEY: 1})

    def cold() -> float:
        shutil.rmtree(cold_home, ignore_errors=True)
        cold_home.mkdir()
        return ours(cold_home)

    def version() -> float:
        return seconds(lambda: subprocess.run([muse, "--version"], check=True, stdout=subprocess.DEVNULL))

    def composed() -> float:
        return initialized([*COMPOSED, "--muse", str(muse)], warm_home)

    with client(warm_home, "--muse", str(muse)) as running:
        # What the host can do is known when a session has been opened.
        running.initialize(**{KEY: 1})
        running.new_session(home)
    bare, warm, other, unknown, asked = in_turn(floor, lambda: ours(warm_home), composed, cold, version, runs=runs)
    yield Figure(
        what="spawn to `initialize` answered / bare imports",
        value=ratio(warm, bare),
        bound=1.3,
        told=f"{milliseconds(warm)} and {milliseconds(bare)}",
    )
    yield Figure(
        what="the same for an adapter composed of the official SDKs / ours",
        value=ratio(other, warm),
        bound=5,
        at_least=True,
        told=f"{milliseconds(other)}",
    )
    excess = [(c - w) / v for c, w, v in zip(unknown, warm, asked, strict=True)]
    yield Figure(
        what="what an unknown host adds to it / one `muse --version`",
        value=statistics.median(excess),
        bound=1.15,
        told=f"{milliseconds(unknown)} instead of {milliseconds(warm)}, `--version` {milliseconds(asked)}",
    )


def first_session(home: Path, stored: int, *, runs: int) -> Figure:
    """How much longer a new session takes than its host alone, which starts while the client shakes hands."""
    many = home / "many"
    many.mkdir()
    muse = home / "muse"
    # A program of which is remembered what it can do.
    muse.write_text(f'#!/bin/sh\nexec {shlex.join(SIMULATED)} "$@"\n')
    muse.chmod(0o755)
    _store(many, str(muse), stored)

    def alone() -> float:
        began = time.perf_counter()
        with client(many, command=[str(muse), "serve"]) as running:
            running.answer("initialize", {"clientInfo": {"name": "bench", "version": "1"}})
            command_id = f"01a22df2-0e3f-7000-aeb6-{time.monotonic_ns() % 10**12:012d}"
            running.answer("session/start", {"workspaceRoot": str(many), "commandId": command_id})
            return time.perf_counter() - began

    def ours() -> float:
        with client(many, "--muse", str(muse)) as running:
            running.initialize()
            return seconds(lambda: running.new_session(many))

    host, session = in_turn(alone, ours, runs=runs)
    return Figure(
        what=f"`initialize` to `session/new` answered, {stored:,} stored sessions, beyond the host's own start",
        unit="ms",
        value=statistics.median(s - h for s, h in zip(session, host, strict=True)) * 1000,
        bound=10,
        told=f"{milliseconds(session)} and {milliseconds(host)}",
    )


def _store(home: Path, muse: str, count: int) -> None:
    """Sessions as the simulated host stores them: one that it has stored itself, so many times."""
    with client(home, "--muse", muse) as running:
        running.initialize()
        session_id = running.new_session(home)
        running.until_answered(running.begin_prompt(session_id, "hello"))
    (stored,) = home.rglob(session_id)
    for number in range(1, count):
        other = f"{session_id[:-6]}{number:06d}"
        copy = stored.with_name(other)
        copy.mkdir()
        for file in stored.iterdir():
            if file.name != "lease":
                (copy / file.name).write_bytes(file.read_bytes().replace(session_id.encode(), other.encode()))
