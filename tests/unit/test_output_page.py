"""Which of a host's output pages are handed on (check 12)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adapter.bridge.stored_output.page import page_problem, result_of
from adapter.bridge.stored_output.request import ReadRequest

Json = dict[str, Any]


def request(offset: int = 0, length: int = 65_536) -> ReadRequest:
    return ReadRequest("ses-ash", "item-ash", "out-ash", offset, length)


def text_page(text: str, offset: int = 0, eof: bool = True) -> Json:
    size = len(text.encode())
    return {
        "content": text,
        "encoding": "utf8",
        "mediaType": "text/plain",
        "offsetBytes": offset,
        "byteLen": size,
        "eof": eof,
    }


def binary_page(data: bytes, offset: int = 0, eof: bool = True) -> Json:
    content = base64.b64encode(data).decode()
    changes = {"content": content, "encoding": "base64", "mediaType": "application/octet-stream", "byteLen": len(data)}
    return {**text_page("", offset, eof), **changes}


HONEST = [
    text_page("plain"),
    text_page("Grüße aus 東京 ✓ \U0001f600"),
    text_page("a\0b\x7f\r\n"),
    text_page("", eof=True),
    text_page("short", eof=False),
    binary_page(b""),
    binary_page(b"\0"),
    binary_page(b"\xff\xfe"),
    binary_page(bytes(range(256))),
    binary_page(b"text that is called binary"),
]


@pytest.mark.parametrize("page", HONEST, ids=lambda page: page["content"][:12])
def test_an_honest_page_passes(page: Json) -> None:
    assert page_problem(page, request(), 0) is None


def test_a_page_of_the_largest_length_passes() -> None:
    data = bytes(range(256)) * 4096
    assert page_problem(binary_page(data, 4, False), request(4, 1_048_576), 0) is None
    assert page_problem(text_page("ü" * 524_288, 4, False), request(4, 1_048_576), 0) is None


LIES: list[tuple[Json, str]] = [
    ({"content": None}, "content"),
    ({"content": 5}, "content"),
    ({"content": ["QUJD"]}, "content"),
    ({"encoding": None}, "encoding"),
    ({"encoding": "utf-8"}, "encoding"),
    ({"encoding": "hex"}, "encoding"),
    ({"encoding": "BASE64"}, "encoding"),
    ({"encoding": ["base64"]}, "encoding"),
    ({"mediaType": None}, "mediaType"),
    ({"mediaType": ""}, "mediaType"),
    ({"mediaType": "m" * 257}, "mediaType"),
    ({"mediaType": 5}, "mediaType"),
    ({"offsetBytes": None}, "offsetBytes"),
    ({"offsetBytes": 6}, "offsetBytes"),
    ({"offsetBytes": 8}, "offsetBytes"),
    ({"offsetBytes": 7.0}, "offsetBytes"),
    ({"offsetBytes": "7"}, "offsetBytes"),
    ({"byteLen": None}, "byteLen"),
    ({"byteLen": 2}, "byteLen"),
    ({"byteLen": 4}, "byteLen"),
    ({"byteLen": -1}, "byteLen"),
    ({"byteLen": 3.0}, "byteLen"),
    ({"byteLen": True, "content": "QQ=="}, "byteLen"),
    ({"byteLen": 101, "content": base64.b64encode(b"x" * 101).decode()}, "byteLen"),
    ({"eof": None}, "eof"),
    ({"eof": 1}, "eof"),
    ({"eof": "true"}, "eof"),
    ({"content": "", "byteLen": 0, "eof": False}, "empty"),
    ({"content": "QUJ"}, "byteLen"),
    ({"content": "QUJDRA=="}, "byteLen"),
    ({"content": "QUJDRA=", "byteLen": 4}, "byteLen"),
    ({"content": "QUJDRB==", "byteLen": 4}, "base64"),
    ({"content": "QUI\n"}, "base64"),
    ({"content": "QU-_"}, "base64"),
    ({"content": "QUJ\u00e9"}, "base64"),
    ({"content": "=QUJ"}, "base64"),
    ({"content": "QU=="}, "byteLen"),
    ({"content": "QQ==QQ==", "byteLen": 4}, "base64"),
    ({"content": "QUI=", "byteLen": 1}, "byteLen"),
    ({"content": "AAAA" * 350_000}, "byteLen"),
    ({"encoding": "utf8"}, "byteLen"),
    ({"encoding": "utf8", "content": "ABCD"}, "byteLen"),
    ({"encoding": "utf8", "content": "äbc"}, "byteLen"),
    ({"encoding": "utf8", "content": "\ud800", "byteLen": 3}, "UTF-8"),
    ({"encoding": "utf8", "content": "x" * 1_400_000}, "byteLen"),
]


@pytest.mark.parametrize(("lie", "word"), LIES, ids=lambda value: repr(value)[:40])
def test_a_page_that_lies_is_refused(lie: Json, word: str) -> None:
    asked = request(7, 100)
    honest = binary_page(b"ABC", 7)
    assert page_problem(honest, asked, 0) is None
    problem = page_problem({**honest, **lie}, asked, 0)
    assert problem is not None
    assert word in problem


@pytest.mark.parametrize("member", list(binary_page(b"")))
def test_a_page_without_one_of_its_members_is_refused(member: str) -> None:
    page = binary_page(b"ABC")
    del page[member]
    assert page_problem(page, request(), 0) is not None


def test_an_empty_page_is_fine_at_the_end_only() -> None:
    assert page_problem(binary_page(b"", 300, eof=True), request(300), 0) is None
    assert page_problem(binary_page(b"", 300, eof=False), request(300), 0) is not None


def test_the_result_has_the_requests_ids_and_the_hosts_page_and_nothing_else() -> None:
    page = {**binary_page(b"ABC", 3, False), "sessionId": "ses-lie", "itemId": "item-lie", "digest": "sha256:0"}
    assert result_of(page, request(3)) == {
        "sessionId": "ses-ash",
        "itemId": "item-ash",
        "outputRef": "out-ash",
        "content": "QUJD",
        "encoding": "base64",
        "mediaType": "application/octet-stream",
        "offsetBytes": 3,
        "byteLen": 3,
        "eof": False,
    }


offsets = st.integers(0, 2**53 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(st.binary(max_size=300), offsets, st.booleans(), st.integers(0, 50))
def test_an_honest_page_of_any_bytes_passes(data: bytes, offset: int, eof: bool, room: int) -> None:
    assume(data or eof)
    asked = request(offset, max(1, len(data) + room))
    assert page_problem(binary_page(data, offset, eof), asked, 0) is None


@given(texts, offsets, st.booleans())
def test_an_honest_page_of_any_text_passes(text: str, offset: int, eof: bool) -> None:
    assume(text or eof)
    assert page_problem(text_page(text, offset, eof), request(offset, max(1, len(text.encode()))), 0) is None


pages = st.binary(max_size=60).map(binary_page) | texts.map(text_page)
junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@given(pages, st.data())
def test_no_single_member_can_be_anything_else(page: Json, data: st.DataObject) -> None:
    """Of `eof` and `mediaType` only the shape can be checked; other content of the right length is another page."""
    member = data.draw(st.sampled_from(sorted(page)))
    value = data.draw(junk, label=member)
    if member == "mediaType":
        assume(type(value) is not str or not 1 <= len(value) <= 256)
    assume(type(value) is not type(page[member]) or value != page[member])
    assume(member != "eof" or type(value) is not bool)
    if member == "encoding":
        assume(value not in ("utf8", "base64"))
    assume(member != "content" or type(value) is not str)
    assert page_problem({**page, member: value}, request(), 0) is not None


@given(texts, texts)
def test_text_of_another_length_is_refused(text: str, other: str) -> None:
    assume(len(text.encode()) != len(other.encode()))
    assert page_problem({**text_page(text), "content": other}, request(), 0) is not None


alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n -_é"


@given(st.text(alphabet, max_size=16) | st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode()))
def test_base64_passes_only_as_encoding_would_write_it(content: str) -> None:
    try:
        data = base64.b64decode(content)
        canonical = base64.b64encode(data).decode() == content
    except ValueError:
        data, canonical = b"", False
    for size in {len(data), len(content) * 3 // 4, max(0, len(content) * 3 // 4 - 1)}:
        page = {**binary_page(b""), "content": content, "byteLen": size}
        assert (page_problem(page, request(), 0) is None) is (canonical and size == len(data))


@pytest.mark.parametrize(("total", "problem"), [(11, "the end comes too early"), (10, None), (9, None)])
def test_an_end_before_the_announced_length_is_refused(total: int, problem: str | None) -> None:
    page = {"content": "abcde", "encoding": "utf8", "mediaType": "text/plain"}
    assert page_problem(page | {"offsetBytes": 5, "byteLen": 5, "eof": True}, request(5), total) == problem
