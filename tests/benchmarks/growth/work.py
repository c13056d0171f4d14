"""What a unit of work costs the adapter, in seconds of CPU, with so many sessions open, or behind so long a history."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import orjson

from adapter.bridge.stored_output.contract import KEY, MAX_LENGTH, METHOD
from tests.benchmarks import loading, permission, reading, streaming, tool_output
from tests.benchmarks.bare_loop import bare_loop
from tests.benchmarks.client import Client, Json, client, cpu_seconds
from tests.benchmarks.fast_host import SESSION, item_id, line, place
from tests.benchmarks.growth.host import OPEN, OUTPUT_ITEM, OUTPUT_REF, GrownHost
from tests.benchmarks.permission import AskingHost, consent

ROOT: Final = Path("/")
"""The folder of all sessions."""


class Amounts(NamedTuple):
    """How much of each is done, to be divided by that."""

    deltas: int
    items: int
    consents: int
    pieces: int
    reads: int


WHOLE: Final = Amounts(20_000, 2_000, 1_000, 4_000, 32)
SHORT: Final = Amounts(4_000, 1_000, 200, 1_000, 8)
WARMING: Final = Amounts(200, 0, 5, 20, 1)
"""What is imported, or made once, is no part of the cost."""


class Costs(NamedTuple):
    """Seconds of CPU for one of each."""

    delta: float
    item: float
    consent: float
    piece: float
    mib: float


WORDS: Final = {
    "delta": "a delta",
    "item": "a loaded item",
    "consent": "a consent",
    "piece": "4 KiB of tool output",
    "mib": "a MiB read",
}
"""The costs as they are called on the page."""


class Grown:
    """A client of an adapter with so many sessions, and one more, which conducts."""

    def __init__(self, running: Client, sessions: int, *, stored: bool) -> None:
        self._running = running
        self._pid = running.process.pid
        running.initialize(**{KEY: 1})
        self._conductor = running.new_session(ROOT)
        if stored:
            # Twice: the first time is warming.
            loading.load(running)
            self.loading = self._cost_of_loading()
        self._sessions = [SESSION] if stored else [running.new_session(ROOT) for _ in range(sessions)]

    def work(self, amounts: Amounts) -> dict[str, float]:
        """Do so much of it; what each unit cost."""
        self.open()
        deltas = self._conduct(f"deltas {amounts.deltas}")
        consents = self._conduct(f"consents {amounts.consents}")
        pieces = self._conduct(f"pieces {amounts.pieces}")
        self._conduct("end")
        return {
            "delta": deltas / amounts.deltas,
            "consent": consents / amounts.consents,
            "piece": pieces / amounts.pieces,
            "mib": self._read(amounts.reads) / amounts.reads,
        }

    def open(self) -> None:
        """Open a turn in each session."""
        for session_id in self._sessions:
            self._running.begin_prompt(session_id, OPEN)
        self.conducted("wait")

    def load(self) -> float:
        """The cost of loading the stored session beside those that are open."""
        loading.load(self._running)
        return self._cost_of_loading()

    def _cost_of_loading(self) -> float:
        before = cpu_seconds(self._pid)
        loading.load(self._running)
        return cpu_seconds(self._pid) - before

    def conducted(self, words: str) -> list[Json]:
        """What comes of what the conductor is told to do."""
        frames: list[Json] = []
        prompt = self._running.begin_prompt(self._conductor, words)
        while not frames or frames[-1].get("id") != prompt or "method" in frames[-1]:
            frames.append(orjson.loads(self._running.stdout.readline()))
            if frames[-1].get("method") == "session/request_permission":
                self._running.stdin.write(permission.allowed(frames[-1]["id"]))
                self._running.stdin.flush()
        return frames

    def _conduct(self, words: str) -> float:
        """The cost of that."""
        before = cpu_seconds(self._pid)
        self.conducted(words)
        return cpu_seconds(self._pid) - before

    def _read(self, reads: int) -> float:
        before = cpu_seconds(self._pid)
        for number in range(reads):
            output = {"sessionId": self._sessions[number % len(self._sessions)], "itemId": OUTPUT_ITEM}
            page = {"outputRef": OUTPUT_REF, "offsetBytes": number * MAX_LENGTH, "lengthBytes": MAX_LENGTH}
            self._running.ask(METHOD, {**output, **page})
            while len(told := self._running.stdout.readline()) <= MAX_LENGTH:
                # The end of a turn that has been waited for no longer than for the others.
                assert b'"stopReason"' in told, told
        return cpu_seconds(self._pid) - before


def with_sessions(home: Path, sessions: int, amounts: Amounts) -> Costs:
    """The costs with so many sessions open. One more is loaded beside them."""
    with client(home, "--muse", str(place(home, GrownHost, amounts.items))) as running:
        grown = Grown(running, sessions, stored=False)
        grown.work(WARMING)
        return Costs(item=grown.load() / amounts.items, **grown.work(amounts))


def with_history(home: Path, items: int, amounts: Amounts) -> Costs:
    """The costs in a session that has been loaded with so many items, and those of loading it."""
    with client(home, "--muse", str(place(home, GrownHost, items))) as running:
        grown = Grown(running, 1, stored=True)
        grown.work(WARMING)
        return Costs(item=grown.loading / items, **grown.work(amounts))


# -- the limit


def limits(home: Path, items: int, amounts: Amounts) -> Costs:
    """What a bare blocking loop takes for as many lines. It knows of no sessions, nor of a history, but for the one
    that it loads."""
    return Costs(
        delta=_of_lines(home, "deltas", streaming.pieces(amounts.deltas, 2)) / amounts.deltas,
        item=_of_loading(home, items) / items,
        consent=_of_consents(home, amounts.consents) / amounts.consents,
        piece=_of_lines(home, "pieces", _output(amounts.pieces)) / amounts.pieces,
        mib=_of_reads(home, amounts.reads) / amounts.reads,
    )


def _output(count: int) -> bytes:
    return b"".join(tool_output.deltas(tool_output.output(count * tool_output.PIECE_BYTES, "ascii"), item_id(0)))


def _of_lines(home: Path, name: str, lines: bytes) -> float:
    path = home / f"{name}.ndjson"
    path.write_bytes(lines)
    return streaming.limit_cpu(path)


def _of_loading(home: Path, items: int) -> float:
    with bare_loop(loading.BARE_LOOP, str(place(home, GrownHost, items)), SESSION, str(loading.PAGE_EVENTS)) as loop:
        loop.stdout.readline()
        before = cpu_seconds(loop.pid)
        loop.stdin.write(b"go\n")
        loop.stdin.flush()
        while loop.stdout.readline() != b"{}\n":
            pass
        return cpu_seconds(loop.pid) - before


def _of_consents(home: Path, consents: int) -> float:
    with bare_loop(permission.BARE_LOOP, str(place(home, AskingHost, consents + 1))) as loop:
        # The first question is asked when all has been started.
        loop.stdin.write(line({}))
        loop.stdin.flush()
        first = loop.stdout.readline()
        before = cpu_seconds(loop.pid)
        consent(loop.stdin, loop.stdout, asked=first)
        return cpu_seconds(loop.pid) - before


def _of_reads(home: Path, reads: int) -> float:
    bare = reading.Bare(home, str(place(home, GrownHost, 0)), "serve")
    try:
        before = cpu_seconds(bare.process.pid)
        for number in range(reads):
            bare.ask("item/readOutput", {"offsetBytes": number * MAX_LENGTH})
            bare.stdout.readline()
        return cpu_seconds(bare.process.pid) - before
    finally:
        bare.close()
