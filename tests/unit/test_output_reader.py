"""Reads against real processes: every check of the table with its error, the budgets, the line, and every early end."""

from __future__ import annotations

import base64
import itertools
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from adapter.bridge.stored_output import contract, errors, host_reads
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.reader import OutputReader
from adapter.wire.envelope import Request, RpcError
from adapter.wire.peer import Call
from tests.output_hosts import (
    ITEM,
    PATIENCE,
    REF,
    SESSION,
    CrashingHost,
    DeafHost,
    OutputHost,
    background,
    choice_of,
    methods,
    other_events,
    reference,
    release,
    revised,
    stored,
)
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, ScriptedHost, place

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

on_one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For rows of tables, which say nothing about waiting."""

Json = dict[str, Any]
Outcome = Json | RpcError

ALLOWED = {"initialize", "initialized", "session/read", "view/page", "item/readOutput"}
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
    parent: Path, script: type[ScriptedHost] = OutputHost, startup: float = PATIENCE, **settings: Any
) -> AsyncIterator[Reading]:
    """A reader that may read; afterwards its host has received only what it may, and nothing of it is left."""
    workspace = parent / "workspace"
    workspace.mkdir()
    placed = place(parent / "host", script, **{"workspace": str(workspace), **settings})
    with anyio.fail_after(3 * PATIENCE):
        async with background() as tasks:
            host = ReadHost(choice_of(placed, startup), "1.0", tasks)
            sessions = OpenSessions(str(workspace))
            output = OutputReader(host, startup, sessions, tasks)
            output.negotiation = OFFERED
            yield Reading(output, placed, sessions)
            output.stop()
            await output.close()
            assert_gone(placed.pids())
            assert set(methods(placed)) <= ALLOWED
            assert not output._open
            assert not output._line


def remove(placed: Placed) -> None:
    Path(placed.muse).unlink()


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


# -- reading


async def test_a_page_is_the_requests_ids_and_the_hosts_page(tmp_path: Path) -> None:
    async with reading(tmp_path, size=100) as it:
        page = page_of(await it.ask(offsetBytes=9, lengthBytes=20))
        data = stored(100)[9:29].decode(errors="ignore")
        assert page == {
            **IDS,
            "content": data,
            "encoding": "utf8",
            "mediaType": "text/plain",
            "offsetBytes": 9,
            "byteLen": len(data.encode()),
            "eof": False,
        }
        assert methods(it.placed) == ["initialize", "initialized", "session/read", "view/page", "item/readOutput"]


@pytest.mark.parametrize("binary", [False, True])
async def test_300_000_bytes_come_back_whole_in_pages(tmp_path: Path, binary: bool) -> None:
    async with reading(tmp_path, size=300_000, binary=binary) as it:
        whole, eof = b"", False
        while not eof:
            page = page_of(await it.ask(offsetBytes=len(whole)))
            assert page["offsetBytes"] == len(whole)
            assert page["encoding"] == ("base64" if binary else "utf8")
            whole += content(page)
            eof = page["eof"]
        assert whole == stored(300_000)
        assert it.counts() == {
            "initialize": 1,
            "initialized": 1,
            "session/read": 5,
            "view/page": 5,
            "item/readOutput": 5,
        }


@pytest.mark.parametrize("size", [0, 300])
async def test_the_end_may_be_read_and_is_empty(tmp_path: Path, size: int) -> None:
    async with reading(tmp_path, size=size) as it:
        page = page_of(await it.ask(offsetBytes=size))
        assert (page["content"], page["byteLen"], page["eof"], page["offsetBytes"]) == ("", 0, True, size)


async def test_a_patch_is_read_the_same_way(tmp_path: Path) -> None:
    pages = [[revised(outputRef=reference("other"), patchRef=reference("patch-quince", 300))]]
    async with reading(tmp_path, size=300, pages=pages, binary=True) as it:
        assert content(page_of(await it.ask(outputRef="patch-quince"))) == stored(300)
        assert it.placed.received("item/readOutput")[0]["params"]["outputRef"] == "patch-quince"


async def test_the_trace_of_the_request_is_handed_on(tmp_path: Path) -> None:
    trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "pear=1"}
    async with reading(tmp_path) as it:
        page_of(await it.ask(_meta=trace))
        (sent,) = it.placed.received("item/readOutput")
        assert sent["trace"] == trace


# -- checks 1 to 4: at once, and without a host


@on_one_loop
@pytest.mark.parametrize(
    ("negotiation", "changes", "code", "data"),
    [
        (Negotiation(), {"sessionId": 5}, -32601, {"reason": "outputNotNegotiated"}),
        (
            Negotiation(asked=True, host_version="1.3.0"),
            {"sessionId": 5},
            -32601,
            {"reason": "outputNotAdvertised", "hostVersion": "1.3.0"},
        ),
        (OFFERED, {"sessionId": 5}, -32602, {"reason": "invalidParams", "field": "sessionId"}),
        (OFFERED, {"sessionId": "x", "lengthBytes": 0}, -32602, {"reason": "invalidParams", "field": "lengthBytes"}),
        (OFFERED, {"sessionId": "x"}, -32002, {"reason": "sessionUnknown", "sessionId": "x"}),
        (OFFERED, {"sessionId": "ses-closed"}, -32002, {"reason": "sessionClosed", "sessionId": "ses-closed"}),
        (OFFERED, {"sessionId": "ses-loading"}, -32002, {"reason": "sessionBusy", "sessionId": "ses-loading"}),
    ],
)
async def test_the_first_checks_come_in_order_and_start_no_host(
    tmp_path: Path, negotiation: Negotiation, changes: Json, code: int, data: Json
) -> None:
    async with reading(tmp_path) as it:
        it.output.negotiation = negotiation
        assert refused(await it.ask(**changes)) == (code, data)
        assert it.placed.pids() == []


# -- checks 5 and 6: the host


async def test_a_host_that_never_answers_the_handshake_costs_the_start_up_budget(tmp_path: Path) -> None:
    async with reading(tmp_path, DeafHost, startup=0.4) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartTimeout", "budgetSeconds": 0.4})


async def test_the_start_up_budget_includes_the_question_for_flags(tmp_path: Path) -> None:
    async with reading(tmp_path, startup=0.4, help_seconds=3.0) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartTimeout", "budgetSeconds": 0.4})


async def test_a_host_that_does_not_start_says_how_it_ended(tmp_path: Path) -> None:
    async with reading(tmp_path, CrashingHost) as it:
        outcome = await it.ask()
        assert refused(outcome) == (-32603, {"reason": "hostStartFailed", "exitCode": 3})
        assert isinstance(outcome, RpcError)
        assert outcome.data is not None
        assert "no store here" in outcome.data["details"]


async def test_a_handshake_that_is_refused_is_a_failed_start(tmp_path: Path) -> None:
    error = {"code": -32600, "message": "not today", "data": {"kind": "invalidRequest"}}
    async with reading(tmp_path, refusals={"initialize": error}) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartFailed", "exitCode": None})


async def test_a_muse_that_is_gone_is_a_failed_start(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        remove(it.placed)
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartFailed", "exitCode": None})


@on_one_loop
@pytest.mark.parametrize("version", ["1.1.1", "1.2.0", "1.2.10", "1.2.1x", "1.3.0", "1.4.13", "11.2.1", ""])
async def test_the_live_version_counts_whatever_the_file_said(tmp_path: Path, version: str) -> None:
    async with reading(tmp_path, version=version) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostVersionUnverified", "hostVersion": version})
        await it.until_received("initialized")
        assert methods(it.placed) == ["initialize", "initialized"]


async def test_the_live_version_may_have_any_build(tmp_path: Path) -> None:
    async with reading(tmp_path, version="1.2.1-R2847.1") as it:
        page_of(await it.ask())


# -- check 7: the session


async def test_the_workspace_is_compared_by_the_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "workspace")
    async with reading(tmp_path, workspace=str(tmp_path / "link" / ".." / "workspace")) as it:
        page_of(await it.ask())


@on_one_loop
@pytest.mark.parametrize("workspace", ["/", "", None, 5])
async def test_a_session_of_another_folder_is_not_read(tmp_path: Path, workspace: Any) -> None:
    async with reading(tmp_path, workspace=workspace) as it:
        assert refused(await it.ask()) == (-32002, {"reason": "workspaceMismatch"})
        assert it.counts()["view/page"] == 0


async def test_a_session_the_host_has_not_stored_is_not_read(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        assert refused(await it.ask(sessionId="ses-second")) == (-32002, {"reason": "sessionNotStored"})
        assert it.counts()["view/page"] == 0


@on_one_loop
@pytest.mark.parametrize("member", ["ses-other", None, [SESSION]])
async def test_an_answer_about_another_session_is_not_taken_for_it(tmp_path: Path, member: Any) -> None:
    async with reading(tmp_path, session_member=member) as it:
        assert refused(await it.ask()) == (-32002, {"reason": "sessionNotStored"})


@on_one_loop
@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_any_other_refusal_of_the_host_is_told_in_its_word(tmp_path: Path, method: str) -> None:
    error = {"code": -32603, "message": "the disk is full", "data": {"kind": "diskFull"}}
    async with reading(tmp_path, refusals={method: error}) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostError", "hostKind": "diskFull"})
        assert it.counts()[method] == 1, "it is not asked again"


# -- check 8: the item and its reference


def not_found(pages: int, events: int, exhausted: bool) -> tuple[int, Json]:
    more = {"pagesScanned": pages, "eventsScanned": events, "historyExhausted": exhausted}
    return -32002, {"reason": "outputNotFound", **more}


HISTORIES: list[tuple[str, list[Any], Json, tuple[int, Json]]] = [
    ("no such item", [other_events(3)], {}, not_found(1, 3, True)),
    ("an empty history", [[]], {}, not_found(1, 0, True)),
    ("an item without a reference", [[revised()]], {}, not_found(1, 1, False)),
    (
        "a reference of another item",
        [[revised(), revised(item_id="x", outputRef=reference())]],
        {},
        not_found(1, 2, False),
    ),
    ("an event of another session", [[revised(session_id="ses-x", outputRef=reference())]], {}, not_found(1, 1, True)),
    (
        "an older revision's reference",
        [[revised(2, outputRef=reference("newer")), *other_events(1)], [revised(1, outputRef=reference())]],
        {},
        not_found(1, 2, False),
    ),
    ("a reference that is gone", [[revised(1, outputRef=reference()), revised(2)]], {}, not_found(1, 1, False)),
    (
        "the uri",
        [[revised(outputRef=reference(uri="muse-output://x"))]],
        {"outputRef": "muse-output://x"},
        not_found(1, 1, False),
    ),
    ("a path", [[revised(outputRef=reference(path="/tmp/x"))]], {"outputRef": "/tmp/x"}, not_found(1, 1, False)),
    ("an unusable reference", [[revised(outputRef=reference(size=-1))]], {}, not_found(1, 1, False)),
]


@on_one_loop
@pytest.mark.parametrize(
    ("pages", "changes", "expected"), [row[1:] for row in HISTORIES], ids=[row[0] for row in HISTORIES]
)
async def test_what_history_does_not_show_is_not_found(
    tmp_path: Path, pages: list[Any], changes: Json, expected: tuple[int, Json]
) -> None:
    async with reading(tmp_path, pages=pages) as it:
        assert refused(await it.ask(**changes)) == expected
        assert it.counts()["item/readOutput"] == 0


async def test_the_same_reference_id_on_a_newer_other_item_does_not_hide_it(tmp_path: Path) -> None:
    pages = [[revised(outputRef=reference(size=50)), revised(item_id="x", outputRef=reference(size=7))]]
    async with reading(tmp_path, pages=pages, size=50, binary=True) as it:
        assert content(page_of(await it.ask())) == stored(50)
        assert it.placed.received("item/readOutput")[0]["params"]["itemId"] == ITEM


@pytest.mark.parametrize("per_page", [0, 1, 100])
async def test_twenty_pages_are_twenty_calls(tmp_path: Path, per_page: int) -> None:
    async with reading(tmp_path, pages=[other_events(per_page)] * 30) as it:
        assert refused(await it.ask()) == not_found(20, 20 * per_page, False)
        assert it.counts()["view/page"] == 20
        asked = [frame["params"] for frame in it.placed.received("view/page")]
        assert all(params["limit"] == 100 and params["direction"] == "backward" for params in asked)
        assert [params.get("cursor") for params in asked] == [None, *(str(number) for number in range(1, 20))]


@pytest.mark.parametrize(("place_of_item", "found"), [(19, True), (20, False)])
async def test_the_twentieth_page_is_the_last_that_counts(tmp_path: Path, place_of_item: int, found: bool) -> None:
    pages = [*[other_events(1)] * place_of_item, [revised(outputRef=reference(size=10))]]
    async with reading(tmp_path, pages=pages, size=10, endless=True) as it:
        outcome = await it.ask()
        assert it.counts()["view/page"] == 20
        if found:
            assert content(page_of(outcome)) == stored(10)
        else:
            assert refused(outcome) == not_found(20, 20, False)


async def test_an_event_that_fits_no_page_is_gone_past(tmp_path: Path) -> None:
    error = {"code": -32603, "message": "too large", "data": {"kind": "pageEventTooLarge", "viewCursor": "1"}}
    pages = [{"error": error}, [revised(outputRef=reference(size=10))]]
    async with reading(tmp_path, pages=pages, size=10) as it:
        assert content(page_of(await it.ask())) == stored(10)
        assert it.counts()["view/page"] == 2


async def test_an_event_that_fits_no_page_and_has_no_place_is_an_error_of_the_host(tmp_path: Path) -> None:
    error = {"code": -32603, "message": "too large", "data": {"kind": "pageEventTooLarge"}}
    async with reading(tmp_path, pages=[{"error": error}]) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostError", "hostKind": "pageEventTooLarge"})


@on_one_loop
@pytest.mark.parametrize("result", [{}, {"events": {}, "nextCursor": None}, {"events": []}, [], 5])
async def test_a_history_page_that_is_none_is_inconsistent(tmp_path: Path, result: Any) -> None:
    async with reading(tmp_path, pages=[{"result": result}]) as it:
        code, data = refused(await it.ask())
        assert (code, data["reason"]) == (-32603, "inconsistentPage")


# -- checks 9 to 12: the bytes


@on_one_loop
@pytest.mark.parametrize("availability", ["missing", "unsupported", "accessFailed", "onTape"])
async def test_what_is_not_available_is_not_asked_for(tmp_path: Path, availability: str) -> None:
    pages = [[revised(outputRef=reference(availability=availability))]]
    async with reading(tmp_path, pages=pages) as it:
        # Beyond the end as well: what is not available comes first.
        outcome = await it.ask(offsetBytes=300_001)
        assert refused(outcome) == (-32002, {"reason": "outputUnavailable", "availability": availability})
        assert it.counts()["item/readOutput"] == 0


async def test_an_offset_beyond_the_end_is_not_asked_for(tmp_path: Path) -> None:
    async with reading(tmp_path, size=300) as it:
        assert refused(await it.ask(offsetBytes=301)) == (-32602, {"reason": "offsetOutOfRange", "byteLen": 300})
        assert it.counts()["item/readOutput"] == 0


async def test_an_offset_inside_a_character_is_told_where_to_go_on(tmp_path: Path) -> None:
    inside = stored(100).index("ü".encode()) + 1
    async with reading(tmp_path, size=100) as it:
        code, data = refused(await it.ask(offsetBytes=inside))
        assert (code, data) == (-32602, {"reason": "offsetInsideCharacter", "alignedNextOffset": inside + 1})
        page = page_of(await it.ask(offsetBytes=data["alignedNextOffset"]))
        assert content(page) == stored(100)[inside + 1 :].decode(errors="ignore").encode()


UNAVAILABLE = {"reason": "outputUnavailable"}
INSIDE = {"reason": "offsetInsideCharacter"}
REFUSALS: list[tuple[int, Json, int, Json]] = [
    (-32602, {"kind": "invalidParams", "alignedNextOffset": 9}, -32602, {**INSIDE, "alignedNextOffset": 9}),
    (-32602, {"kind": "invalidParams"}, -32602, INSIDE),
    (-32602, {"kind": "invalidParams", "alignedNextOffset": 7}, -32602, INSIDE),
    (-32602, {"kind": "invalidParams", "alignedNextOffset": "9"}, -32602, INSIDE),
    (-32602, {"kind": "invalidParams", "alignedNextOffset": True}, -32602, INSIDE),
    (
        -32041,
        {"kind": "outputUnavailable", "availability": "missing"},
        -32002,
        {**UNAVAILABLE, "availability": "missing"},
    ),
    (
        -32041,
        {"kind": "outputUnavailable", "availability": "onTape"},
        -32002,
        {**UNAVAILABLE, "availability": "onTape"},
    ),
    (-32041, {"kind": "outputUnavailable"}, -32002, {**UNAVAILABLE, "availability": "unknown"}),
    (-32011, {"kind": "notFound"}, *not_found(1, 1, False)),
    (-32603, {"kind": "outputResultTooLarge"}, -32603, {"reason": "pieceTooLarge"}),
    (-32601, {"kind": "methodNotFound"}, -32603, {"reason": "hostError", "hostKind": "methodNotFound"}),
    (-32001, {"kind": "overloaded", "retryable": True}, -32603, {"reason": "hostError", "hostKind": "overloaded"}),
    (-32603, {}, -32603, {"reason": "hostError", "hostKind": "internal"}),
]


@on_one_loop
@pytest.mark.parametrize(
    ("host_code", "host_data", "code", "data"), REFUSALS, ids=[repr(row[1])[:50] for row in REFUSALS]
)
async def test_what_the_host_refuses_is_told_once_and_not_tried_again(
    tmp_path: Path, host_code: int, host_data: Json, code: int, data: Json
) -> None:
    error = {"code": host_code, "message": "no", "data": host_data}
    async with reading(tmp_path, refusals={"item/readOutput": error}) as it:
        assert refused(await it.ask(offsetBytes=7)) == (code, data)
        assert it.counts()["item/readOutput"] == 1


LYING_PAGES: list[Json] = [
    {"byteLen": 101},
    {"byteLen": 99},
    {"offsetBytes": 1},
    {"content": "AAA", "encoding": "base64", "byteLen": 2},
    {"content": "QUJDRB==", "encoding": "base64", "byteLen": 4},
    {"content": "", "byteLen": 0, "eof": False},
    {"content": "x" * 1_400_000, "byteLen": 1_400_000},
    {"encoding": "utf-16"},
    {"encoding": "utf8"},
    {"mediaType": ""},
    {"mediaType": "m" * 257},
    *({member: None} for member in ("content", "encoding", "mediaType", "offsetBytes", "byteLen", "eof")),
]


@on_one_loop
@pytest.mark.parametrize("lie", LYING_PAGES, ids=lambda lie: repr(lie)[:50])
async def test_a_page_that_lies_is_refused(tmp_path: Path, lie: Json) -> None:
    async with reading(tmp_path, size=100, binary=True, page=lie) as it:
        code, data = refused(await it.ask())
        assert (code, data["reason"]) == (-32603, "inconsistentPage")
        assert data["problem"]
        assert it.counts()["item/readOutput"] == 1


# -- time


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_20_seconds_cover_everything_after_the_start(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert contract.READ_SECONDS == 20.0
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.3)
    async with reading(tmp_path, silent=[method]) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "readTimeout", "budgetSeconds": 20})
        assert it.counts()[method] == 1


async def test_many_slow_pages_together_are_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.4)
    async with reading(tmp_path, pages=[[]] * 30, seconds={"view/page": 0.1}) as it:
        assert refused(await it.ask())[1]["reason"] == "readTimeout"
        assert 1 <= it.counts()["view/page"] < 20


async def test_the_start_does_not_count_as_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reads, "READ_SECONDS", 2.0)
    async with reading(tmp_path, seconds={"initialize": 2.5}) as it:
        page_of(await it.ask())


async def test_a_warm_host_costs_nothing_of_the_start_up_budget(tmp_path: Path) -> None:
    async with reading(tmp_path, seconds={"item/readOutput": 0.6}) as it:
        page_of(await it.ask())
        it.output._startup_timeout = 0.3
        page_of(await it.ask())


async def test_a_read_that_took_too_long_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it:
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "READ_SECONDS", 0.3)
            assert refused(await it.ask())[1]["reason"] == "readTimeout"
        release(it.placed)
        assert content(page_of(await it.ask(lengthBytes=9))) == stored(9).decode(errors="ignore").encode()


# -- several at once


async def test_identical_requests_in_flight_are_one_call_of_the_host(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        same = [it.start(tasks, _meta={"n": number}) for number in range(5)]
        await it.until_received("item/readOutput")
        same.append(it.start(tasks))
        other = it.start(tasks, offsetBytes=10)
        await it.until_received("item/readOutput", 2)
        release(it.placed)
        pages = [page_of(await read.wait()) for read in same]
        assert all(page == pages[0] for page in pages)
        assert page_of(await other.wait())["offsetBytes"] == 10
        assert it.counts()["item/readOutput"] == it.counts()["session/read"] == 2


async def test_a_request_after_the_answer_is_a_new_call(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        assert page_of(await it.ask()) == page_of(await it.ask())
        assert it.counts()["item/readOutput"] == 2


async def test_identical_requests_share_a_refusal_too(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["session/read"], pages=[[]]) as it, anyio.create_task_group() as tasks:
        both = [it.start(tasks), it.start(tasks)]
        await it.until_received("session/read")
        release(it.placed)
        assert [refused(await read.wait()) for read in both] == [not_found(1, 0, True)] * 2
        assert it.counts()["view/page"] == 1


async def test_four_run_at_once_and_the_rest_follow_in_order(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"], binary=True) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks, offsetBytes=number) for number in range(12)]
        await it.until_received("item/readOutput", 4)
        await anyio.sleep(0.2)
        assert it.counts()["item/readOutput"] == it.counts()["session/read"] == 4
        release(it.placed)
        assert [page_of(await read.wait())["offsetBytes"] for read in reads] == list(range(12))
        order = [frame["params"]["offsetBytes"] for frame in it.placed.received("item/readOutput")]
        assert sorted(order[:4]) == [0, 1, 2, 3]
        assert all(abs(place - offset) < 4 for place, offset in enumerate(order)), order


async def test_a_read_in_line_starts_when_one_before_it_is_cancelled(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        running = [it.start(tasks, lengthBytes=number + 9) for number in range(4)]
        await it.until_received("item/readOutput", 4)
        given_up = it.start(tasks, lengthBytes=100)
        waiting = it.start(tasks, lengthBytes=200)
        given_up.call.cancel()
        await given_up.wait()
        running[0].call.cancel()
        await it.until_received("item/readOutput", 5)
        release(it.placed)
        assert page_of(await waiting.wait())["byteLen"] <= 200
        lengths = [frame["params"]["lengthBytes"] for frame in it.placed.received("item/readOutput")]
        assert sorted(lengths) == [9, 10, 11, 12, 200]


# -- ending early, in each phase

PHASES = {"starting": "initialize", "checking": "session/read", "scanning": "view/page", "reading": "item/readOutput"}

in_each_phase = pytest.mark.parametrize("method", list(PHASES.values()), ids=list(PHASES))


@in_each_phase
@pytest.mark.parametrize("why", ["sessionClosed", "adapterStopping"])
async def test_a_read_ends_at_once(tmp_path: Path, method: str, why: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks), it.start(tasks), it.start(tasks, offsetBytes=1)]
        await it.until_received(method)
        if why == "sessionClosed":
            it.output.end_session(SESSION)
        else:
            it.output.stop()
        assert [refused(await read.wait()) for read in reads] == [(-32800, {"reason": why})] * 3
        assert not it.placed.received("item/readOutput") or method == "item/readOutput"


@in_each_phase
async def test_a_client_takes_its_request_back(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks)
        await it.until_received(method)
        first.call.cancel()
        assert await first.wait() is None
        assert not second.over.is_set(), "another one still wants it"
        second.call.cancel()
        assert await second.wait() is None
        await until(lambda: it.output._running == 0)
        release(it.placed)
        assert content(page_of(await it.ask(lengthBytes=1))) == stored(1)


async def test_what_is_taken_back_by_one_is_read_for_the_other(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks)
        await it.until_received("item/readOutput")
        first.call.cancel()
        await first.wait()
        release(it.placed)
        page_of(await second.wait())
        assert it.counts()["item/readOutput"] == 1


async def test_a_request_taken_back_before_its_work_begins_is_never_started(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        call = it.call()
        call.scope.cancel()
        assert await it.run(call) is None
        await until(lambda: not it.output._open)
        assert it.counts()["item/readOutput"] == 0


async def test_closing_one_session_leaves_the_reads_of_another(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["session/read"]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks, sessionId="ses-second")
        await it.until_received("session/read", 2)
        it.output.end_session("ses-second")
        assert refused(await second.wait()) == (-32800, {"reason": "sessionClosed"})
        release(it.placed)
        page_of(await first.wait())


async def test_reads_in_line_end_too(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks, offsetBytes=number) for number in range(6)]
        await it.until_received("item/readOutput", 4)
        it.output.end_session(SESSION)
        assert {refused(await read.wait())[1]["reason"] for read in reads} == {"sessionClosed"}
        release(it.placed)
        page_of(await it.ask())
        assert it.counts()["item/readOutput"] == 5


async def test_after_the_stop_nothing_begins(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        it.output.stop()
        assert refused(await it.ask()) == (-32800, {"reason": "adapterStopping"})
        assert it.placed.pids() == []


# -- the host dies


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_a_host_that_dies_fails_its_reads_and_the_next_read_has_another(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks), it.start(tasks, lengthBytes=1)]
        await it.until_received(method, 2)
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        assert [refused(await read.wait()) for read in reads] == [(-32603, {"reason": "hostDied"})] * 2
        assert len(it.placed.pids("serve.pids")) == 1, "a read is not tried again"
        release(it.placed)
        page_of(await it.ask())
        assert len(it.placed.pids("serve.pids")) == 2


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_a_host_that_ends_itself_over_a_question_is_dead_too(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, deaths=[method]) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostDied"})
        assert it.counts()[method] == 1


async def test_a_host_that_dies_while_it_starts_did_not_start(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["initialize"]) as it, anyio.create_task_group() as tasks:
        read = it.start(tasks)
        await it.until_received("initialize")
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        assert refused(await read.wait()) == (-32603, {"reason": "hostStartFailed", "exitCode": -9})
        release(it.placed)
        page_of(await it.ask())


async def test_a_host_that_died_while_nobody_read_is_not_noticed_by_the_next_read(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        page_of(await it.ask())
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        host = it.output._host._host
        assert host is not None
        with anyio.fail_after(PATIENCE):
            await host.wait_gone()
        page_of(await it.ask())


async def test_what_goes_wrong_inside_the_adapter_is_answered_and_does_not_take_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path) as it:
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "page_problem", lambda page, request: 1 / 0)
            for _ in range(6):
                assert refused(await it.ask()) == (-32603, {"reason": "internal"})
        page_of(await it.ask())
