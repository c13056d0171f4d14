"""Deltas that come one by one: how long each takes through the adapter, and how much work it is."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Final

from tests.benchmarks.client import Client, Json, bare_environ, client, cpu_seconds
from tests.benchmarks.fast_host import SESSION, TURN, FastHost, delta, event, item_id, line, place
from tests.benchmarks.measuring import Figure, percentile

A_SECOND: Final = 1000
SECONDS: Final = 5.0
ROUNDS: Final = 5

SESSIONS: Final = 50
A_SESSION: Final = 100
"""Deltas a second of each of the sessions."""

TICK: Final = 0.001
"""Seconds between two writes of the host."""

RELAY: Final = """
import os, subprocess, sys, threading
host = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def up():
    while data := os.read(0, 65536):
        host.stdin.write(data)
    host.stdin.close()
threading.Thread(target=up, daemon=True).start()
while data := os.read(host.stdout.fileno(), 65536):
    os.write(1, data)
"""
"""What adds next to nothing: bytes are handed on unread."""

LIVE_LIMIT: Final = """
import sys, orjson
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    out.write(orjson.dumps(orjson.loads(line)) + b"\\n")
    out.flush()
"""
"""A bare blocking loop that hands on each line as it comes."""

_SENT: Final = re.compile(rb'"(?:text|delta)":"((?:[0-9]{9,} )+)"')


class Paced(FastHost):
    """When `sessions` prompts have come, streams to all of them in turn, so many deltas a second in all, for so many
    seconds; each delta says when it was sent. Then it ends their turns."""

    def __init__(self, out: BinaryIO, sessions: int, a_second: int, for_seconds: float) -> None:
        super().__init__(out)
        self._sessions, self._a_second, self._seconds = sessions, a_second, for_seconds
        self._asked: list[str] = []

    def on_turn_start(self, params: Json) -> Json:
        session_id = params["sessionId"]
        self._asked.append(session_id)
        turn_id = f"{TURN[:-6]}{len(self._asked):06d}"
        message = {"itemId": item_id(len(self._asked)), "turnId": turn_id, "kind": "agentMessage", "revision": 1}
        self.behind = event("turn/started", session_id, turnId=turn_id, commandId=params["commandId"])
        self.behind += event("item/started", session_id, item={**message, "status": "inProgress", "text": ""})
        return {**super().on_turn_start(params), "turnId": turn_id}

    def take(self, frame: Json) -> None:
        super().take(frame)
        if frame.get("method") == "turn/start" and len(self._asked) == self._sessions:
            self._stream()
            for number, session_id in enumerate(self._asked, 1):
                turn_id = f"{TURN[:-6]}{number:06d}"
                self.out.write(event("turn/completed", session_id, turnId=turn_id, terminal="completed"))
            self.out.flush()

    def _stream(self) -> None:
        began, sent = time.monotonic(), 0
        while (passed := time.monotonic() - began) < self._seconds:
            while sent < passed * self._a_second:
                number = sent % len(self._asked)
                text = f"{time.monotonic_ns()} "
                self.out.write(delta(sent + 1, item_id(number + 1), text, self._asked[number]))
                sent += 1
            self.out.flush()
            time.sleep(TICK)


# -- how long


def delays(running: Client, request_id: int) -> list[float]:
    """Milliseconds from the sending of each delta to its arrival, until the turn has ended."""
    found: list[float] = []
    while True:
        received = running.stdout.readline()
        now = time.monotonic_ns()
        for sent in _SENT.findall(received):
            found += [(now - int(each)) / 1e6 for each in sent.split()]
        if b'"turn/completed"' in received or (
            b'"stopReason"' in received and f'"id":{request_id}'.encode() in received
        ):
            return found


def relayed(muse: Path, home: Path) -> list[float]:
    """The delays behind a bare relay."""
    with client(home, command=[sys.executable, "-c", RELAY, str(muse), "serve"]) as running:
        running.answer("session/start", {})
        return delays(running, running.ask("turn/start", {"sessionId": SESSION, "commandId": "1"}))


def adapted(muse: Path, home: Path) -> list[float]:
    """The delays behind the adapter."""
    with client(home, "--muse", str(muse)) as running:
        running.initialize()
        return delays(running, running.begin_prompt(running.new_session(home), "go"))


def delay(home: Path, *, short: bool = False) -> Iterator[Figure]:
    muse = place(home, Paced, 1, A_SECOND, SECONDS / 5 if short else SECONDS)
    adapted(muse, home)
    pairs = [(relayed(muse, home), adapted(muse, home)) for _ in range(3 if short else ROUNDS)]
    for percent, bound in ((50, 0.3), (99, 2.0)):
        bare, ours = ([percentile(each[side], percent) for each in pairs] for side in (0, 1))
        yield Figure(
            what=f"added delay at {A_SECOND:,} deltas a second, p{percent}",
            unit="ms",
            value=statistics.median(b - a for a, b in zip(bare, ours, strict=True)),
            bound=bound,
            margin=0.2,
            told=f"{statistics.median(ours):.2f} ms, {statistics.median(bare):.2f} ms through a bare relay",
        )


# -- how much work


@contextmanager
def bare_loop(muse: Path, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """The host, and behind it the loop."""
    environ = bare_environ(home)
    host = subprocess.Popen([str(muse), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    loop = subprocess.Popen([sys.executable, "-c", LIVE_LIMIT], stdin=host.stdout, stdout=subprocess.PIPE, env=environ)
    assert host.stdin is not None and host.stdout is not None and loop.stdout is not None
    host.stdout.close()
    try:
        yield host, loop
    finally:
        host.stdin.close()
        host.wait(15)
        loop.wait(15)
        loop.stdout.close()


def work_of_loop(muse: Path, home: Path) -> float:
    """Seconds of CPU of the bare loop for one delta."""
    with bare_loop(muse, home) as (host, loop):
        assert host.stdin is not None and loop.stdout is not None
        for number in range(SESSIONS):
            host.stdin.write(line({"id": f"n{number}", "method": "session/start", "params": {}}))
            host.stdin.flush()
            session_id = f"{SESSION[:-6]}{number:06d}" if number else SESSION
            asked = {"sessionId": session_id, "commandId": str(number)}
            host.stdin.write(line({"id": f"t{number}", "method": "turn/start", "params": asked}))
            host.stdin.flush()
        return _work(loop.pid, loop.stdout, b'"turn/completed"', SESSIONS)


def work_of_adapter(muse: Path, home: Path) -> float:
    """Seconds of CPU of the adapter for one delta."""
    with client(home, "--muse", str(muse)) as running:
        running.initialize()
        sessions = [running.new_session(home) for _ in range(SESSIONS)]
        for session_id in sessions:
            running.begin_prompt(session_id, "go")
        return _work(running.process.pid, running.stdout, b'"stopReason"', SESSIONS)


def _work(pid: int, out: IO[bytes], end: bytes, ends: int) -> float:
    """CPU for one delta, from the first delta to the last end."""
    pieces, before = 0, 0.0
    while ends:
        received = out.readline()
        found = sum(len(sent.split()) for sent in _SENT.findall(received))
        if found and not pieces:
            before = cpu_seconds(pid)
        pieces += found
        ends -= end in received
    return (cpu_seconds(pid) - before) / pieces


def work(home: Path, *, short: bool = False) -> Iterator[Figure]:
    muse = place(home, Paced, SESSIONS, SESSIONS * A_SESSION, SECONDS / 5 if short else SECONDS)
    pairs = [(work_of_loop(muse, home), work_of_adapter(muse, home)) for _ in range(3 if short else ROUNDS)]
    bare, ours = ([pair[side] for pair in pairs] for side in (0, 1))
    yield Figure(
        what=f"CPU for a delta, {SESSIONS} sessions with {A_SESSION} a second each / the limit's",
        value=statistics.median(b / a for a, b in pairs),
        bound=2.5,
        told=f"{_microseconds(ours)} and {_microseconds(bare)}",
    )


def _microseconds(values: Sequence[float]) -> str:
    return f"{statistics.median(values) * 1e6:.0f} µs"


def measure(home: Path, *, short: bool = False) -> Iterator[Figure]:
    """Both."""
    yield from delay(home, short=short)
    yield from work(home, short=short)
