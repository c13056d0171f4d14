"""Rows of a host's list as a client sees them, and the cursor between two pages."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from adapter.bridge.stored_sessions.listing import LONGEST_CURSOR, Cursor, folder_mark
from adapter.bridge.stored_sessions.session_rows import TITLE_LENGTH, is_listed, listed, title_of, updated_at
from adapter.wire.envelope import RpcError

ROW: dict[str, Any] = {"sessionId": "s", "workspaceRoot": "/srv/demo", "updatedAt": "2026-11-30T06:00:00.5Z"}


@pytest.mark.acp(55)
def test_a_title_is_the_name_then_what_muse_calls_it_then_how_it_began() -> None:
    row = {"firstUserPrompt": "first", "generatedName": "generated", "title": "title", "name": "name"}
    for member in ("name", "title", "generatedName"):
        assert title_of(row) == row[member].strip()
        row[member] = " \n"
    assert title_of(row) == "first"
    assert title_of({}) is None
    assert title_of({"name": None, "title": 5}) is None


def test_a_title_is_one_line_of_bounded_length() -> None:
    title = title_of({"firstUserPrompt": " two\n\nlines\t" + "x" * 10_000})
    assert title is not None
    assert title.startswith("two lines xxx")
    assert len(title) == TITLE_LENGTH


@pytest.mark.acp(55)
@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("2026-11-30T06:00:00.5Z", "2026-11-30T06:00:00.500000Z"),
        ("2026-11-30T08:00:00+02:00", "2026-11-30T08:00:00+02:00"),
        ("2026-11-30T06:00:00", "2026-11-30T06:00:00Z"),
        ("yesterday", "2026-11-01T00:00:00Z"),
        (None, "2026-11-01T00:00:00Z"),
        (1764482400, "2026-11-01T00:00:00Z"),
    ],
)
def test_times_are_iso_8601(told: Any, shown: str) -> None:
    assert updated_at({"updatedAt": told, "createdAt": "2026-11-01T00:00:00Z"}) == shown


def test_what_is_not_known_is_left_out() -> None:
    assert listed(ROW | {"updatedAt": "?"}, "/srv/lnk") == {"sessionId": "s", "cwd": "/srv/lnk"}


@pytest.mark.parametrize(
    "members",
    [
        {"sessionId": None},
        {"sessionId": ""},
        {"workspaceRoot": None},
        {"workspaceRoot": "demo"},
        {"workspaceRoot": ""},
        {"workspaceRoot": 5},
        {"kind": "subagent"},
        {"parentSessionId": "p"},
    ],
)
def test_what_cannot_be_opened_is_not_listed(members: dict[str, Any]) -> None:
    assert is_listed(ROW | {"kind": "root", "parentSessionId": None})
    assert not is_listed(ROW | members)


# -- the cursor


def refused(text: str, cwd: str | None = None) -> str:
    with pytest.raises(RpcError) as caught:
        Cursor.read(text, cwd)
    assert caught.value.code == -32602
    assert caught.value.data is not None
    assert caught.value.data["field"] == "cursor"
    return str(caught.value.data["details"])


@pytest.mark.parametrize("cwd", [None, "/srv/demo", "/srv/Grüße", "/" + "x" * 4000, "/srv/\udcff"])
def test_a_cursor_comes_back_as_it_went(cwd: str | None) -> None:
    cursor = Cursor(folder_mark(cwd), "l:2026|häh", "run", 17)
    assert len(cursor.text()) < LONGEST_CURSOR
    assert Cursor.read(cursor.text(), cwd) == cursor
    assert "another folder" in refused(cursor.text(), "/srv/other")


@pytest.mark.parametrize(
    "members",
    [
        {"version": 2},
        {"host": None},
        {"began": "x"},
        {"began": 1.5},
        {"mark": 5},
    ],
)
def test_what_is_in_a_cursor_is_checked(members: dict[str, Any]) -> None:
    good = {"mark": "", "host": "l:1", "run": "r", "began": 1, "version": 1}

    def encode(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()

    assert Cursor.read(encode(good), None).host == "l:1"
    refused(encode(good | members))
    refused(encode([good]))


@pytest.mark.parametrize("text", ["", "!", "x", "häh", "e30", "bnVsbA==", "A" * (LONGEST_CURSOR + 1), "W1tb" * 1000])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    refused(text)
