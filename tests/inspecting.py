"""Recordings made by hand, for tests of how they are shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from adapter.cli.inspect.ladder import Ladder, ladder_of
from adapter.cli.inspect.recording import Recording, read_recording

Json = dict[str, Any]
Side = Literal["client", "server"]

SESSION = "0198f000-0000-7000-8000-00000000000a"
OTHER = "0198f000-0000-7000-8000-00000000000b"
TURN = "0198f000-0000-7000-8000-00000000001a"


class Transcript:
    """Says one frame after the other; each comes ten milliseconds after the last, unless told otherwise."""

    def __init__(self, timed: bool = True) -> None:
        self.lines: list[str] = []
        self._timed = timed
        self._at = -10
        self._id = 0

    def client(self, raw: str, after: int = 10) -> None:
        self._say("client", raw, after)

    def server(self, raw: str, after: int = 10) -> None:
        self._say("server", raw, after)

    def _say(self, direction: str, raw: str, after: int) -> None:
        self._at += after
        times = {"atMs": self._at} if self._timed else {}
        self.lines.append(json.dumps({"dir": direction, "raw": raw, **times}))

    def ask(self, method: str, params: Json, by: Side = "client") -> int:
        """A request; its id."""
        self._id += 1
        self._say(by, json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}), 10)
        return self._id

    def answer(self, request_id: Any, result: Json, by: Side = "server", after: int = 10) -> None:
        self._say(by, json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}), after)

    def refuse(self, request_id: Any, code: int, message: str, data: Json | None = None) -> None:
        error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.server(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}))

    def call(self, method: str, params: Json, result: Json) -> None:
        """A request of the client and its answer."""
        self.answer(self.ask(method, params), result)

    def tell(self, method: str, params: Json, **members: Any) -> None:
        """A notification of the host."""
        self.server(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **members}))

    def item(self, how: str, item: Json, session: str = SESSION) -> None:
        self.tell(f"item/{how}", {"sessionId": session, "item": {"turnId": TURN, "revision": 1, **item}})

    def shake_hands(self) -> None:
        params = {"clientInfo": {"name": "tester", "version": "3"}}
        server = {"name": "muse-session-server", "version": "1.2.1"}
        self.call("initialize", params, {"serverInfo": server, "grantedCapabilities": ["sessionMcp"]})

    def write(self, directory: Path, manifest: Json | None = None) -> Path:
        """The folder of the recording."""
        directory.mkdir(exist_ok=True)
        (directory / "transcript.ndjson").write_text("".join(f"{line}\n" for line in self.lines), "utf-8")
        if manifest is not None:
            (directory / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        return directory

    def read(self, directory: Path, manifest: Json | None = None) -> tuple[Recording, Ladder]:
        """Written, and read."""
        recording = read_recording(self.write(directory, manifest))
        return recording, ladder_of(recording)


def rows(ladder: Ladder) -> list[str]:
    """What the ladder says, a line for each row: `>` is the client's, `<` the host's."""
    arrows = {"client": ">", "server": "<", "unknown": "?"}
    return [f"{arrows[entry.direction]} {entry.method} {entry.words}".rstrip() for entry in ladder.entries]
