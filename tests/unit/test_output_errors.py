"""The check table, row by row: what a client sees of each refusal."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.scan import HistoryScan
from adapter.wire.envelope import RpcError, failure_object

Json = dict[str, Any]


def scanned(pages: int = 2, exhausted: bool = False, found: bool = False) -> HistoryScan:
    scan = HistoryScan("ses-yew", "item-yew")
    for page in range(pages):
        last = page == pages - 1
        item = {"method": "item/completed", "params": {"sessionId": "ses-yew", "item": {"itemId": "item-yew"}}}
        events = [{}, item] if found and last else [{}]
        scan.take({"events": events, "nextCursor": None if exhausted and last else f"v:{page}"})
    return scan


SCANNED = {"pagesScanned": 2, "eventsScanned": 2, "historyExhausted": False}

TABLE: list[tuple[RpcError, int, str, Json]] = [
    (errors.not_negotiated(), -32601, "outputNotNegotiated", {}),
    (errors.not_advertised("1.3.0-R1.1"), -32601, "outputNotAdvertised", {"hostVersion": "1.3.0-R1.1"}),
    (errors.not_advertised(None), -32601, "outputNotAdvertised", {"hostVersion": None}),
    (errors.session_refused("sessionUnknown", "ses-yew"), -32002, "sessionUnknown", {"sessionId": "ses-yew"}),
    (errors.session_refused("sessionClosed", "ses-yew"), -32002, "sessionClosed", {"sessionId": "ses-yew"}),
    (errors.session_refused("sessionBusy", "ses-yew"), -32002, "sessionBusy", {"sessionId": "ses-yew"}),
    (errors.host_start_timeout(120.0), -32603, "hostStartTimeout", {"retryable": True, "budgetSeconds": 120}),
    (errors.host_start_failed("It ended", 3), -32603, "hostStartFailed", {"retryable": False, "exitCode": 3}),
    (errors.host_start_failed("Not found", None), -32603, "hostStartFailed", {"retryable": False, "exitCode": None}),
    (errors.host_version_unverified("1.3.0"), -32603, "hostVersionUnverified", {"hostVersion": "1.3.0"}),
    (errors.session_not_stored(), -32002, "sessionNotStored", {}),
    (errors.workspace_mismatch(), -32002, "workspaceMismatch", {}),
    (errors.output_not_found(scanned()), -32002, "outputNotFound", SCANNED),
    (errors.output_not_found(scanned(exhausted=True)), -32002, "outputNotFound", SCANNED | {"historyExhausted": True}),
    (errors.output_unavailable("missing"), -32002, "outputUnavailable", {"availability": "missing"}),
    (errors.offset_out_of_range(300), -32602, "offsetOutOfRange", {"byteLen": 300}),
    (errors.offset_inside_character(7), -32602, "offsetInsideCharacter", {"alignedNextOffset": 7}),
    (errors.offset_inside_character(None), -32602, "offsetInsideCharacter", {}),
    (errors.piece_too_large(), -32603, "pieceTooLarge", {"retryable": False}),
    (
        errors.host_error("viewTruncated", "Too old"),
        -32603,
        "hostError",
        {"retryable": False, "hostKind": "viewTruncated"},
    ),
    (errors.inconsistent_page("eof"), -32603, "inconsistentPage", {"retryable": False, "problem": "eof"}),
    (errors.read_timeout(), -32603, "readTimeout", {"retryable": True, "budgetSeconds": 20}),
    (errors.host_died("Signal 9"), -32603, "hostDied", {"retryable": True}),
    (errors.ended_early("sessionClosed"), -32800, "sessionClosed", {}),
    (errors.ended_early("cancelled"), -32800, "cancelled", {}),
    (errors.ended_early("adapterStopping"), -32800, "adapterStopping", {}),
]


@pytest.mark.parametrize(("error", "code", "reason", "members"), TABLE, ids=[row[2] for row in TABLE])
def test_a_refusal_has_its_code_its_reason_and_its_members(
    error: RpcError, code: int, reason: str, members: Json
) -> None:
    body = failure_object(1, error)["error"]
    details = body["data"].pop("details")
    assert body["code"] == code
    assert body["data"] == {"reason": reason, **members}
    assert isinstance(details, str)
    assert 0 < len(details) <= 512
    assert body["message"]


def test_a_refused_version_is_told_which_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "releases_verified_for_reading", lambda: ["1.2.1", "1.9.2"])
    data = errors.not_advertised("1.3.0").data
    assert data is not None
    assert data["details"] == "Reading is verified on Muse 1.2.1, 1.9.2 only; this host is 1.3.0"


def test_every_refusal_is_in_the_table() -> None:
    made = [
        name for name, value in inspect.getmembers(errors, inspect.isfunction) if value.__module__ == errors.__name__
    ]
    table = Path(__file__).read_text().partition("TABLE")[2].partition("]\n")[0]
    assert [name for name in made if f"errors.{name}(" not in table] == []


@pytest.mark.parametrize(
    ("scan", "words"),
    [
        (scanned(found=True), "newest revision"),
        (scanned(exhausted=True), "no such item"),
        (scanned(pages=20), "newest 20 events"),
    ],
)
def test_not_found_says_where_was_looked(scan: HistoryScan, words: str) -> None:
    data = errors.output_not_found(scan).data
    assert data is not None
    assert words in data["details"]


def test_times_are_whole_seconds_where_they_are() -> None:
    data = errors.host_start_timeout(0.5).data
    assert data is not None
    assert data["budgetSeconds"] == 0.5
    assert "0.5 s" in data["details"]
