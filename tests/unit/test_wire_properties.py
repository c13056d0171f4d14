"""What holds for the wire whatever the bytes are."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.wire.envelope import Frame, classify, read_line
from adapter.wire.framing import PREFIX_BYTES, FrameDecoder, Line, Oversize, decode_json, encode_frame
from adapter.wire.head import scan_head

CAP = 40

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
any_text = st.text(max_size=12)
"""Lone surrogates included."""
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(text, values, max_size=5)

members = {
    "jsonrpc": st.just("2.0") | values,
    "id": values,
    "method": text | values,
    "params": values,
    "result": values,
    "error": st.fixed_dictionaries({}, optional={"code": values, "message": values, "data": values}) | values,
}
near_frames = st.fixed_dictionaries({}, optional=members)

stream_pieces = st.sampled_from(
    [
        b"\n",
        b"\r\n",
        b"\r",
        b"\xef\xbb\xbf",
        b" ",
        b"{}",
        b'{"a":"\xe6\xb8\xa9"}',
        b"x" * CAP,
        b"x" * (CAP + 3),
        b"\xff",
    ]
) | st.binary(max_size=10)
streams = st.lists(stream_pieces, max_size=20).map(b"".join)


def decode(pieces: list[bytes]) -> list[Line | Oversize]:
    decoder = FrameDecoder(CAP)
    lines = [line for piece in pieces for line in decoder.feed(piece)]
    return lines + decoder.end()


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(borders)]


@pytest.mark.acp(5)
@given(streams, st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cutting_of_a_stream_gives_the_same_lines(stream: bytes, places: list[int]) -> None:
    assert decode(cut_at(stream, places)) == decode([stream])


@given(streams)
def test_byte_by_byte_gives_the_same_lines(stream: bytes) -> None:
    assert decode([stream[at : at + 1] for at in range(len(stream))]) == decode([stream])


@given(streams)
def test_the_lines_are_those_of_a_naive_reader(stream: bytes) -> None:
    expected: list[Line | Oversize] = []
    for piece in stream.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = piece.removesuffix(b"\r")
        if len(line) > CAP:
            expected.append(Oversize(line[:CAP], CAP))
        elif line.strip():
            expected.append(line)
    assert decode([stream]) == expected


@given(st.lists(objects, max_size=6), st.lists(st.integers(0, 10_000), max_size=6))
def test_what_is_encoded_is_decoded_again(frames: list[dict[str, Any]], places: list[int]) -> None:
    stream = b"".join(encode_frame(frame, 10**6) for frame in frames)
    decoder = FrameDecoder(10**6)
    lines = [line for piece in cut_at(stream, places) for line in decoder.feed(piece)]
    assert decoder.end() == []
    assert [decode_json(line) for line in lines if isinstance(line, bytes)] == frames


@pytest.mark.acp(2, 3)
@given(st.dictionaries(any_text, any_text | st.lists(any_text, max_size=3), max_size=4))
def test_every_text_leaves_as_valid_utf8_in_one_line(frame: dict[str, Any]) -> None:
    line = encode_frame(frame, 10**6)
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    json.loads(line.decode("utf-8"))
    # The same through escapes, which is how a peer can send half a character.
    assert isinstance(decode_json(json.dumps(frame).encode()), dict)


@given(st.lists(st.binary(max_size=3 * CAP), max_size=30))
def test_the_decoder_holds_a_bounded_part_of_any_stream(pieces: list[bytes]) -> None:
    decoder = FrameDecoder(CAP)
    for piece in pieces:
        decoder.feed(piece)
        assert len(decoder._held) <= CAP + 4
        if decoder.dropped:
            assert len(decoder._held) <= min(PREFIX_BYTES, CAP)


@given(st.binary(max_size=200) | near_frames.map(lambda value: json.dumps(value).encode()))
def test_reading_a_line_never_raises(line: bytes) -> None:
    assert isinstance(read_line(line), Frame)
    assert isinstance(read_line(Oversize(line, CAP)), Frame)


@settings(max_examples=3 * settings().max_examples)
@given(values | near_frames | st.lists(near_frames, max_size=2))
def test_classifying_never_raises_and_what_it_answers_can_be_written(value: Any) -> None:
    frame = classify(value)
    encode_frame({"frame": msgspec.to_builtins(getattr(frame, "id", None))}, 10**6)


@given(st.binary(max_size=300))
def test_scanning_never_raises(prefix: bytes) -> None:
    assert isinstance(scan_head(prefix), dict)
    assert isinstance(scan_head(b'{"id":' + prefix), dict)


@settings(max_examples=3 * settings().max_examples)
@given(
    near_frames, st.integers(0, 10_000), st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r")]), st.booleans()
)
def test_the_head_agrees_with_the_whole(
    frame: dict[str, Any], place: int, separators: tuple[str, str], escaped: bool
) -> None:
    whole = json.dumps(frame, separators=separators, ensure_ascii=escaped).encode()
    prefix = whole[: place % (len(whole) + 1)]
    head = scan_head(prefix)
    # The members come in order; all but the last are complete, the last may be cut.
    assert list(head) == list(frame)[: len(head)]
    complete = list(head)[:-1]
    assert {name: head[name] for name in complete} == {name: frame[name] for name in complete}
    for name in list(head)[-1:]:
        assert head[name] in (None, frame[name])


@settings(max_examples=3 * settings().max_examples)
@given(near_frames.filter(lambda frame: "id" in frame), text)
def test_an_id_before_the_cut_is_found(frame: dict[str, Any], tail: str) -> None:
    # One more member of which only the beginning is there.
    whole = json.dumps({**frame, "zz": tail}).encode()
    prefix = whole[: whole.rindex(b'"zz"') + 5]
    assert scan_head(prefix)["id"] == frame["id"]
