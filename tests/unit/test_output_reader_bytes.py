"""Reads against real processes: the item in the history, its reference, and the bytes (checks 8 to 12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.output_hosts import ITEM, other_events, reference, revised, stored
from tests.output_reading import Json, content, not_found, page_of, reading, refused

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

on_one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For rows of tables, which say nothing about waiting."""


# -- check 8: the item and its reference


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
        assert refused(await it.ask()) == (
            -32603,
            {"reason": "hostError", "retryable": False, "hostKind": "pageEventTooLarge"},
        )


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
    (-32603, {"kind": "outputResultTooLarge"}, -32603, {"reason": "pieceTooLarge", "retryable": False}),
    (
        -32601,
        {"kind": "methodNotFound"},
        -32603,
        {"reason": "hostError", "retryable": False, "hostKind": "methodNotFound"},
    ),
    (
        -32001,
        {"kind": "overloaded", "retryable": True},
        -32603,
        {"reason": "hostError", "retryable": True, "hostKind": "overloaded"},
    ),
    (-32603, {}, -32603, {"reason": "hostError", "retryable": False, "hostKind": "internal"}),
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
