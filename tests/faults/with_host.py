"""An adapter with a session on a scripted host, and the checks that hold however odd the host or the client was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.processes import wait_until
from tests.scripted_hosts import Placed, ScriptedHost, place

INITIALIZE_LINE: Final = b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}\n'


class Opened(NamedTuple):
    """What a test works with."""

    adapter: AdapterProcess
    host: Placed
    session_id: str

    def prompt(self, text: str = "go") -> Json:
        """The result of a prompt that must not fail."""
        return self.adapter.prompt(self.session_id, text)

    def begin(self, text: str = "go") -> int:
        """Send a prompt and return its id."""
        return self.adapter.begin_prompt(self.session_id, text)

    def text(self) -> str:
        """The answers so far."""
        return self.adapter.text(self.session_id)

    def cards(self) -> dict[str, Json]:
        """The cards as a client shows them now: the members of each call, updates put on top."""
        cards: dict[str, Json] = {}
        for update in self.adapter.updates(self.session_id):
            if update["sessionUpdate"] == "tool_call":
                assert update["toolCallId"] not in cards, "a card is opened once"
                cards[update["toolCallId"]] = dict(update)
            elif update["sessionUpdate"] == "tool_call_update":
                cards[update["toolCallId"]].update(update)
        return cards

    def answer_permission(self, option_id: str) -> None:
        """Answer every permission request with this option."""
        self.adapter.answer = lambda request: permission(option_id)

    def wait_for_note(self, words: bytes) -> None:
        """The adapter says something on stderr, which it does when it finds the time."""
        wait_until(lambda: words in self.adapter.stderr, otherwise=lambda: self.adapter.stderr.decode())

    def answers(self) -> list[Json]:
        """What the adapter answered to the host's requests, as the host has it after one more round trip."""
        self.adapter.new_session(self.host.directory)
        return [frame for frame in self.host.received() if "method" not in frame]


@contextmanager
def opened(tmp_path: Path, host: type[ScriptedHost] = ScriptedHost, *args: str, **settings: Any) -> Iterator[Opened]:
    """An adapter with one open session. In the end it must still serve, end well, and have answered everything once."""
    placed = place(tmp_path / "host", host, **settings)
    with running_adapter(tmp_path, *args, muse=placed.muse) as adapter:
        adapter.initialize()
        yield Opened(adapter, placed, adapter.new_session(tmp_path))
        serves_on(adapter, tmp_path)


def serves_on(adapter: AdapterProcess, cwd: Path) -> None:
    """The next request is served, the end is clean, every frame is right and every request was answered once."""
    adapter.new_session(cwd)
    assert adapter.finish() == 0
    assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()


def say(adapter: AdapterProcess, line: bytes) -> None:
    """One raw line to the adapter, remembered as sent."""
    adapter.sent.append(line)
    adapter.write(line)


def request(request_id: Any, method: str, params: Any) -> bytes:
    """The line of a request."""
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


def null_errors(adapter: AdapterProcess) -> list[int]:
    """The codes of the errors so far that name no request."""
    return [frame["error"]["code"] for frame in adapter.frames if "error" in frame and frame["id"] is None]
