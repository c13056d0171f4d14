"""The example in `docs/stored-output.md`, taken from a run: `python -m tests.example_conversation` prints it.

A client that reads stored output talks to the real adapter on the simulated host. Ids and places are given short names,
long texts are shortened, chunks of one message and updates of one card are joined, so that every run gives the same.
What has nothing to do with output is left out.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import OPT_IN, READ, address, handles, stored

WIDTH: Final = 116
"""Columns of a line in the document."""

LONG: Final = 240
"""Characters from which on a text is shortened, to its first and last ones."""
HEAD: Final = 60
TAIL: Final = 150

SIZE: Final = 150_000
PAGE: Final = 65_536

_ASIDE_UPDATES: Final = frozenset(
    {"available_commands_update", "config_option_update", "current_mode_update", "plan", "session_info_update"}
    | {"usage_update"}
)
_ASIDE_MEMBERS: Final = frozenset({"modes", "configOptions"})
"""What the reader of the example does not need."""

_CARD_ORDER: Final = ("title", "status", "content", "rawOutput", "_meta")
"""In which order a joined update names its members, however many updates it is made of."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Written:
    """The conversation as it is told."""

    def __init__(self, home: Path) -> None:
        self.lines: list[str] = []
        self._home = str(home)
        self._names: dict[str, str] = {}

    def note(self, words: str) -> None:
        self.lines += ["", f"# {words}", ""]

    def frame(self, arrow: str, frame: Json) -> None:
        """One frame: `→` from the client, `←` from the adapter."""
        told = {name: value for name, value in _shortened(frame).items() if name != "jsonrpc"}
        text = json.dumps(told, ensure_ascii=False).replace(self._home, "/home/ada/orchard")
        laid_out = _laid_out(json.loads(_UUID.sub(self._name, text)), WIDTH - 2)
        self.lines += [f"{arrow} {laid_out[0]}", *(f"  {line}" for line in laid_out[1:])]

    def text(self) -> str:
        return "\n".join(self.lines).strip() + "\n"

    def _name(self, found: re.Match[str]) -> str:
        """The session is named first; what has a UUID after it is named after its turn."""
        known = len(self._names)
        return self._names.setdefault(found.group(), f"turn-{known}" if known else "ses-1")


class Told:
    """An adapter whose conversation is written down."""

    def __init__(self, adapter: AdapterProcess, written: Written) -> None:
        self._adapter = adapter
        self._written = written
        self._seen = len(adapter.frames)

    def ask(self, method: str, params: Json) -> Json:
        """Ask, and write down the question, what came meanwhile, and the answer."""
        request_id = self._adapter.begin(method, params)
        self._written.frame("→", {"id": request_id, "method": method, "params": params})
        answer = self._adapter.response(request_id)
        frames = self._adapter.frames[self._seen :]
        self._seen = len(self._adapter.frames)
        for frame in _joined(frames):
            self._written.frame("←", frame)
        return answer

    def last_handle(self) -> Json:
        return handles(self._adapter.updates())[-1]


def example() -> str:
    """The conversation, as the document has it."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory).resolve()
        written = Written(home)
        with running_adapter(home, muse="simulated:1.2.1") as adapter:
            client = Told(adapter, written)
            written.note("The client asks for the extension; the adapter offers it, in both places.")
            client.ask("initialize", {"protocolVersion": 1, **OPT_IN})
            answer = client.ask("session/new", {"cwd": str(home), "mcpServers": []})
            session_id = answer["result"]["sessionId"]
            written.note("A command with much output: the card shows its beginning, and how to read all of it.")
            prompt = [{"type": "text", "text": f"shell {SIZE}"}]
            client.ask("session/prompt", {"sessionId": session_id, "prompt": prompt})
            handle = client.last_handle()
            written.note("All of it, in pages: the next offset is offsetBytes + byteLen, until eof.")
            _read_all(client, address(handle))
            written.note("What cannot be read is refused, with a reason.")
            client.ask(READ, address(handle) | {"offsetBytes": SIZE + 1})
            client.ask(READ, address(handle) | {"offsetBytes": _inside_a_character()})
            client.ask(READ, address(handle) | {"outputRef": "out-elsewhere"})
            adapter.finish()
        written.note("Later, in another process, after initialize: the loaded session's card has the handle again.")
        with running_adapter(home, muse="simulated:1.2.1") as adapter:
            adapter.initialize(**OPT_IN)
            client = Told(adapter, written)
            client.ask("session/load", stored(session_id, home))
            client.ask(READ, address(client.last_handle()) | {"offsetBytes": 2 * PAGE, "lengthBytes": 128})
            adapter.finish()
        return written.text()


def _read_all(client: Told, ids: Json) -> None:
    offset, eof = 0, False
    while not eof:
        page = client.ask(READ, {**ids, "offsetBytes": offset, "lengthBytes": PAGE})["result"]
        offset, eof = page["offsetBytes"] + page["byteLen"], page["eof"]
    assert offset == SIZE


def _inside_a_character() -> int:
    """An offset into the first umlaut of what the simulated host prints."""
    return len("000000000 Gr") + 1


def _joined(frames: list[Json]) -> list[Json]:
    """The frames, with chunks of one message in one, and updates of one card: how they are cut is a matter of time."""
    joined: list[Json] = []
    for frame in map(_to_the_point, frames):
        update = _update(frame)
        if update.get("sessionUpdate") in _ASIDE_UPDATES:
            continue
        before = _update(joined[-1]) if joined else {}
        if "messageId" in update and update["messageId"] == before.get("messageId"):
            before["content"]["text"] += update["content"]["text"]
        elif _is_card(update) and _is_card(before) and update["toolCallId"] == before["toolCallId"]:
            before |= update
            before |= {name: before.pop(name) for name in _CARD_ORDER if name in before}
        else:
            joined.append(frame)
    return joined


def _to_the_point(frame: Json) -> Json:
    """A copy of a frame, without what the example is not about."""
    copy: Json = json.loads(json.dumps(frame))
    if isinstance(copy.get("result"), dict):
        copy["result"] = {name: value for name, value in copy["result"].items() if name not in _ASIDE_MEMBERS}
    return copy


def _update(frame: Json) -> Json:
    update: Json = frame.get("params", {}).get("update", {})
    return update


def _is_card(update: Json) -> bool:
    return update.get("sessionUpdate") == "tool_call_update"


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shortened(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_shortened(member) for member in value]
    if isinstance(value, str) and len(value) > LONG:
        return f"{value[:HEAD]} […] {value[-TAIL:]}"
    return value


def _laid_out(value: Any, width: int) -> list[str]:
    """JSON in lines of at most `width` columns where it can be broken."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= width or not isinstance(value, dict | list) or not value:
        return [line]
    lines = []
    members = value.items() if isinstance(value, dict) else (("", member) for member in value)
    for name, member in members:
        first, *rest = _laid_out(member, width - 2)
        lines += [f"  {json.dumps(name)}: {first}" if name else f"  {first}", *(f"  {more}" for more in rest)]
        lines[-1] += ","
    lines[-1] = lines[-1].removesuffix(",")
    brackets = "{}" if isinstance(value, dict) else "[]"
    return [brackets[0], *lines, brackets[1]]


if __name__ == "__main__":
    print(example(), end="")
