"""What a recording tells, gathered while its frames are read: sessions, turns, what was asked of the user, reads."""

from __future__ import annotations

from typing import Literal

import msgspec

from adapter.cli.inspect import words
from adapter.cli.inspect.members import Members

Direction = Literal["client", "server", "unknown"]
Shape = Literal["request", "answer", "notification", "unreadable"]
Kind = Literal["handshake", "session", "turn", "text", "item", "consent", "read", "history", "probe", "other"]


class Frame(msgspec.Struct, frozen=True):
    """One readable frame, with the request it answers if it is an answer."""

    number: int
    """Of its line in the transcript; it is what people point at."""
    direction: Direction
    shape: Shape
    method: str
    """Of an answer the method of its request; empty if that is not known."""
    params: Members
    """Of an answer those of its request."""
    result: Members
    error: Members
    at_ms: int | None = None
    elapsed_ms: int | None = None
    """From a request to this answer."""
    request: int | None = None
    """The number of the request that this answers."""

    @property
    def refused(self) -> bool:
        return self.shape == "answer" and bool(self.error)


class Said(msgspec.Struct, frozen=True):
    """What one frame says."""

    words: str
    kind: Kind
    session: str = ""
    turn: str = ""
    failed: bool = False
    lacking: bool = False
    """Refused because it is not there, which is how clients learn that."""
    piece_of: str = ""
    """Pieces of the same text, one right after the other, are one row; this names the text."""
    piece: str = ""


class Session(msgspec.Struct):
    """A session that is named in the recording."""

    id: str
    number: int
    name: str = ""

    @property
    def label(self) -> str:
        return f"session {self.number}"


class Turn(msgspec.Struct):
    """A turn, from the first frame that names it to the one that ends it."""

    id: str
    number: int
    session: str
    first: int
    last: int
    began_ms: int | None = None
    prompt: str = ""
    outcome: str = ""
    """Empty if the recording ends before the turn."""
    ended: bool = False
    failed: bool = False
    lasted_ms: int | None = None
    items: int = 0
    asked: int = 0


class Asked(msgspec.Struct):
    """Something that was asked of the user: whether a tool may run, or questions."""

    number: int
    session: str
    turn: str
    what: str
    choices: str = ""
    """What may be answered."""
    answer: str = ""
    """Empty if there is none."""
    began_ms: int | None = None
    waited_ms: int | None = None
    stages: int = 1


class Read(msgspec.Struct):
    """A piece of a stored output that was asked for."""

    number: int
    session: str
    item: str
    ref: str
    wanted: str
    served: str = ""
    refused: bool = False


class Story:
    """All of it, in the order in which it came up."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.turns: dict[str, Turn] = {}
        self.asked: dict[str, Asked] = {}
        self.reads: dict[int, Read] = {}

    def session(self, session_id: str, name: str = "") -> None:
        """The session is named, perhaps with what people call it."""
        if not session_id:
            return
        session = self.sessions.setdefault(session_id, Session(session_id, len(self.sessions) + 1))
        session.name = name or session.name

    def turn(self, turn_id: str, session_id: str, frame: Frame) -> Turn:
        """The turn is named by a frame."""
        found = self.turns.get(turn_id)
        if found is None:
            found = Turn(turn_id, len(self.turns) + 1, session_id, frame.number, frame.number, frame.at_ms)
            self.turns[turn_id] = found
        if not found.ended:
            found.last = frame.number
        return found

    def end(self, turn: Turn, frame: Frame, outcome: str, failed: bool, lasted_ms: int | None = None) -> None:
        """The turn is over; the first end counts (`msp.md §12.3`)."""
        if turn.ended:
            return
        turn.ended, turn.last, turn.outcome, turn.failed = True, frame.number, outcome, failed
        turn.lasted_ms = between(turn.began_ms, frame.at_ms) if lasted_ms is None else lasted_ms

    def ask(self, asked_id: str, asked: Asked) -> None:
        """Something is asked; asked anew it is the same."""
        if asked_id in self.asked:
            return
        self.asked[asked_id] = asked
        if asked.turn in self.turns:
            self.turns[asked.turn].asked += 1

    def settle(self, asked_id: str, answer: str, frame: Frame) -> None:
        """It is answered; what a host then says of the answer is added to it."""
        asked = self.asked.get(asked_id)
        if asked is not None:
            asked.answer = ", then ".join(part for part in (asked.answer, answer) if part)
            asked.waited_ms = between(asked.began_ms, frame.at_ms) if asked.waited_ms is None else asked.waited_ms

    def next_stage(self, asked_id: str) -> None:
        """One stage of what was asked is done, and the next one is asked for."""
        if asked_id in self.asked:
            self.asked[asked_id].stages += 1

    def read(self, frame: Frame, session_id: str) -> None:
        """A read of stored output is asked for, or answered."""
        if frame.shape == "request":
            params = frame.params
            self.reads[frame.number] = Read(
                frame.number, session_id, params.text("itemId"), params.text("outputRef"), words.read_wanted(params)
            )
        elif frame.request in self.reads:
            read = self.reads[frame.request]
            read.refused = frame.refused
            read.served = words.refusal(frame.error) if frame.refused else words.read_served(frame.result)


def between(begin: int | None, end: int | None) -> int | None:
    """Milliseconds from one time to another, if both are known."""
    return None if begin is None or end is None else end - begin
