"""A client that asked for stored output, driving a running adapter."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.storing_hosts import READ_ONLY

KEY: Final = "muse/output"
OPT_IN: Final[Json] = {"clientCapabilities": {"_meta": {KEY: 1}}}
READ: Final = "_muse/readOutput"


class Reader:
    """A client of a running adapter, with one open session after `start`."""

    def __init__(self, adapter: AdapterProcess, home: Path) -> None:
        self.adapter = adapter
        self.home = home
        self.session_id = ""

    def start(self) -> str:
        self.session_id = self.adapter.new_session(self.home)
        return self.session_id

    def open_stored(self, session_id: str, method: str = "session/load", cwd: Path | None = None) -> Json:
        """The answer to `session/load` or `session/resume`."""
        self.session_id = session_id
        return self.adapter.call(method, stored(session_id, cwd or self.home))

    def handle_of(self, prompt: str, key: str = KEY) -> Json:
        """What the turn's card says about reading in the end."""
        assert self.adapter.prompt(self.session_id, prompt)["stopReason"] == "end_turn"
        return handles(self.adapter.updates(self.session_id), key)[-1]

    def begin(self, handle: Json, **range_: int) -> int:
        """Send a read and return its id."""
        return self.adapter.begin(READ, address(handle) | range_)

    def read(self, handle: Json, **range_: int) -> Json:
        """A page."""
        return self.adapter.call(READ, address(handle) | range_)

    def refused(self, handle: Json, **members: Any) -> tuple[int, Json]:
        """Code and data of a read that must fail, without the words for people."""
        return error_of(self.adapter.refused(READ, address(handle) | members))

    def read_all(self, handle: Json, length: int) -> bytes:
        """Every byte, page by page, as a client has to read."""
        whole = bytearray()
        while True:
            page = self.read(handle, offsetBytes=len(whole), lengthBytes=length)
            data = page_bytes(page)
            assert (page["offsetBytes"], page["byteLen"]) == (len(whole), len(data))
            assert len(data) <= length
            whole += data
            if page["eof"]:
                return bytes(whole)
            assert data

    # -- what the simulated hosts say of it

    def witnessed(self, read_host: bool = True) -> list[Json]:
        """The calls that read hosts have received so far, or the other hosts."""
        path = self.home / "witness.ndjson"
        calls = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [call for call in calls if (READ_ONLY in call["flags"]) == read_host]

    def asked(self) -> list[str]:
        """The methods that read hosts have received so far."""
        return [call["method"] for call in self.witnessed()]

    def read_hosts(self) -> list[int]:
        """The process ids of the read hosts so far, in order."""
        return list(dict.fromkeys(call["pid"] for call in self.witnessed()))


@contextmanager
def reading(
    home: Path, *args: str, muse: str = "simulated", faults: list[Json] | None = None, **members: Any
) -> Iterator[Reader]:
    """An adapter whose client asked for stored output. `faults` are for simulated hosts, and for read hosts only unless
    they name another flag or None."""
    meant = [{"flag": READ_ONLY, **fault} for fault in faults or []]
    env = {"MUSE_SIMULATED_FAULTS": json.dumps(meant), "MUSE_SIMULATED_WITNESS": str(home / "witness.ndjson")}
    with running_adapter(home, *args, muse=muse, env=env) as adapter:
        adapter.initialize(**{**OPT_IN, **members})
        yield Reader(adapter, home)


def stored(session_id: str, cwd: Path) -> Json:
    """The params that open a stored session."""
    return {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}


def handles(updates: list[Json], key: str = KEY) -> list[Json]:
    """Everything that was announced on cards, in order."""
    return [update["_meta"][key] for update in updates if key in update.get("_meta", {}) and "toolCallId" in update]


def address(handle: Json) -> Json:
    """The three ids a read needs."""
    return {name: handle[name] for name in ("sessionId", "itemId", "outputRef")}


def error_of(error: Json) -> tuple[int, Json]:
    """Code and data, without the words for people, which must be there."""
    data = dict(error["data"])
    assert data.pop("details")
    return error["code"], data


def page_bytes(page: Json) -> bytes:
    """The bytes of a page."""
    content: str = page["content"]
    return base64.b64decode(content, validate=True) if page["encoding"] == "base64" else content.encode()


def simulated_bytes(handle: Json, recipe: str = "lines") -> bytes:
    """What the simulated host stores for an item: `lines` of text, or `bytes` that are none."""
    size = handle["byteLen"]
    return stored_bytes(new_output(handle["itemId"], recipe, size), 0, size)
