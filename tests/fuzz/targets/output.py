"""Stored output (`docs/stored-output.md`): what is delivered is exactly the source's bytes, or a refusal with a reason;
a page that does not agree with itself is not delivered; the search for an item ends, and finds its newest revision."""

from __future__ import annotations

import base64
from typing import Any, Final

from adapter.bridge.stored_output.contract import HISTORY_PAGES, KEY, MAX_BYTES
from adapter.bridge.stored_output.page import page_problem, result_of
from adapter.bridge.stored_output.references import card_meta, find_reference, read_reference, unusable_references
from adapter.bridge.stored_output.request import ReadRequest
from adapter.bridge.stored_output.scan import FactScan, HandleScan, HistoryScan, MalformedPage
from adapter.cli.output_pieces import Pieces, WrongLength, page_bytes, unfinished_character
from tests.fuzz.reading import objects

MOST_LINES: Final = 40


def one(data: bytes) -> None:
    """Each line is a page of output, a page of history, or an item; the bytes themselves are an output as well."""
    lines = objects(data)[:MOST_LINES]
    for line in lines:
        _page(line)
        _item(line)
    _scan([line for line in lines if "events" in line])
    _source(data[:600])


def _page(page: dict[str, Any]) -> None:
    for offset, length, total in ((0, 64, 64), (3, 5, 8), (0, 1024, 7)):
        request = ReadRequest("s", "i", "o", offset, length)
        problem = page_problem(page, request, total)
        if problem is not None:
            assert problem.isascii() and len(problem) < 100
            continue
        told = result_of(page, request)
        content, byte_len = told["content"], told["byteLen"]
        if told["encoding"] == "base64":
            found = base64.b64decode(content, validate=True)
            assert base64.b64encode(found).decode() == content, "base64 is canonical"
        else:
            found = content.encode()
        assert len(found) == byte_len <= length and told["offsetBytes"] == offset
        assert page_bytes(told) == found
        assert byte_len or told["eof"], "reading goes on"
        assert not told["eof"] or offset + byte_len >= total, "the end does not come too early"


def _source(source: bytes) -> None:
    """An honest host's pages, read in pieces of several lengths."""
    encoding = "utf8"
    try:
        source.decode()
    except UnicodeDecodeError:
        encoding = "base64"
    for length in (1, 7, 64, 1024):
        pieces, got = Pieces(0, len(source), len(source)), b""
        for _ in range(len(source) + 1):
            if pieces.over:
                break
            asked = min(pieces.length(), max(4, length))
            part = source[pieces.at : pieces.at + asked]
            if encoding == "utf8":
                part = part[: len(part) - unfinished_character(part)]
            text = part.decode() if encoding == "utf8" else base64.b64encode(part).decode()
            page = {
                "content": text,
                "encoding": encoding,
                "mediaType": "text/plain",
                "offsetBytes": pieces.at,
                "byteLen": len(part),
                "eof": pieces.at + len(part) == len(source),
            }
            request = ReadRequest("s", "i", "o", pieces.at, asked)
            assert page_problem(page, request, len(source)) is None, "an honest page is delivered"
            try:
                got += pieces.take(result_of(page, request))
            except WrongLength:
                raise AssertionError("an honest page has the right length") from None
        assert got == source, "what is delivered is what is stored"


def _item(item: dict[str, Any]) -> None:
    meta = card_meta("s", "i", item)
    reference = read_reference(item.get("outputRef"))
    assert (reference is not None) == (KEY in meta)
    assert 0 <= unusable_references(item) <= 2
    if reference is not None:
        assert 0 <= reference.byte_len <= MAX_BYTES and find_reference(item, reference.id) is not None
        assert ("method" in meta[KEY]) == (reference.availability == "available")


def _scan(pages: list[dict[str, Any]]) -> None:
    for scan in (HistoryScan("s", "i"), HandleScan("s"), FactScan("s")):
        asked, seen = 0, list[Any]()
        try:
            while scan.next_page() is not None:
                asked += 1
                page = pages[(asked - 1) % len(pages)] if pages else {"events": [], "nextCursor": None}
                scan.take(page)
                seen += reversed(page["events"])
        except MalformedPage as error:
            assert str(error)
        assert asked <= HISTORY_PAGES
        if isinstance(scan, HistoryScan) and scan.item is not None:
            assert scan.item["itemId"] == "i"
        elif isinstance(scan, HandleScan):
            assert len({item["itemId"] for item in scan.items()}) == len(scan.items())
        elif isinstance(scan, FactScan):
            assert len(scan.found()) <= len(seen)
