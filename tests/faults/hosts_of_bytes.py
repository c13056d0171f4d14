"""Hosts that write their frames in odd pieces, too long, or with something between them."""

from __future__ import annotations

import json
import os
import time
from typing import ClassVar

from tests.scripted_hosts import Json, ScriptedHost, idle_for_ever


class Pieces(ScriptedHost):
    """Writes a turn of whole messages as one run of bytes, UTF-8 as it is, cut every `piece` bytes; 0 cuts in the
    middle of the second frame."""

    texts: ClassVar[list[str]] = ["one ", "two ", "three"]
    piece = 1
    pause = 0.001

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.gathered: list[bytes] | None = None

    def send(self, *frames: Json) -> None:
        lines = [json.dumps(frame, ensure_ascii=False).encode() + b"\n" for frame in frames]
        if self.gathered is None:
            self.write(b"".join(lines))
        else:
            self.gathered += lines

    def turn(self, session_id: str, turn_id: str) -> None:
        self.gathered = lines = list[bytes]()
        for number, text in enumerate(self.texts):
            self.item("completed", session_id, turn_id, f"{turn_id}-{number}", text=text)
        self.complete(session_id, turn_id)
        self.gathered = None
        data = b"".join(lines)
        piece = self.piece or len(lines[0]) * 3 // 2
        for at in range(0, len(data), piece):
            self.write(data[at : at + piece])
            time.sleep(self.pause)


class Interjects(ScriptedHost):
    """Writes `raw` (its characters are bytes) first of all, or between the two messages of each turn. In a turn, `$S`
    and `$T` stand for the ids of session and turn."""

    raw = ""
    first = False

    def serve(self) -> None:
        if self.first:
            self.write(self.raw.encode("latin-1"))
        super().serve()

    def turn(self, session_id: str, turn_id: str) -> None:
        self.message(session_id, turn_id, "before ")
        if not self.first:
            self.write(self.raw.replace("$S", session_id).replace("$T", turn_id).encode("latin-1"))
        self.message(session_id, turn_id, "after")
        self.complete(session_id, turn_id)


class WritesLongLine(ScriptedHost):
    """Writes `size` bytes without a line end in its first turn. With `ends` the line ends there and the turn goes on,
    without it nothing more comes."""

    size = 0
    ends = True

    def turn(self, session_id: str, turn_id: str) -> None:
        if len(self.turns) == 1:
            self.message(session_id, turn_id, "before ")
            piece = b"a" * 1_000_000
            for _ in range(self.size // len(piece)):
                self.write(piece)
            if not self.ends:
                idle_for_ever()
            self.write(b"\n")
        super().turn(session_id, turn_id)


class AnswersTooMuch(ScriptedHost):
    """Refuses the first prompt with a line of `size` bytes."""

    size = 0
    refused = False

    def on_turn_start(self, request: Json) -> None:
        if self.refused:
            super().on_turn_start(request)
        else:
            self.refused = True
            self.refuse(request, "commandRejected", "a" * self.size)


class Crowded(ScriptedHost):
    """Reads slowly, answers each prompt with `deltas` pieces of 5,000 characters that differ by prompt, and has 50
    sessions stored whose list takes 100 KB."""

    deltas = 10
    stored: ClassVar[list[Json]] = [
        {"sessionId": f"ses-stored-{number}", "workspaceRoot": f"/srv/demo-{number:02}" + f"/{'x' * 200}" * 10}
        for number in range(50)
    ]

    def serve(self) -> None:
        held = b""
        while piece := os.read(0, 4096):
            time.sleep(0.002)
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                self.take(json.loads(line))

    def take(self, frame: Json) -> None:
        with (self.directory / "received.ndjson").open("a") as received:
            received.write(json.dumps(frame) + "\n")
        self.receive(frame)

    def on_session_list(self, request: Json) -> None:
        self.answer(request, sessions=self.stored, nextCursor=None)

    def turn(self, session_id: str, turn_id: str) -> None:
        letter = chr(ord("A") + len(self.turns) - 1)
        self.item("started", session_id, turn_id, f"{turn_id}-m", text="")
        for _ in range(self.deltas):
            self.delta(session_id, f"{turn_id}-m", letter * 5000)
        self.complete(session_id, turn_id)


class Chatters(ScriptedHost):
    """Writes `size` bytes of log to stderr before it answers anything."""

    size = 0

    def receive(self, frame: Json) -> None:
        line = b"a line of log that nobody asked for, and that is eighty bytes long with its end\n"
        for _ in range(self.size // len(line)):
            os.write(2, line)
        super().receive(frame)
