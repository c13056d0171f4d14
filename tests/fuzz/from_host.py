"""Damaged frames of a host, to one running adapter: none of them holds up a prompt or ends the adapter, and each
request among them is answered once."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from tests.fuzz.driven import Driven, Report, unseen
from tests.fuzz.mutating_host import MutatingHost
from tests.scripted_hosts import place

LINES: Final = 2000
"""Damaged frames of one turn."""

HOST_REFUSED: Final = "hostError"


class Editor:
    """A client that is right in everything: it prompts, refuses what it is asked, and reads all it is told."""

    def __init__(self, seed: int, directory: Path, look: Callable[[dict[str, Any]], None] = unseen) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._answers: dict[int, dict[str, Any]] = {}
        self._next_id = 0
        self._directory = directory
        self.report = Report("host")
        host = place(directory / "host", MutatingHost, lines=LINES, seed=seed)
        self.driven = Driven(directory, host.muse, self._take)

    def _take(self, frame: dict[str, Any]) -> None:
        self._look(frame)
        if "method" not in frame:
            with self._lock:
                request_id = frame.get("id")
                if not isinstance(request_id, int) or request_id in self._answers or request_id > self._next_id:
                    self.report.problem(f"an answer nobody asked for, or the second one: {str(frame)[:300]}")
                else:
                    self._answers[request_id] = frame
        elif "id" in frame:
            self._send(self._answer(frame))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["method"] == "session/request_permission":
            refusing = [each["optionId"] for each in request["params"]["options"] if each["kind"] == "reject_once"]
            outcome: dict[str, Any] = {"outcome": "cancelled"}
            if refusing:
                outcome = {"outcome": "selected", "optionId": refusing[0]}
            return {"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}}
        return {"jsonrpc": "2.0", "id": request["id"], "result": {"action": "decline"}}

    def _send(self, frame: dict[str, Any]) -> None:
        self.driven.write(orjson.dumps(frame) + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request, and its answer."""
        with self._lock:
            self._next_id += 1
            request_id = self._next_id
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        self.driven.wait(lambda: request_id in self._answers, f"an answer to {method}")
        return self._answers[request_id]

    def run(self, frames: int, seconds: float = math.inf) -> Report:
        """Prompt until the host has sent so many damaged frames, or for so long, then end."""
        began = time.monotonic()
        forms: dict[str, Any] = {"elicitation": {"form": {}}, "session": {"notices": {}, "compaction": {}}}
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": forms})
        text = [{"type": "text", "text": "go on"}]
        while self.report.frames < frames and not self.report.problems and time.monotonic() - began <= seconds:
            # A session of its own for some of them: what is remembered of one is bounded, and not what is shown here.
            if self.report.frames % (25 * LINES) == 0:
                opened = self.ask("session/new", {"cwd": str(self._directory), "mcpServers": []})
                session_id = opened["result"]["sessionId"]
            answer = self.ask("session/prompt", {"sessionId": session_id, "prompt": text})
            reason = ((answer.get("error") or {}).get("data") or {}).get("reason")
            if "result" not in answer and reason != HOST_REFUSED:
                self.report.problem(f"a prompt was answered {answer}")
            self._look_around(session_id)
            self.report.frames += LINES
            if self.report.frames <= frames // 6:
                self.report.settled_mib = self.driven.peak_mib()
        self.driven.end(self.report)
        self._hear_host()
        self.report.seconds = time.monotonic() - began
        return self.report

    def _look_around(self, session_id: str) -> None:
        """Requests for which a host is asked something; it may be refused, and for no fault of the adapter's."""
        here = {"sessionId": session_id}
        for method, params in (
            ("session/list", {}),
            ("session/load", {**here, "cwd": str(self._directory), "mcpServers": []}),
            ("session/set_config_option", {**here, "configId": "model", "value": "muse-large-2"}),
            ("session/resume", {**here, "cwd": str(self._directory), "mcpServers": []}),
        ):
            answer = self.ask(method, params)
            data = (answer.get("error") or {"data": {"reason": "none"}}).get("data") or {}
            if data.get("reason") in (None, "internal"):
                self.report.problem(f"{method} was answered {str(answer)[:500]}")

    def _hear_host(self) -> None:
        counted = list((self._directory / "host").glob("counted-*.json"))
        if len(counted) != 1:
            self.report.problem(f"{len(counted)} hosts have ended by themselves, not one")
        for path in counted:
            told = json.loads(path.read_text())
            self.report.answers += told["answers"]
            self.report.frames = told["frames"]
            for words in told["problems"]:
                self.report.problem(words)
