"""Much output of one tool on one card: how much of it is written to the client, and whether it costs more than in
proportion."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Final

import msgspec
import orjson

from adapter.bridge.tool_cards.card_text import TRUNCATED_KEY
from adapter.bridge.tool_cards.throttle import INTERVAL
from tests.benchmarks.client import Client, Json, client
from tests.benchmarks.fast_host import SESSION, TURN, FastHost, event, item_id, place
from tests.benchmarks.measuring import RUNS, Figure, in_turn, milliseconds, ratio
from tests.benchmarks.serving import bare_stream

__all__ = ["OutputHost"]

OUTPUT_BYTES: Final = 20_000_000
PART: Final = 10
"""What the whole output is compared with is a part of it, this many times smaller."""

SHORT: Final = 10
"""The short form has this many times less to do."""

SHORT_RUNS: Final = 3

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


def deltas(text: str, item: str) -> bytes:
    """The lines by which a host tells an output."""
    return b"".join(
        event("item/delta", viewCursor=f"v:{SESSION}:{item[-6:]}-{number}", itemId=item, field="output", delta=piece)
        for number, piece in enumerate(pieces(text))
    )


class OutputHost(FastHost):
    """A prompt is a number of bytes: a command is run that writes so many."""

    def __init__(self, out: BinaryIO, letters: str) -> None:
        super().__init__(out)
        self.letters = letters
        self.turns = 0

    def on_turn_start(self, params: Json) -> Json:
        self.turns += 1
        turn = f"{TURN[:-6]}{self.turns:06d}"
        size = int(params["input"][0]["text"])
        self.behind = b"".join(self._turn(turn, output(size, self.letters), size))
        return {**super().on_turn_start(params), "turnId": turn}

    def _turn(self, turn: str, text: str, size: int) -> Iterator[bytes]:
        item: Json = {"itemId": item_id(self.turns), "kind": "toolCall", "turnId": turn, "tool": "bash"}
        item |= {"callId": f"call_{self.turns}", "args": orjson.dumps({"command": "make all"}).decode()}
        yield event("turn/started", turnId=turn)
        yield event("item/started", item={**item, "revision": 1, "status": "inProgress"})
        yield deltas(text, item["itemId"])
        shown = text.encode()[:VISIBLE_BYTES].decode("utf-8", "ignore")
        done: Json = {**item, "revision": 2, "status": "completed", "visibleOutput": shown, "truncated": shown != text}
        ref = {"id": f"out-{self.turns}", "kind": "tool_output", "uri": "muse-output://1", "mediaType": "text/plain"}
        yield event("item/completed", item={**done, "outputRef": {**ref, "byteLen": size, "availability": "available"}})
        yield event("turn/completed", turnId=turn, terminal="completed")


class Shown(msgspec.Struct, frozen=True):
    """One output as the client got it."""

    seconds: float
    """From the card's appearance to the answer of the prompt."""
    written: int
    """Bytes of all lines meanwhile."""
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


def show(running: Client, session_id: str, size: int) -> Shown:
    """Have the host tell so much output, and see what comes of it."""
    prompt = running.begin_prompt(session_id, str(size))
    began, written, cards, last_bytes = 0.0, 0, list[Json](), 0
    while True:
        line = running.stdout.readline()
        ended = perf_counter()
        frame = orjson.loads(line)
        if frame.get("id") == prompt:
            break
        update = frame["params"]["update"]
        if update["sessionUpdate"].startswith("tool_call"):
            began = began or ended
            last_bytes = len(line)
            cards.append(update)
        if began:
            written += len(line)
    assert frame["result"]["stopReason"] == "end_turn" and cards[-1]["status"] == "completed", frame
    return Shown(ended - began, written + len(line), tuple(cards), last_bytes)


def measure(home: Path, short: bool = False) -> Iterator[Figure]:
    """What is written of the output, and how much longer the whole takes than a part of it."""
    size, runs = (OUTPUT_BYTES // SHORT, SHORT_RUNS) if short else (OUTPUT_BYTES, RUNS)
    for letters in LETTERS:
        yield from _of(home, letters, size, runs)


def _of(home: Path, letters: str, size: int, runs: int) -> Iterator[Figure]:
    bare = home / f"deltas-{letters}.ndjson"
    bare.write_bytes(deltas(output(size, letters), item_id(0)))
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
            all_of_it, lambda: show(running, session_id, size // PART).seconds, lambda: bare_stream(bare), runs=runs
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
        bound=PART,
        margin=0.3,
        told=f"{milliseconds(whole)} / {milliseconds(part)}; a bare loop {milliseconds(limit)}",
    )
