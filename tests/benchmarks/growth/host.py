"""A host with many sessions, or with one that has a long history, which does the same work in whatever there is.

One session conducts: what it is asked to do is done in the others, in the turns that are open there, and its own turn
ends when that is done. So what is measured begins and ends with one prompt, however many sessions there are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

import orjson

from adapter.bridge.stored_output.contract import MAX_LENGTH
from tests.benchmarks import permission, tool_output
from tests.benchmarks.fast_host import SESSION, TURN, Json, delta, event, item_id, stored
from tests.benchmarks.loading import HistoryHost, history
from tests.benchmarks.streaming import word

__all__ = ["GrownHost"]

OPEN: Final = "open"
"""The prompt whose turn stays open until the conductor is asked to end them."""

PLACES: Final = 100
"""Messages that stream at once, or calls, in all sessions together: with one session all are in it, with a hundred one
is in each. What is written is the same, but for the ids of the sessions."""

PIECES: Final = 20
"""Pieces of the output of one call."""

FIRST_TURN: Final = 500_000
FIRST_ITEM: Final = 10**9
"""Ids behind those of the history."""

RECENT: Final = 60
"""Items that stand before the output on a page of the history."""

OUTPUT_ITEM: Final = item_id(FIRST_ITEM - 1)
OUTPUT_REF: Final = "out"
OUTPUT_BYTES: Final = 64 * MAX_LENGTH

PAGE: Final = base64.b64encode(bytes(range(256)) * (MAX_LENGTH // 256)).decode()


class OpenTurn(NamedTuple):
    session_id: str
    turn_id: str


class GrownHost(HistoryHost):
    """It has one stored session, of so many items, and those that are made. In each there is an output to be read."""

    VERSION = "1.2.1"

    def __init__(self, out: BinaryIO, items: int) -> None:
        super().__init__(out, items)
        # The first id is that of the stored session.
        self.sessions = 1
        self.turns = 0
        self.items = FIRST_ITEM
        self.open: list[OpenTurn] = []
        self.conductor = OpenTurn("", "")
        self.asking: Iterator[Json] = iter(())
        self.asked: Json = {}
        self.recent = list(history(min(items, RECENT)))

    # -- prompts

    def on_turn_start(self, params: Json) -> Json:
        self.turns += 1
        turn = OpenTurn(params["sessionId"], f"{TURN[:-6]}{FIRST_TURN + self.turns:06d}")
        words = params["input"][0]["text"].split()
        self.behind = event("turn/started", turn.session_id, turnId=turn.turn_id, commandId=params["commandId"])
        if words[0] == OPEN:
            self.open.append(turn)
        else:
            self.conductor = turn
            self.behind += getattr(self, f"do_{words[0]}")(*map(int, words[1:]))
        return {**super().on_turn_start(params), "turnId": turn.turn_id}

    def done(self, turn: OpenTurn | None = None) -> bytes:
        """The end of a turn; of that of the conductor, unless another is given."""
        turn = turn or self.conductor
        return event("turn/completed", turn.session_id, turnId=turn.turn_id, terminal="completed")

    def places(self) -> list[tuple[OpenTurn, str]]:
        """An open turn and a new item in it, `PLACES` times."""
        self.items += PLACES
        return [(self.open[at % len(self.open)], item_id(self.items + at)) for at in range(PLACES)]

    def do_wait(self) -> bytes:
        """Nothing; all that came before it has been dealt with when it is over."""
        return self.done()

    def do_end(self) -> bytes:
        """End all turns."""
        turns, self.open = self.open, []
        return b"".join(map(self.done, turns)) + self.done()

    def do_deltas(self, count: int) -> bytes:
        """Messages that stream at the same time, a piece of each in turn."""
        places = self.places()
        begun = [
            event(
                "item/started",
                turn.session_id,
                item={
                    "itemId": item,
                    "turnId": turn.turn_id,
                    "kind": "agentMessage",
                    "revision": 1,
                    "status": "inProgress",
                    "text": "",
                },
            )
            for turn, item in places
        ]
        told = []
        for number in range(count):
            turn, item = places[number % PLACES]
            told.append(delta(self.items + number, item, word(number), turn.session_id))
        return b"".join([*begun, *told, self.done()])

    def do_pieces(self, count: int) -> bytes:
        """Calls, one after the other, each with `PIECES` pieces of output."""
        text = tool_output.output(PIECES * tool_output.PIECE_BYTES, "ascii")
        told: list[bytes] = []
        places = self.places()
        for at in range(count // PIECES):
            turn, item = places[at % PLACES]
            call = tool_output.call(f"{item[:-12]}{self.items + at:012d}", turn.turn_id, "make all")
            told.append(tool_output.begun(call, turn.session_id))
            told += tool_output.deltas(text, call["itemId"], turn.session_id)
            told.append(tool_output.ended(call, text, turn.session_id))
        return b"".join([*told, self.done()])

    # -- consent

    def do_consents(self, count: int) -> bytes:
        """Questions, each when the one before it is settled."""
        calls = [permission.Asked(turn.session_id, turn.turn_id, item) for turn, item in self.places()]
        first = self.items
        self.asking = (permission.approval(first + at, calls[at % PLACES]) for at in range(count))
        return b"".join(call.begun() for call in calls) + self._next()

    def on_approval_decide(self, params: Json) -> Json:
        asked = self.asked
        self.behind = permission.resolution(asked, self.items) + self._next()
        return permission.accepted(asked, params)

    def _next(self) -> bytes:
        self.asked = next(self.asking, {})
        self.items += 1
        return permission.told(self.items, self.asked) if self.asked else self.done()

    # -- stored output

    def on_session_read(self, params: Json) -> Json:
        return {"session": self.row(params["sessionId"])}

    def on_view_page(self, params: Json) -> Json:
        if params.get("direction") != "backward":
            return super().on_view_page(params) if self.pages else {"events": [], "nextCursor": None}
        session_id = params["sessionId"]
        call = tool_output.call(OUTPUT_ITEM, TURN, "make all")
        item = tool_output.finished(call, "x" * tool_output.VISIBLE_BYTES, OUTPUT_BYTES)
        before = self.recent if session_id == SESSION else []
        last = stored("item/completed", self.head + 1, session_id, item=item)
        return {"events": [*before, last], "nextCursor": None}

    def on_item_readOutput(self, params: Json) -> Json:  # noqa: N802
        """A page of 1 MiB, always the same."""
        offset = params["offsetBytes"]
        page = {"encoding": "base64", "mediaType": "application/octet-stream", "offsetBytes": offset}
        eof = offset + MAX_LENGTH >= OUTPUT_BYTES
        return {**page, "content": orjson.Fragment(f'"{PAGE}"'), "byteLen": MAX_LENGTH, "eof": eof}
