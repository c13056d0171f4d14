"""A reader of stored output under test, with real hosts and a client that may take its requests back."""

from __future__ import annotations

import base64
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.reader import OutputReader
from adapter.wire.envelope import Request, RpcError
from adapter.wire.peer import Call
from tests.output_hosts import ITEM, PATIENCE, REF, SESSION, OutputHost, background, choice_of, methods
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, ScriptedHost, place

Json = dict[str, Any]
Outcome = Json | RpcError

ALLOWED = {"initialize", "initialized", "session/read", "view/page", "item/readOutput"}
"""All that a host that reads may ever be asked."""

OFFERED = Negotiation(asked=True, offered=True, host_version="1.2.1")
IDS: Json = {"sessionId": SESSION, "itemId": ITEM, "outputRef": REF}


class OpenSessions:
    """Two open sessions; `refusals` says which are not."""

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.refusals: dict[str, str] = {"ses-closed": "sessionClosed", "ses-loading": "sessionBusy"}

    def workspace_for_reading(self, session_id: str) -> str:
        if session_id in (SESSION, "ses-second"):
            return self.workspace
        raise errors.session_refused(self.refusals.get(session_id, "sessionUnknown"), session_id)


class Reading:
    """A reader under test, its host script, and what its client does."""

    def __init__(self, output: OutputReader, placed: Placed, sessions: OpenSessions) -> None:
        self.output = output
        self.placed = placed
        self.sessions = sessions
        self._ids = itertools.count(1)

    def call(self, **changes: Any) -> Call:
        return Call(Request(next(self._ids), "_muse/readOutput", {**IDS, **changes}))

    async def run(self, call: Call) -> Outcome | None:
        """The answer to a call, None if the client takes it back."""
        try:
            work = self.output.begin(call)
            with call.scope:
                return await work
        except RpcError as error:
            return error
        return None

    async def ask(self, **changes: Any) -> Outcome | None:
        with anyio.fail_after(PATIENCE):
            return await self.run(self.call(**changes))

    def start(self, tasks: TaskGroup, **changes: Any) -> Started:
        """Begin a read in its own task; what is begun first arrives first."""
        started = Started(self.call(**changes))
        work = self.output.begin(started.call)

        async def run() -> None:
            try:
                with started.call.scope:
                    started.outcome = await work
            except RpcError as error:
                started.outcome = error
            started.over.set()

        tasks.start_soon(run)
        return started

    def counts(self) -> Counter[str]:
        return Counter(methods(self.placed))

    async def until_received(self, method: str, times: int = 1) -> None:
        await until(lambda: self.counts()[method] >= times)


class Started:
    """A read that goes on beside the test."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.outcome: Outcome | None = None
        self.over = anyio.Event()

    async def wait(self) -> Outcome | None:
        with anyio.fail_after(PATIENCE):
            await self.over.wait()
        return self.outcome


@asynccontextmanager
async def reading(
    parent: Path,
    script: type[ScriptedHost] = OutputHost,
    startup: float = PATIENCE,
    gives_way: bool = False,
    **settings: Any,
) -> AsyncIterator[Reading]:
    """A reader that may read; afterwards its host has received only what it may, and nothing of it is left."""
    workspace = parent / "workspace"
    workspace.mkdir()
    placed = place(parent / "host", script, **{"workspace": str(workspace), **settings})
    with anyio.fail_after(3 * PATIENCE):
        async with background() as tasks:
            host = ReadHost(choice_of(placed, startup), "1.0", tasks)
            sessions = OpenSessions(str(workspace))
            output = OutputReader(host, startup, sessions, tasks, gives_way=lambda: gives_way)
            output.negotiation = OFFERED
            yield Reading(output, placed, sessions)
            output.stop()
            await output.close()
            assert_gone(placed.pids())
            assert set(methods(placed)) <= ALLOWED
            assert not output._open
            assert not output._line


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.01)


def refused(outcome: Outcome | None) -> tuple[int, Json]:
    """The code and the data of a refusal, without the words for people."""
    assert isinstance(outcome, RpcError), outcome
    assert outcome.data is not None
    return outcome.code, {name: value for name, value in outcome.data.items() if name != "details"}


def page_of(outcome: Outcome | None) -> Json:
    assert isinstance(outcome, dict), outcome
    return outcome


def content(page: Json) -> bytes:
    text: str = page["content"]
    return base64.b64decode(text) if page["encoding"] == "base64" else text.encode()


def not_found(pages: int, events: int, exhausted: bool) -> tuple[int, Json]:
    """The refusal of a read that looked through so much history in vain."""
    more = {"pagesScanned": pages, "eventsScanned": events, "historyExhausted": exhausted}
    return -32002, {"reason": "outputNotFound", **more}
