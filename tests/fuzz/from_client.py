"""Damaged frames of a client, to one running adapter: each is answered as it deserves, once, however many are on their
way at a time, and none of them ends the connection."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from tests.fuzz.driven import Driven, Report, unseen
from tests.fuzz.mutation import mutated
from tests.fuzz.owed import Nothing, answered_as, key_of
from tests.fuzz.templates import of_client

BATCH: Final = 200
"""Lines in one write; what is asked about a batch comes behind it."""

ASKING: Final = "ask"
"""A prompt at which the simulated host asks for consent."""


class Client:
    """Counts what it is owed and what it gets."""

    def __init__(
        self,
        seed: int,
        directory: Path,
        look: Callable[[dict[str, Any]], None] = unseen,
        sound: Callable[[str, Path], list[Any]] = of_client,
    ) -> None:
        self._look = look
        self._sound = sound
        self._chance = random.Random(seed)
        self._directory = directory
        self._lock = threading.Lock()
        self._owed: Counter[str] = Counter()
        self._answers: dict[str, Any] = {}
        self._asked: list[Any] = []
        self._opened: list[str] = []
        self._next_id = 10**9
        self.report = Report("client")
        self.driven = Driven(directory, "simulated", self._take)

    # -- reading

    def _take(self, frame: dict[str, Any]) -> None:
        """One frame of the adapter, in the thread that reads."""
        self._look(frame)
        with self._lock:
            if "method" in frame:
                if "id" in frame:
                    self._asked.append(frame["id"])
                return
            key = key_of(frame.get("id"))
            self.report.answers += 1
            reason = ((frame.get("error") or {}).get("data") or {}).get("reason")
            if reason == "duplicateId":
                # The id belongs to an open request, whose answer it could be taken for.
                self.report.duplicates += 1
                return
            if self._owed[key] <= 0:
                self.report.problem(f"an answer nobody asked for, or the second one: {orjson.dumps(frame)[:300]!r}")
            self._owed[key] -= 1
            if not self._owed[key]:
                del self._owed[key]
            if key in self._answers:
                self._answers[key] = frame
            session_id = (frame.get("result") or {}).get("sessionId")
            if isinstance(session_id, str):
                self._opened.append(session_id)

    # -- writing

    def _write(self, lines: list[bytes]) -> None:
        data = b"".join(lines)
        with self._lock:
            for line in data.split(b"\n"):
                key = answered_as(line)
                if key is not Nothing:
                    self._owed[key_of(key)] += 1
        self.driven.write(data)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A sound request, and its answer."""
        self._next_id += 1
        key = key_of(self._next_id)
        self._answers[key] = None
        self._write([orjson.dumps({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}) + b"\n"])
        self.driven.wait(lambda: self._answers[key] is not None, f"an answer to {method}")
        answer: dict[str, Any] = self._answers.pop(key)
        return answer

    def run(self, frames: int) -> Report:
        """Send so many damaged frames, then end."""
        began = time.monotonic()
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"form": {}}}})
        cwd = str(self._directory)
        session_id = self.ask("session/new", {"cwd": cwd, "mcpServers": []})["result"]["sessionId"]
        with self._lock:
            self._opened.clear()
        sound = self._sound(session_id, self._directory)
        asking = {"sessionId": session_id, "prompt": [{"type": "text", "text": ASKING}]}
        for at in range(0, frames, BATCH):
            lines = [mutated(self._chance, self._chance.choice(sound), at + number) for number in range(BATCH)]
            self._write(lines)
            self.report.frames += len(lines)
            if at < frames // 6:
                self.report.settled_mib = self.driven.peak_mib()
            self._answer_and_close()
            if at % (BATCH * 50) == 0:
                self._consent(asking)
            self.ask("orchard/probe", {})
            if self.report.problems:
                break
        self.driven.end(self.report)
        # What was refused for an id that was open was refused without it.
        missing = self._owed.total() - self.report.duplicates
        if missing:
            self.report.problem(f"{missing} requests were not answered: {list(self._owed.items())[:5]}")
        self.report.seconds = time.monotonic() - began
        return self.report

    def _answer_and_close(self) -> None:
        """Answer what the adapter asked, damaged and then as it should be, and close what was opened."""
        with self._lock:
            asked, self._asked = self._asked, []
            opened, self._opened = self._opened, []
        lines = []
        for request_id in asked:
            answer = {"jsonrpc": "2.0", "id": request_id, "result": {"outcome": {"outcome": "cancelled"}}}
            lines += [mutated(self._chance, answer, 0), orjson.dumps(answer) + b"\n"]
        for session_id in opened:
            self._next_id += 1
            params = {"sessionId": session_id}
            frame = {"jsonrpc": "2.0", "id": self._next_id, "method": "session/close", "params": params}
            lines.append(orjson.dumps(frame) + b"\n")
        if lines:
            self._write(lines)

    def _consent(self, asking: dict[str, Any]) -> None:
        """A prompt that asks; it ends when its question is answered, however that was damaged."""
        self._next_id += 1
        frame = {"jsonrpc": "2.0", "id": self._next_id, "method": "session/prompt", "params": asking}
        self._write([orjson.dumps(frame) + b"\n"])
