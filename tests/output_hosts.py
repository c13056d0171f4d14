"""A read host as an executable, and readers that use it.

`OutputHost` stores one session with one item and serves it honestly; settings make it do one thing wrong, late or
never. What it received is in `received.ndjson`, how it was called in `calls.ndjson` (see `tests/scripted_hosts.py`).
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tests.scripted_hosts import Placed, ScriptedHost, idle_for_ever

if TYPE_CHECKING:
    from adapter.bridge.hosts.host_choice import HostChoice
    from adapter.wire.background import Background

Json = dict[str, Any]

SESSION = "ses-quince"
ITEM = "item-quince"
REF = "out-quince"

NOTHING: Mapping[str, Any] = MappingProxyType({})

PATIENCE = 20.0
"""Seconds after which a test that waits has failed."""


def stored(size: int) -> bytes:
    """The bytes of an output: text with characters of one to four bytes."""
    line = "Grüße aus 東京 \U0001f600 ✓\n".encode()
    return (line * (size // len(line) + 1))[:size]


def reference(ref_id: str = REF, size: int = 300_000, availability: str = "available", **members: Any) -> Json:
    return {"id": ref_id, "byteLen": size, "availability": availability, "mediaType": "text/plain", **members}


def revised(number: int = 2, item_id: str = ITEM, session_id: str = SESSION, **members: Any) -> Json:
    """The event that brought an item to a revision."""
    item = {"itemId": item_id, "kind": "toolCall", "revision": number, "status": "completed", **members}
    return {"method": "item/completed", "params": {"sessionId": session_id, "viewCursor": f"v:{number}", "item": item}}


def other_events(count: int) -> list[Json]:
    return [revised(1, f"other-{number}") for number in range(count)]


class OutputHost(ScriptedHost):
    """The settings are its attributes; a method in a setting is one of those it is asked."""

    version = "1.2.1"
    shown = "1.2.1"
    """What `--version` says; `version` is what the handshake says."""
    flags = ("--disable-write", "--disable-shell")
    """What `serve --help` lists, and all that `serve` accepts."""
    help_seconds = 0.0
    workspace = "/"
    session_member: Any = SESSION
    size = 300_000
    binary = False
    pages: list[Any] | None = None
    """The history, newest page first: a list of events, or an object that is the answer as it is."""
    endless = False
    """Whether empty pages follow for ever."""
    page: Mapping[str, Any] = NOTHING
    """Members of every output page that are not as they should be; null for one that is missing."""
    refusals: Mapping[str, Json] = NOTHING
    """Methods that are refused, with the error."""
    seconds: Mapping[str, float] = NOTHING
    """Methods that take so long, in which nothing else is done."""
    silent: Collection[str] = ()
    """Methods that are never answered."""
    held: Collection[str] = ()
    """Methods that are answered when `release` has been called, all at once."""
    deaths: Collection[str] = ()
    """Methods that the host does not survive."""

    # -- running

    def main(self) -> None:
        with (self.directory / "calls.ndjson").open("a") as calls:
            calls.write(json.dumps(sys.argv[1:]) + "\n")
        if "--help" not in sys.argv:
            return super().main()
        time.sleep(self.help_seconds)
        print("usage: muse serve [flags]\n\n  " + "\n  ".join(self.flags))
        return None

    def show_version(self) -> None:
        print(f"Muse Code {self.shown} (scripted)")

    def serve(self) -> None:
        unknown = [word for word in sys.argv[2:] if word not in self.flags]
        if unknown:
            print(f"unexpected argument {unknown[0]}", file=sys.stderr)
            sys.exit(2)
        self.waiting: list[Json] = []
        self.writing = threading.Lock()
        threading.Thread(target=self._answer_held, daemon=True).start()
        super().serve()

    def write(self, data: bytes) -> None:
        with self.writing:
            super().write(data)

    def receive(self, frame: Json) -> None:
        method = frame["method"]
        time.sleep(self.seconds.get(method, 0.0))
        if method in self.deaths:
            os._exit(9)
        if method in self.held and not self.released():
            self.waiting.append(frame)
        elif method in self.refusals:
            self.send({"jsonrpc": "2.0", "id": frame["id"], "error": self.refusals[method]})
        elif method not in self.silent:
            super().receive(frame)

    def released(self) -> bool:
        return (self.directory / "released").exists()

    def _answer_held(self) -> None:
        while not self.released():
            time.sleep(0.01)
        time.sleep(0.01)
        for frame in self.waiting:
            super().receive(frame)

    # -- what a read host is asked

    def on_session_read(self, request: Json) -> None:
        if request["params"]["sessionId"] != SESSION:
            return self.refuse(request, "sessionNotFound", "there is no such session", -32020)
        session = {"sessionId": self.session_member, "workspaceRoot": self.workspace}
        return self.answer(request, session=session, viewCursor="v:99")

    def on_view_page(self, request: Json) -> None:
        number = int(request["params"].get("cursor", "0"))
        pages = self.pages if self.pages is not None else [[revised(outputRef=reference(size=self.size))]]
        page = pages[number] if number < len(pages) else []
        if isinstance(page, dict):
            return self.send({"jsonrpc": "2.0", "id": request["id"], **page})
        more = self.endless or number + 1 < len(pages)
        return self.answer(request, events=page, nextCursor=str(number + 1) if more else None)

    def on_item_readOutput(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        params = request["params"]
        start, whole = params["offsetBytes"], stored(self.size)
        data = whole[start : start + params["lengthBytes"]]
        if not self.binary:
            if data and data[0] & 0xC0 == 0x80:
                aligned = next(at for at in range(start, start + 4) if whole[at] & 0xC0 != 0x80)
                return self.refuse(request, "invalidParams", "inside a character", -32602, alignedNextOffset=aligned)
            data = data.decode("utf-8", "ignore").encode()
        page = {
            "content": base64.b64encode(data).decode() if self.binary else data.decode(),
            "encoding": "base64" if self.binary else "utf8",
            "mediaType": "application/octet-stream" if self.binary else "text/plain",
            "offsetBytes": start,
            "byteLen": len(data),
            "eof": start + len(data) >= len(whole),
            **self.page,
        }
        return self.answer(request, **{name: value for name, value in page.items() if value is not None})


class DeafHost(OutputHost):
    """Starts and never reads."""

    def serve(self) -> None:
        idle_for_ever()


class CrashingHost(OutputHost):
    """Ends before it says anything."""

    def serve(self) -> None:
        print("no store here", file=sys.stderr)
        sys.exit(3)


def release(placed: Placed) -> None:
    """Let the host answer what it holds back."""
    (placed.directory / "released").touch()


def calls(placed: Placed) -> list[list[str]]:
    """The arguments of every run so far, in order."""
    path = placed.directory / "calls.ndjson"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def methods(placed: Placed) -> list[str]:
    """The methods its runs have received so far, in order."""
    return [frame["method"] for frame in placed.received()]


def choice_of(placed: Placed, startup_timeout: float = PATIENCE) -> HostChoice:
    """What a user says who wants that host."""
    from adapter.bridge.hosts.host_choice import HostChoice

    environ = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
    return HostChoice(environ, placed.directory, placed.muse, startup_timeout=startup_timeout, close_grace=1.0)


@asynccontextmanager
async def background() -> AsyncIterator[Background]:
    """What runs beside the test, cancelled at its end."""
    import anyio

    from adapter.wire.background import Background

    async with anyio.create_task_group() as tasks:
        yield Background(tasks, logging.getLogger("adapter.output"))
        tasks.cancel_scope.cancel()
