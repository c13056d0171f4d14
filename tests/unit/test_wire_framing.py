"""Bytes to lines, lines to values, frames to bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapter.wire.framing import (
    DEEPEST,
    PREFIX_BYTES,
    FrameDecoder,
    FrameTooLarge,
    Line,
    Oversize,
    decode_json,
    encode_frame,
)

BOM = b"\xef\xbb\xbf"


def cut(data: bytes, cap: int = 100, size: int | None = None) -> list[Line | Oversize]:
    """All lines of `data`, fed in pieces of `size` bytes."""
    decoder = FrameDecoder(cap)
    lines: list[Line | Oversize] = []
    for at in range(0, len(data), size or len(data) or 1):
        lines += decoder.feed(data[at : at + (size or len(data))])
    return lines + decoder.end()


@pytest.mark.parametrize("size", [1, 2, 3, None])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"{}\n", [b"{}"]),
        (b"{}", [b"{}"]),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b"{}\r\n[]\r\n", [b"{}", b"[]"]),
        (b"{}\r\r\n", [b"{}\r"]),
        (b"\n\r\n \t\r\n{}\n\n", [b"{}"]),
        (BOM + b"{}\n", [b"{}"]),
        (BOM + b"{}", [b"{}"]),
        (BOM + b"\r\n{}\n", [b"{}"]),
        (BOM + BOM + b"{}\n", [BOM + b"{}"]),
        (b"{}\n" + BOM + b"{}\n", [b"{}", BOM + b"{}"]),
        ("\u2028\x85\x0c{}\n".encode(), ["\u2028\x85\x0c{}".encode()]),
        (b"\x00\n", [b"\x00"]),
    ],
)
def test_lines_are_cut_at_lf_alone(data: bytes, lines: list[bytes], size: int | None) -> None:
    assert cut(data, size=size) == lines


@pytest.mark.parametrize("size", [1, 7, None])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", BOM])
def test_the_cap_counts_content_only(mark: bytes, end: bytes, size: int | None) -> None:
    assert cut(mark + b"x" * 10 + end + b"{}\n", 10, size) == [b"x" * 10, b"{}"]
    assert cut(mark + b"x" * 11 + end + b"{}\n", 10, size) == [Oversize(b"x" * 10, 10), b"{}"]


@pytest.mark.parametrize("size", [1, 4096, None])
@pytest.mark.parametrize("mark", [b"", BOM])
def test_an_overlong_line_leaves_its_prefix(mark: bytes, size: int | None) -> None:
    cap = 3 * PREFIX_BYTES
    line = bytes(range(65, 91)) * 1000
    assert cut(mark + line + b"\n{}\n", cap, size) == [Oversize(line[:PREFIX_BYTES], cap), b"{}"]


def test_an_overlong_line_without_end_is_told_at_the_end() -> None:
    assert cut(b"{}\n" + b"x" * 50, 10, 5) == [b"{}", Oversize(b"x" * 10, 10)]


def test_dropped_bytes_are_counted_until_the_line_ends() -> None:
    decoder = FrameDecoder(10)
    assert decoder.dropped == 0
    decoder.feed(b"x" * 50)
    assert decoder.dropped == 40
    decoder.feed(b"x" * 50)
    assert decoder.dropped == 90
    assert len(decoder.feed(b"\n")) == 1
    assert decoder.dropped == 0


def test_a_finished_stream_ends_once() -> None:
    decoder = FrameDecoder(10)
    decoder.feed(b"{}")
    assert decoder.end() == [b"{}"]
    assert decoder.end() == []


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'"\\ud800"', "\ufffd"),
        (b'"a\\uDFFFb"', "a\ufffdb"),
        (b'"\\ud83c\\udf33"', "🌳"),
        (b'{"\\ud800":["\\udc00",{"a":"\\ud83c\\udf33"}]}', {"\ufffd": ["\ufffd", {"a": "🌳"}]}),
        (b'["\\ud800",9223372036854775807,-9223372036854775808,18446744073709551615]',
         ["\ufffd", 2**63 - 1, -(2**63), 2**64 - 1]),
        (b'["\\ud800",18446744073709551616,123456789012345678901234567890]',
         ["\ufffd", 2.0**64, 1.2345678901234568e29]),
        ('"\\\\ud800 温室"'.encode(), "\\ud800 温室"),
        (b'["\\ud800",1.5,-0.0,1e3,true,null]', ["\ufffd", 1.5, -0.0, 1000.0, True, None]),
    ],
)  # fmt: skip
def test_values_with_surrogate_escapes(line: bytes, value: Any) -> None:
    decoded = decode_json(line)
    assert decoded == value
    assert json.loads(encode_frame({"value": decoded}, 1000)) == {"value": value}


@pytest.mark.parametrize("surrogate", ["", '"\\ud800",'])
@pytest.mark.parametrize(
    "text",
    ["{oops", "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400, "1" * 5000, "01", "1.", "'a'", '"\x01"',
     "[" * 100_000, "[" * 20_000 + "]" * 20_000, "1,", "tru", '"\\x"'],
    ids=lambda text: text[:10],
)  # fmt: skip
def test_what_is_not_json_is_refused_on_both_ways_to_read_it(text: str, surrogate: str) -> None:
    with pytest.raises(ValueError):
        decode_json(f"[{surrogate}{text}]".encode())


@pytest.mark.parametrize("tail", ["\\", "\\u", "\\ud8", "\\ud800", "x", '"', "]", "\\n"])
@pytest.mark.parametrize("begin", ['["\\ud83c\\udf33"]', '["\\ud800"]', '["a"]'])
def test_nothing_may_stand_behind_a_value(begin: str, tail: str) -> None:
    assert decode_json(begin.encode())
    with pytest.raises(ValueError):
        decode_json((begin + tail).encode())


@pytest.mark.parametrize("line", [b"\xff\xfe", b'"\xe6\xb8"', b'["\\ud800","\xed\xa0\x80"]', b'"\xed\xa0\x80"', b""])
def test_what_is_not_utf8_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode_json(line)


@pytest.mark.acp(2, 3)
@pytest.mark.parametrize(
    ("frame", "line"),
    [
        ({"a": [1, {"b": None}]}, '{"a":[1,{"b":null}]}'),
        ({"text": "温室🌳 \u2028"}, '{"text":"温室🌳 \u2028"}'),
        ({"text": "a\r\nb\x00"}, '{"text":"a\\r\\nb\\u0000"}'),
        ({"text": "\ud800x", "\udfff": ("\udc00",)}, '{"text":"\ufffdx","\ufffd":["\ufffd"]}'),
        ({"used": float("nan"), "size": float("inf")}, '{"used":null,"size":null}'),
        ({"id": 2**63 - 1}, '{"id":9223372036854775807}'),
    ],
)
def test_encoding_is_compact_and_plain(frame: dict[str, Any], line: str) -> None:
    assert encode_frame(frame, 1000) == line.encode() + b"\n"


def nested(levels: int) -> Any:
    value: Any = "\ud800"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, 2**70, b"bytes", nested(400), nested(100_000)], ids=lambda value: type(value).__name__
)
def test_what_json_cannot_express_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        encode_frame({"value": value}, 10**6)


@pytest.mark.parametrize("around", ['{"a":%s,"b":"\\ud800"}', '{"a":%s}', '{"b":[1,2,{"c":3}],"a":%s}'])
def test_what_is_nested_deeper_than_anything_said_is_not_read(around: str) -> None:
    def line(levels: int) -> bytes:
        return (around % ("[" * levels + "]" * levels)).encode()

    value = decode_json(line(DEEPEST - 1))
    # It can be told on, further down.
    assert encode_frame({"params": {"update": {"content": [{"rawInput": {"arguments": value}}]}}}, 10**6)
    for levels in (DEEPEST, 300, 900, 100_000):
        with pytest.raises(ValueError, match=r"."):
            decode_json(line(levels))


def test_what_is_long_and_wide_is_not_deep() -> None:
    value = {"a": [{"b": [number]} for number in range(1000)], "c": "[" * 1000}
    assert decode_json(encode_frame(value, 10**6)) == value


def test_the_cap_counts_bytes_without_the_lf() -> None:
    frame = {"text": "温室"}
    size = len(encode_frame(frame, 1000)) - 1
    assert len(encode_frame(frame, size)) == size + 1
    with pytest.raises(FrameTooLarge) as caught:
        encode_frame(frame, size - 1)
    assert (caught.value.size, caught.value.cap) == (size, size - 1)
