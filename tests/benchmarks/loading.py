"""Loading a long session: how fast its history gets to the client, and how soon the first of it."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns, perf_counter
from typing import BinaryIO, Final

import msgspec
import orjson

from tests.benchmarks.bare_loop import BareLoop, bare_loop
from tests.benchmarks.client import Client, Json, client
from tests.benchmarks.fast_host import SESSION, TURN, FastHost, item_id, place, stored
from tests.benchmarks.measuring import RUNS, Figure, in_turn, milliseconds, ratio

__all__ = ["HistoryHost"]

ITEMS: Final = 20_000
TURN_ITEMS: Final = 4

SHORT: Final = 10
"""The short form has this many times less to do."""

SHORT_RUNS: Final = 3

PAGE_EVENTS: Final = 200
"""More are not served at once."""

FIRST_MS: Final = 50

UNSENT: Final = b"at 0000000000000000000"
"""In the first prompt, until its page is sent: then it says when that was, in nanoseconds."""
_SENT: Final = re.compile(UNSENT.replace(b"0" * 19, b"(\\d{19})"))

ASKED: Final = "Please look at the next file, and tell what could be simpler in it."
SAID: Final = "The file has two functions that do nearly the same; one of them can call the other. " * 4
PRINTED: Final = "     1\tdef area(width: float, height: float) -> float:\n     2\t    return width * height\n" * 8

BARE_LOOP: Final = """
import subprocess, sys, orjson
out, ask = sys.stdout.buffer, {"jsonrpc": "2.0", "id": 1, "method": "view/page"}
host = subprocess.Popen([sys.argv[1], "serve"], bufsize=1 << 20, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
host.stdin.write(orjson.dumps({**ask, "method": "initialize", "params": {}}) + b"\\n")
host.stdin.flush()
host.stdout.readline()
out.write(b"{}\\n")
out.flush()
for _ in sys.stdin.buffer:
    params = {"sessionId": sys.argv[2], "limit": int(sys.argv[3])}
    while True:
        host.stdin.write(orjson.dumps({**ask, "params": params}) + b"\\n")
        host.stdin.flush()
        page = orjson.loads(host.stdout.readline())["result"]
        for event in page["events"]:
            out.write(orjson.dumps(event) + b"\\n")
        if page["nextCursor"] is None:
            break
        params["cursor"] = page["nextCursor"]
    out.write(b"{}\\n")
    out.flush()
host.stdin.close()
host.wait(15)
"""
"""Starts a host, says that it is there, and writes all events of the history when it reads a line. An empty object
stands behind each."""


def history(items: int) -> Iterator[Json]:
    """The stored events of so many items, `TURN_ITEMS` in a turn: a prompt, words, a command and its output, words."""
    number = 0
    for first in range(0, items, TURN_ITEMS):
        for method, params in _turn(f"{TURN[:-6]}{first:06d}", first):
            number += 1
            yield stored(method, number, **params)


def _turn(turn: str, first: int) -> Iterator[tuple[str, Json]]:
    yield "turn/started", {"turnId": turn, "commandId": turn}
    asked = {"kind": "userMessage", "text": f"{ASKED} {UNSENT.decode()}" if first == 0 else ASKED}
    tool = {"kind": "toolCall", "tool": "bash", "callId": f"call_{first}", "args": '{"command": "nl area.py"}'}
    told = [asked, {"kind": "agentMessage", "text": SAID}, tool, {"kind": "agentMessage", "text": SAID}]
    for number, members in enumerate(told, first):
        item: Json = {"itemId": item_id(number), "turnId": turn, **members}
        revision = 1
        if members is tool:
            yield "item/started", {"item": {**item, "revision": 1, "status": "inProgress"}}
            item |= {"visibleOutput": PRINTED, "truncated": False, "durationMs": 12}
            revision = 2
        yield "item/completed", {"item": {**item, "revision": revision, "status": "completed"}}
    yield "turn/completed", {"turnId": turn, "terminal": "completed", "durationMs": 4000}


class HistoryHost(FastHost):
    """It has one stored session, of so many items."""

    def __init__(self, out: BinaryIO, items: int) -> None:
        super().__init__(out)
        events = [orjson.dumps(event) for event in history(items)]
        self.head = len(events)
        self.pages = [b"[" + b",".join(events[at : at + PAGE_EVENTS]) + b"]" for at in range(0, self.head, PAGE_EVENTS)]

    def on_session_resume(self, params: Json) -> Json:
        return {
            "session": self.row(SESSION),
            "viewCursor": f"v:{SESSION}:{self.head}",
            "history": {"mode": "none", "items": None, "snapshot": None, "noneReason": "historyBudget"},
            "pendingRequests": [],
        }

    def on_view_page(self, params: Json) -> Json:
        assert params["limit"] >= PAGE_EVENTS
        at = int(params.get("cursor", ":0").rpartition(":")[2])
        page, end = self.pages[at // PAGE_EVENTS], at + PAGE_EVENTS
        if at == 0:
            page = page.replace(UNSENT, b"at %019d" % monotonic_ns(), 1)
        following = f"v:{SESSION}:{end}" if end < self.head else None
        return {"events": orjson.Fragment(page), "nextCursor": following}


class Loaded(msgspec.Struct, frozen=True):
    """A session as the client got it. `first_seconds`: from the sending of the first page to the first update of it."""

    seconds: float
    first_seconds: float
    lines: tuple[bytes, ...]

    def updates(self) -> Iterator[Json]:
        """What was told, in order."""
        for line in self.lines:
            yield orjson.loads(line)["params"]["update"]


def load(running: Client) -> Loaded:
    """Load the session."""
    began = perf_counter()
    end = b'"id":%d,' % running.ask("session/load", {"sessionId": SESSION, "cwd": "/", "mcpServers": []})
    lines: list[bytes] = []
    sent = arrived = 0
    while end not in (line := running.stdout.readline())[:40]:
        lines.append(line)
        if not sent and (told := _SENT.search(line)) is not None:
            sent, arrived = int(told[1]), monotonic_ns()
    seconds = perf_counter() - began
    assert sent and "result" in orjson.loads(line), line
    return Loaded(seconds, (arrived - sent) / 1e9, tuple(lines))


def load_bare(loop: BareLoop) -> tuple[float, int]:
    """Seconds for the loop to do the same, and how many lines it wrote."""
    ready = loop.stdout.readline()
    assert ready == b"{}\n", ready
    began, count = perf_counter(), 0
    loop.stdin.write(b"go\n")
    loop.stdin.flush()
    while loop.stdout.readline() != b"{}\n":
        count += 1
    return perf_counter() - began, count


def measure(home: Path, short: bool = False) -> Iterator[Figure]:
    """How fast a long session is loaded, and how soon the client sees something of it."""
    items, runs = (ITEMS // SHORT, SHORT_RUNS) if short else (ITEMS, RUNS)
    host = str(place(home, HistoryHost, items))
    firsts: list[float] = []

    def through() -> float:
        with client(home, "--muse", host) as running:
            running.initialize()
            running.new_session(home)
            loaded = load(running)
        firsts.append(loaded.first_seconds)
        return loaded.seconds

    def bare() -> float:
        with bare_loop(BARE_LOOP, host, SESSION, str(PAGE_EVENTS)) as loop:
            return load_bare(loop)[0]

    limit, adapter = in_turn(bare, through, runs=runs)
    yield Figure(
        what=f"session/load of {items} items through the adapter / bare loop",
        value=ratio(limit, adapter),
        bound=0.4,
        at_least=True,
        told=f"{milliseconds(adapter)} / {milliseconds(limit)}",
    )
    yield Figure(
        what="first update after the host's first page",
        unit="ms",
        value=statistics.median(firsts) * 1000,
        bound=FIRST_MS,
        told=f"{min(firsts) * 1000:.1f} to {max(firsts) * 1000:.1f} ms",
    )
