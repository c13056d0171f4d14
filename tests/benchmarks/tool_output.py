"""Much output of one tool on one card: how much of it is written to the client, and whether it costs more than in
proportion."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from time import monotonic_ns, sleep
from typing import Any, BinaryIO, Final

import msgspec
import orjson

from adapter.bridge.tool_cards.card_text import TRUNCATED_KEY
from adapter.bridge.tool_cards.throttle import FRESH_SECONDS, INTERVAL
from tests.benchmarks import streaming
from tests.benchmarks.client import Client, Json, client
from tests.benchmarks.fast_host import SESSION, TURN, FastHost, event, item_id, place
from tests.benchmarks.measuring import RUNS, Figure, in_turn, milliseconds, ratio

__all__ = ["OutputHost"]

OUTPUT_BYTES: Final = 20_000_000
PART: Final = 10
"""What the whole output is compared with is a part of it, this many times smaller."""

SHORT: Final = 10
"""The short form has this many times less to do."""

SHORT_RUNS: Final = 3

REST_SECONDS: Final = 2 * FRESH_SECONDS
"""A pause in the output, long enough for the card to be drawn in any case."""

REST_AT: Final = 0.9
"""How much of it has been told before the pause."""

PIECE_BYTES: Final = 4096
"""Bytes of output in one delta."""

VISIBLE_BYTES: Final = 16 * 1024
"""What the simulated host keeps of an output on the item."""

LETTERS: Final = {"ascii": "= compiled ", "unicode": "✓ übersetzt "}
"""What the lines say: text with other letters takes another way through the cutting."""


def output(size: int, letters: str) -> str:
    """Numbered lines that have so many bytes together."""
    lines, length, number = [], 0, 0
    words = LETTERS[letters] * 4
    while length < size:
        line = f"{number:08d} {words}\n"
        lines.append(line)
        length += len(line.encode())
        number += 1
    whole = "".join(lines).encode()[: size - 1].decode("utf-8", "ignore")
    return whole + "." * (size - 1 - len(whole.encode())) + "\n"


def pieces(text: str) -> list[str]:
    """The text as a host tells it, piece by piece."""
    return [text[at : at + PIECE_BYTES] for at in range(0, len(text), PIECE_BYTES)]


def deltas(text: str, item: str, session_id: str = SESSION) -> list[bytes]:
    """The lines by which a host tells an output."""
    place = f"v:{session_id}:{item[-6:]}"
    return [
        event("item/delta", session_id, viewCursor=f"{place}-{number}", itemId=item, field="output", delta=piece)
        for number, piece in enumerate(pieces(text))
    ]


def call(item: str, turn: str, command: str) -> Json:
    """The call of a tool that runs a command."""
    made = {"itemId": item, "kind": "toolCall", "turnId": turn, "tool": "bash", "callId": item}
    return made | {"args": orjson.dumps({"command": command}).decode()}


def begun(call: Json, session_id: str = SESSION) -> bytes:
    """The host's word that a call has begun."""
    return event("item/started", session_id, item={**call, "revision": 1, "status": "inProgress"})


def finished(call: Json, text: str, size: int) -> Json:
    """The call when it has ended with an output of so many bytes, which is stored and begins with this text."""
    ref = {"id": "out", "kind": "tool_output", "uri": "muse-output://out", "mediaType": "text/plain"}
    return {
        **call,
        "revision": 2,
        "status": "completed",
        "visibleOutput": beginning(text),
        "truncated": size > VISIBLE_BYTES,
        "outputRef": {**ref, "byteLen": size, "availability": "available"},
    }


def ended(call: Json, text: str, session_id: str = SESSION) -> bytes:
    """The host's word that it has ended with this output."""
    return event("item/completed", session_id, item=finished(call, text, len(text.encode())))


class OutputHost(FastHost):
    """A prompt is two numbers, of bytes and of seconds: a command is run that writes so much, and rests so long."""

    def __init__(self, out: BinaryIO, letters: str) -> None:
        super().__init__(out)
        self.letters = letters
        self.turns = 0
        self.turn: str | None = None

    def on_turn_start(self, params: Json) -> Json:
        self.turns += 1
        self.turn = f"{TURN[:-6]}{self.turns:06d}"
        return {**super().on_turn_start(params), "turnId": self.turn}

    def take(self, frame: Json) -> None:
        super().take(frame)
        if self.turn is not None:
            size, rest_seconds = frame["params"]["input"][0]["text"].split()
            self._run(self.turn, int(size), float(rest_seconds))
            self.turn = None

    def _run(self, turn: str, size: int, rest_seconds: float) -> None:
        text, item = output(size, self.letters), item_id(self.turns)
        told = deltas(text, item)
        at = int(len(told) * REST_AT)
        early, late = b"".join(told[:at]), b"".join(told[at:])
        # In its command the call says when it began.
        made = call(item, turn, f"make all # {monotonic_ns()}")
        self.out.write(event("turn/started", turnId=turn))
        self.out.write(begun(made))
        self.out.write(early)
        self.out.flush()
        sleep(rest_seconds)
        self.out.write(late)
        self.out.write(ended(made, text))
        self.out.write(event("turn/completed", turnId=turn, terminal="completed"))
        self.out.flush()


def beginning(text: str) -> str:
    """What a host keeps of an output on its item."""
    return text.encode()[:VISIBLE_BYTES].decode("utf-8", "ignore")


class Shown(msgspec.Struct, frozen=True):
    """One output as the client got it."""

    seconds: float
    """From the beginning of the call at the host to the answer of the prompt."""
    written: int
    """Bytes of all lines from the card's first to that answer."""
    cards: tuple[Json, ...]
    """What was told of the card, in order."""
    last_bytes: int
    """Bytes of the line that ended it."""

    @property
    def text(self) -> str:
        """What the card shows in the end."""
        texts = [card["content"] for card in self.cards if card.get("content")]
        return "".join(part["content"]["text"] for part in texts[-1])

    @property
    def truncated(self) -> Any:
        """What the client is told of what is missing."""
        return next((card["_meta"].get(TRUNCATED_KEY) for card in reversed(self.cards) if card.get("_meta")), None)

    @property
    def excess(self) -> float:
        """The bytes written, in final cards of which one may be written in each `INTERVAL`, besides the first and the
        last."""
        return self.written / (self.last_bytes * (self.seconds / INTERVAL + 2))


def show(running: Client, session_id: str, size: int, rest_seconds: float = 0.0) -> Shown:
    """Have the host tell so much output, and see what comes of it."""
    prompt = running.begin_prompt(session_id, f"{size} {rest_seconds}")
    lines: list[bytes] = []
    while b'"id":%d,' % prompt not in (line := running.stdout.readline())[:40]:
        if lines or b'"sessionUpdate":"tool_call"' in line:
            lines.append(line)
    ended = monotonic_ns()
    told = [orjson.loads(each)["params"]["update"] for each in lines]
    cards = [update for update in told if update["sessionUpdate"].startswith("tool_call")]
    assert orjson.loads(line)["result"]["stopReason"] == "end_turn" and cards[-1]["status"] == "completed", line
    began = int(cards[0]["rawInput"]["command"].rpartition(" ")[2])
    last_bytes = next(len(each) for each in reversed(lines) if b'"status":"completed"' in each)
    return Shown((ended - began) / 1e9, sum(map(len, [*lines, line])), tuple(cards), last_bytes)


def measure(home: Path, short: bool = False) -> Iterator[Figure]:
    """What is written of the output, and how much longer the whole takes than a part of it."""
    size, runs = (OUTPUT_BYTES // SHORT, SHORT_RUNS) if short else (OUTPUT_BYTES, RUNS)
    for letters in LETTERS:
        yield from _of(home, letters, size, runs)


def _of(home: Path, letters: str, size: int, runs: int) -> Iterator[Figure]:
    bare = home / f"deltas-{letters}.ndjson"
    bare.write_bytes(b"".join(deltas(output(size, letters), item_id(0))))
    shown: list[Shown] = []
    with client(home, "--muse", str(place(home, OutputHost, letters))) as running:
        running.initialize()
        session_id = running.new_session(home)
        # Whatever is imported for the first card.
        show(running, session_id, size // PART)

        def all_of_it() -> float:
            shown.append(show(running, session_id, size))
            return shown[-1].seconds

        whole, part, limit = in_turn(
            all_of_it, lambda: show(running, session_id, size // PART).seconds, lambda: streaming.limit(bare), runs=runs
        )
        rested, at_once = in_turn(
            lambda: show(running, session_id, size, REST_SECONDS).seconds - REST_SECONDS, all_of_it, runs=SHORT_RUNS
        )
    assert all(one.truncated["totalBytes"] == size for one in shown)
    median = statistics.median_low([one.excess for one in shown])
    of_it = next(one for one in shown if one.excess == median)
    yield Figure(
        what=f"bytes written of an output, {letters} / final cards at the pace of cards",
        value=median,
        bound=3,
        margin=0,
        told=f"{of_it.written} bytes, {len(of_it.cards)} times, of {size} / cards of {of_it.last_bytes}"
        f" in {of_it.seconds:.2f} s",
    )
    yield Figure(
        what=f"output of {size / 1e6:g} MB, {letters} / a {PART}th of it",
        value=ratio(whole, part),
        # What is linear takes `PART` times as long, what is quadratic the square of that.
        bound=2 * PART,
        told=f"{milliseconds(whole)} / {milliseconds(part)}; a bare loop {milliseconds(limit)}",
    )
    yield Figure(
        what=f"output of {size / 1e6:g} MB, {letters}, with a rest, but for that / without",
        value=ratio(rested, at_once),
        bound=2,
        margin=0.3,
        told=f"{milliseconds(rested)} / {milliseconds(at_once)}, a rest of {REST_SECONDS:g} s after {REST_AT:.0%}",
    )
