"""A host that sends much of one thing. The prompt says what: a JSON object whose `play` names a method below, and whose
other members are its arguments."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Final

from tests.scripted_hosts import Json, ScriptedHost, idle_for_ever

TOGETHER: Final = 256 * 1024
"""About how many bytes of small frames go into one write."""

TURN_EVENTS: Final = 5
"""Events of one turn of a stored history."""

OUTPUT_BYTES: Final = 600
"""Output of each call of a stored history."""


class LoadHost(ScriptedHost):
    """Settings: `events`, how many a stored session has; `keeps`, whether what is told can be read again."""

    events = 0
    keeps = False

    def serve(self) -> None:
        """As the scripted host, but nothing of what came is kept."""
        self.kept: list[Json] = []
        self.stopped: set[str] = set()
        self.writing = threading.Lock()
        while line := sys.stdin.buffer.readline():
            self.receive(json.loads(line))

    def turn(self, session_id: str, turn_id: str) -> None:
        raise NotImplementedError("the prompt says what is played")

    def on_turn_start(self, request: Json) -> None:
        where = self.admit(request)
        asked = json.loads("".join(part.get("text", "") for part in request["params"]["input"]))
        getattr(self, "play_" + asked.pop("play"))(*where, **asked)

    def on_turn_interrupt(self, request: Json) -> None:
        with (self.directory / "interrupted").open("a") as interrupted:
            interrupted.write(f"{request['params']['turnId']}\n")
        self.stopped.add(request["params"]["turnId"])
        # Others write, and may have to wait.
        threading.Thread(target=super().on_turn_interrupt, args=(request,), daemon=True).start()

    def write(self, data: bytes) -> None:
        with self.writing:
            super().write(data)

    # -- what is played

    def play_nothing(self, session_id: str, turn_id: str) -> None:
        self.message(session_id, turn_id, "done")
        self.complete(session_id, turn_id)

    def play_deltas(self, session_id: str, turn_id: str, count: int, text: str) -> None:
        """One message in `count` pieces."""
        item_id = f"{turn_id}-message"
        self.item("started", session_id, turn_id, item_id, text="")
        self._deltas(session_id, item_id, count, text, "text")
        self.item("completed", session_id, turn_id, item_id, text=text * count)
        self.complete(session_id, turn_id)

    def play_flood(self, session_id: str, turn_id: str, turns: int) -> None:
        """A message that goes on until its turn is stopped, beside everything else; it begins when so many turns have
        been started, since nothing can be written beside it then."""

        def flood() -> None:
            while len(self.turns) < turns:
                time.sleep(0.01)
            item_id = f"{turn_id}-message"
            self.item("started", session_id, turn_id, item_id, text="")
            while turn_id not in self.stopped:
                self._deltas(session_id, item_id, 1000, "x" * 100, "text")

        threading.Thread(target=flood, daemon=True).start()

    def play_output(self, session_id: str, turn_id: str, count: int, text: str) -> None:
        """One command whose output comes in `count` pieces."""
        item_id = f"{turn_id}-call"
        call = {"kind": "userShell", "commandText": "make"}
        self.item("started", session_id, turn_id, item_id, **call)
        self._deltas(session_id, item_id, count, text, "output")
        self.item("completed", session_id, turn_id, item_id, **call, visibleOutput=text * count, exitCode=0)
        self.complete(session_id, turn_id)

    def play_cards(self, session_id: str, turn_id: str, count: int, size: int) -> None:
        """`count` commands, one after the other, each with an output of its own."""
        for number in range(count):
            item_id = f"{turn_id}-{number}"
            call = {"kind": "userShell", "commandText": f"make {number}"}
            output = f"{number}\n".ljust(size, "x")
            self.item("started", session_id, turn_id, item_id, **call)
            self.delta(session_id, item_id, output[: size // 2], "output")
            self.item("completed", session_id, turn_id, item_id, **call, visibleOutput=output, exitCode=0)
        self.complete(session_id, turn_id)

    def play_stderr(self, session_id: str, turn_id: str, size: int, line: int) -> None:
        """Much on stderr, in lines of so many bytes."""
        piece = (b"e" * (line - 1) + b"\n") * max(1, 65536 // line)
        for _ in range(0, size, len(piece)):
            os.write(2, piece)
        self.play_nothing(session_id, turn_id)

    def play_hole(self, session_id: str, turn_id: str, count: int, size: int) -> None:
        """A gap, and `count` calls with outputs while the page that fills it is waited for."""
        raw = {"itemId": f"{turn_id}-lost", "kind": "agentMessage", "turnId": turn_id, "revision": 1, "text": "found"}
        gap = {"sessionId": session_id, "after": self._head}
        self._keep("item/completed", session_id, item=raw | {"status": "completed"})
        self.send({"jsonrpc": "2.0", "method": "view/gap", "params": gap | {"next": "d:0"}})
        self.behind_gap = (session_id, turn_id, count, size)

    # -- what is stored

    def event(self, method: str, session_id: str, **params: Any) -> None:
        if not self.keeps:
            return super().event(method, session_id, **params)
        return self.send({"jsonrpc": "2.0", **self._keep(method, session_id, **params)})

    def on_view_page(self, request: Json) -> None:
        params = request["params"]
        behind_gap = self.__dict__.pop("behind_gap", None)
        if behind_gap is not None:
            self.play_cards(*behind_gap)
        first = int(params.get("cursor", "s:0")[2:])
        head = self.events + len(self.kept)
        last = min(first + params["limit"], head)
        events = [self._stored(params["sessionId"], number) for number in range(first, last)]
        following = {"nextCursor": f"s:{last}"} if last < head else {}
        self.answer(request, events=events, **following)

    @property
    def _head(self) -> str:
        return f"s:{self.events + len(self.kept)}"

    def _keep(self, method: str, session_id: str, **params: Any) -> Json:
        cursor = f"s:{self.events + len(self.kept) + 1}"
        at = {"sessionId": session_id, "viewCursor": cursor, "sourceRange": {"stream": {"kind": "run"}}}
        self.kept.append({"method": method, "params": at | params})
        return self.kept[-1]

    def on_session_resume(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.answer(request, session={"sessionId": session_id, "status": "idle"}, viewCursor=f"s:{self.events}")

    def _stored(self, session_id: str, number: int) -> Json:
        if number >= self.events:
            return self.kept[number - self.events]
        turn, place = divmod(number, TURN_EVENTS)
        turn_id = f"turn-{turn}"
        item: Json = {"itemId": f"i-{number}", "turnId": turn_id, "revision": 1, "status": "completed"}
        at = {"sessionId": session_id, "viewCursor": f"s:{number + 1}", "sourceRange": {"stream": {"kind": "run"}}}
        if place == 0:
            return {"method": "turn/started", "params": at | {"turnId": turn_id, "commandId": f"c-{turn}"}}
        if place == 1:
            item |= {"kind": "userMessage", "content": [{"type": "text", "text": f"question {turn}"}]}
        elif place == 2:
            output = f"output {turn}\n".ljust(OUTPUT_BYTES, "x")
            item |= {"kind": "userShell", "commandText": f"make {turn}", "visibleOutput": output, "exitCode": 0}
        elif place == 3:
            item |= {"kind": "agentMessage", "text": f"answer {turn}\n"}
        else:
            return {"method": "turn/completed", "params": at | {"turnId": turn_id, "terminal": "completed"}}
        return {"method": "item/completed", "params": at | {"item": item}}

    # -- much at once

    def _deltas(self, session_id: str, item_id: str, count: int, text: str, field: str) -> None:
        head, tail = json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "item/delta",
                "params": {
                    "sessionId": session_id,
                    "itemId": item_id,
                    "field": field,
                    "delta": text,
                    "viewCursor": "@",
                },
            }
        ).split("@")
        length = len(head) + len(tail) + 12
        each = max(1, TOGETHER // length)
        for begin in range(0, count, each):
            lines = (f"{head}d:{number}{tail}\n" for number in range(begin, min(begin + each, count)))
            self.write("".join(lines).encode())


class RunningHost(LoadHost):
    """A stored session in which a turn runs: with each of the first `pages` that are read, `noise` pieces of a message
    come; then the turn ends."""

    keeps = True
    events = 1000
    pages = 5
    noise = 3000

    def on_session_resume(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.answer(request, session={"sessionId": session_id, "status": "running"}, viewCursor=self._head)
        self.event("turn/started", session_id, turnId="live", commandId="c-live")
        self.item("started", session_id, "live", "live-message", text="")

    def on_view_page(self, request: Json) -> None:
        if self.pages:
            session_id = request["params"]["sessionId"]
            self._deltas(session_id, "live-message", self.noise, "x", "text")
            self.written = getattr(self, "written", 0) + self.noise
            self.pages -= 1
            if not self.pages:
                self.item("completed", session_id, "live", "live-message", text="x" * self.written)
                self.complete(session_id, "live")
        super().on_view_page(request)


class DeafHost(LoadHost):
    """Takes in nothing more from its first prompt on; what it was asked stays in the pipe."""

    def receive(self, frame: Json) -> None:
        if frame.get("method") == "turn/start":
            idle_for_ever()
        super().receive(frame)


class PatchlessHost(LoadHost):
    """Stores a patch of a call and does not answer who wants to read it."""

    def on_item_readOutput(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        """Nothing."""

    def play_patch(self, session_id: str, turn_id: str, pieces: int) -> None:
        """A call with a patch, the end of the turn, and then a turn of the host's own with `pieces` of 1 KiB."""
        reference = {"id": "patch", "byteLen": 100, "availability": "available", "mediaType": "text/plain"}
        call = {"kind": "toolCall", "tool": "write_file", "args": "{}"}
        self.item("started", session_id, turn_id, "write", **call)
        self.item("completed", session_id, turn_id, "write", **call, patchRef=reference)
        self.complete(session_id, turn_id)
        self.event("turn/started", session_id, turnId="own")
        self.item("started", session_id, "own", "own-message", text="")
        self._deltas(session_id, "own-message", pieces, "x" * 1024, "text")
