"""Damaged frames of a client, to one running adapter: each is answered as it deserves, once, however many are on their
way at a time, and none of them ends the connection. In a session of its own a turn asks again and again, and damaged
answers allow nothing."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson

from tests.fuzz.driven import Driven, Report, unseen
from tests.fuzz.mutation import mutated
from tests.fuzz.owed import Nothing, allows, answered_as, key_of
from tests.fuzz.templates import of_client

BATCH: Final = 200
"""Lines in one write; what is asked about a batch comes behind it."""

ASKING: Final = ("approve", "approve", "ask")
"""Prompts at which the simulated host asks, for consent and for words."""

ASK_EVERY: Final = 25
"""Batches between two of them."""


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
        self._asking = ""
        """The session in which turns ask."""
        self._questions: list[dict[str, Any]] = []
        self._ran = False
        """Whether what was asked for there has been done."""
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
                self._hear(frame)
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

    def _hear(self, frame: dict[str, Any]) -> None:
        """What the adapter asks and tells."""
        params = frame.get("params") or {}
        is_asking = bool(self._asking) and params.get("sessionId") == self._asking
        if "id" in frame:
            if is_asking:
                self._questions.append(frame)
            else:
                self._asked.append(frame["id"])
        elif is_asking and (params.get("update") or {}).get("sessionUpdate") == "tool_call_update":
            self._ran |= params["update"].get("status") == "completed"

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

    def run(self, frames: int, seconds: float = math.inf) -> Report:
        """Send so many damaged frames, or for so long, then end."""
        began = time.monotonic()
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"form": {}}}})
        cwd = str(self._directory)
        session_id = self.ask("session/new", {"cwd": cwd, "mcpServers": []})["result"]["sessionId"]
        self._asking = self.ask("session/new", {"cwd": cwd, "mcpServers": []})["result"]["sessionId"]
        with self._lock:
            self._opened.clear()
        sound = self._sound(session_id, self._directory)
        for at in range(0, frames, BATCH):
            lines = [mutated(self._chance, self._chance.choice(sound), at + number) for number in range(BATCH)]
            self._write(lines)
            self.report.frames += len(lines)
            if at < frames // 6:
                self.report.settled_mib = self.driven.peak_mib()
            self._answer_and_close()
            if at % (BATCH * ASK_EVERY) == 0:
                self._consent(ASKING[at // BATCH // ASK_EVERY % len(ASKING)])
            self.ask("orchard/probe", {})
            if self.report.problems or time.monotonic() - began > seconds:
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

    def _consent(self, word: str) -> None:
        """A turn that asks: it is answered with damage, then as it should be; and it does only what was allowed."""
        self._questions, self._ran = [], False
        self._next_id += 1
        key = key_of(self._next_id)
        self._answers[key] = None
        params = {"sessionId": self._asking, "prompt": [{"type": "text", "text": word}]}
        frame = {"jsonrpc": "2.0", "id": self._next_id, "method": "session/prompt", "params": params}
        self._write([orjson.dumps(frame) + b"\n"])
        asked: list[tuple[dict[str, Any], list[bytes]]] = []
        while True:
            # Who says no may be asked why.
            answered = len(asked)
            self.driven.wait(partial(self._has_news, key, answered), f"an end of {word!r} after {asked}")
            if len(self._questions) == answered:
                break
            question = self._questions[answered]
            asked.append((question, self._damaged_answers(question)))
            self._write(asked[-1][1])
        answer = self._answers.pop(key)
        if "result" not in answer or not asked:
            self.report.problem(f"{word!r} had asked {asked} and ended: {answer}")
        if self._ran and not any(allows(line, question) for question, lines in asked for line in lines):
            self.report.problem(f"it was done, and nothing had allowed it: {asked}")
        self.report.questions += len(asked)
        self.report.allowed += self._ran

    def _has_news(self, key: str, answered: int) -> bool:
        return len(self._questions) > answered or self._answers[key] is not None

    def _damaged_answers(self, question: dict[str, Any]) -> list[bytes]:
        """Some of every kind, and one at last that is as it should be."""
        request_id = question["id"]
        results: list[dict[str, Any]] = [
            {"action": "cancel"},
            {"action": "accept", "content": {}},
            {"action": "decline"},
        ]
        if question["method"] == "session/request_permission":
            named = [*(option["optionId"] for option in question["params"]["options"]), "nothing", ""]
            selected = [{"outcome": {"outcome": "selected", "optionId": name}} for name in named]
            results = [{"outcome": {"outcome": "cancelled"}}, *selected]
        answers: list[dict[str, Any]] = [{"jsonrpc": "2.0", "id": request_id, "result": result} for result in results]
        answers.append({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": "no"}})
        lines = [mutated(self._chance, self._chance.choice(answers), 0) for _ in range(self._chance.randrange(3))]
        return [*lines, orjson.dumps(self._chance.choice(answers)) + b"\n"]
