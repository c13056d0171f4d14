"""Reads against real processes: what is read, and the checks before history is looked at (1 to 7)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.wire.envelope import RpcError
from tests.output_hosts import SESSION, CrashingHost, DeafHost, methods, reference, revised, stored
from tests.output_reading import IDS, OFFERED, Json, content, page_of, reading, refused
from tests.scripted_hosts import Placed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

on_one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For rows of tables, which say nothing about waiting."""


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


def remove(placed: Placed) -> None:
    Path(placed.muse).unlink()


async def test_a_host_that_never_answers_the_handshake_costs_the_start_up_budget(tmp_path: Path) -> None:
    async with reading(tmp_path, DeafHost, startup=0.4) as it:
        assert refused(await it.ask()) == (
            -32603,
            {"reason": "hostStartTimeout", "retryable": True, "budgetSeconds": 0.4},
        )


async def test_the_start_up_budget_includes_the_question_for_flags(tmp_path: Path) -> None:
    async with reading(tmp_path, startup=0.4, help_seconds=3.0) as it:
        assert refused(await it.ask()) == (
            -32603,
            {"reason": "hostStartTimeout", "retryable": True, "budgetSeconds": 0.4},
        )


async def test_a_host_that_does_not_start_says_how_it_ended(tmp_path: Path) -> None:
    async with reading(tmp_path, CrashingHost) as it:
        outcome = await it.ask()
        assert refused(outcome) == (-32603, {"reason": "hostStartFailed", "retryable": False, "exitCode": 3})
        assert isinstance(outcome, RpcError)
        assert outcome.data is not None
        assert "no store here" in outcome.data["details"]


async def test_a_handshake_that_is_refused_is_a_failed_start(tmp_path: Path) -> None:
    error = {"code": -32600, "message": "not today", "data": {"kind": "invalidRequest"}}
    async with reading(tmp_path, refusals={"initialize": error}) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartFailed", "retryable": False, "exitCode": None})


async def test_a_muse_that_is_gone_is_a_failed_start(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        remove(it.placed)
        assert refused(await it.ask()) == (-32603, {"reason": "hostStartFailed", "retryable": False, "exitCode": None})


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
        assert refused(await it.ask()) == (-32603, {"reason": "hostError", "retryable": False, "hostKind": "diskFull"})
        assert it.counts()[method] == 1, "it is not asked again"
