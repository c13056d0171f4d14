"""A host that is right in everything, and sends damaged frames in each of its turns. It counts what it is answered.

Only the standard library and the damage are used, so that a test does not compare the adapter with itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import ClassVar, Final

from tests.fuzz.mutation import damaged_value, mutated, written
from tests.fuzz.owed import Nothing, answered_as, key_of
from tests.fuzz.templates import of_host, recorded_of_host
from tests.scripted_hosts import Json, ScriptedHost

CORPUS: Final = Path(__file__).with_name("corpus") / "results"


class MutatingHost(ScriptedHost):
    """Sends `lines` damaged frames in each turn, drawn with `seed`. When its input ends it writes `counted.json`: how
    many frames it has sent and how many answers it got, and what was answered wrongly."""

    ANSWERED: ClassVar[dict[str, str]] = {
        "model/list": "model-list",
        "session/list": "session-list",
        "session/read": "session-resume",
        "skill/list": "rows",
        "view/page": "",
        "usage/read": "turns",
        "item/readOutput": "",
    }
    """Queries, and where the corpus has an answer to each."""

    lines = 1000
    seed = 1

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.chance = random.Random(self.seed)
        self.sound = [*of_host(), *recorded_of_host()]
        self.sent = 0
        self.answers = 0
        self.unnamed = 0
        self.lock = threading.Lock()
        self.owed: Counter[str] = Counter()
        self.problems: list[str] = []

    def serve(self) -> None:
        """Frames are read beside writing, or both sides would wait for each other."""
        frames: list[Json] = []
        arrived = threading.Condition()

        def read() -> None:
            for line in sys.stdin.buffer:
                frame = json.loads(line)
                if "method" not in frame:
                    self.count(frame)
                    continue
                with arrived:
                    frames.append(frame)
                    arrived.notify()
            with arrived:
                frames.append({})
                arrived.notify()

        threading.Thread(target=read, daemon=True).start()
        while True:
            with arrived:
                while not frames:
                    arrived.wait()
                frame = frames.pop(0)
            if not frame:
                break
            self.receive(frame)
        self.report()

    def count(self, frame: Json) -> None:
        """An answer of the adapter."""
        key = key_of(frame.get("id"))
        with self.lock:
            self.answers += 1
            if frame.get("id") is None:
                # The refusal of a request whose id is that of an open one; a host is told of nothing else without id.
                self.unnamed += 1
                return
            if self.owed[key] <= 0 and len(self.problems) < 20:
                self.problems.append(f"an answer nobody asked for, or the second one: {json.dumps(frame)[:300]}")
            self.owed[key] -= 1

    def turn(self, session_id: str, turn_id: str) -> None:
        self.message(session_id, turn_id, "before ")
        names = {"$S": session_id, "$T": turn_id}
        for _ in range(0, self.lines, 100):
            data = b"".join(self.damaged(names) for _ in range(100))
            with self.lock:
                for line in data.split(b"\n"):
                    key = answered_as(line)
                    if key is not Nothing and key is not None:
                        self.owed[key_of(key)] += 1
            self.write(data)
        self.message(session_id, turn_id, "after")
        self.complete(session_id, turn_id)

    def damaged(self, names: dict[str, str]) -> bytes:
        """One frame. Of items, approvals and questions there are some hundred at a time, which are told of in any
        order."""
        self.sent += 1
        line = mutated(self.chance, self.chance.choice(self.sound), self.sent)
        about = self.sent // 1000 * 100
        drawn = {name: f"{name[1]}{about + self.chance.randrange(100)}" for name in ("$I", "$A", "$U")}
        for name, value in {**names, **drawn, "$C": f"v:{self.sent}"}.items():
            line = line.replace(name.encode(), value.encode())
        return line.replace(b'"revision": 1,', b'"revision": %d,' % self.chance.randrange(1, 9))

    def receive(self, frame: Json) -> None:
        if frame.get("method") in self.ANSWERED:
            return self.answer_oddly(frame)
        return super().receive(frame)

    def answer_oddly(self, request: Json) -> None:
        """A damaged result, and behind it one that comes too late."""
        name = self.ANSWERED[request["method"]]
        page = {"events": [{"method": frame["method"], "params": frame["params"]} for frame in self.sound[:9]]}
        result: Json = {
            **json.loads(json.dumps(page)),
            "nextCursor": None,
            "content": "abc",
            "encoding": "utf8",
            "eof": True,
        }
        if name:
            result = json.loads((CORPUS / name).read_text().splitlines()[0])
        for _ in range(self.chance.randrange(4)):
            result = damaged_value(self.chance, result)
        # A line of JSON whatever became of it: the adapter waits for nothing else.
        line = written({"jsonrpc": "2.0", "id": request["id"], "result": result}, ascii_only=True)
        self.write(line + b"\n")
        self.answer(request)

    def on_response(self, frame: Json) -> None:
        raise AssertionError("responses are counted as they come")

    def on_approval_decide(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted")

    def report(self) -> None:
        """What was counted, for whoever has started this."""
        with self.lock:
            missing = self.owed.total() - self.unnamed
            open_now = [key for key, count in self.owed.items() if count > 0]
        if missing:
            self.problems.append(f"{missing} requests were not answered, or answers without request: {open_now[:5]}")
        counted = {"frames": self.sent, "answers": self.answers, "problems": self.problems}
        with contextlib.suppress(OSError):
            (self.directory / f"counted-{os.getpid()}.json").write_text(json.dumps(counted))
