"""Framing (`msp.md §2, §24`): the same lines however the bytes are cut, those of a naive reader, a bounded buffer; and
what was read can be written and read again."""

from __future__ import annotations

from adapter.wire.framing import DEEPEST, PREFIX_BYTES, FrameDecoder, Line, Oversize, decode_json, encode_frame
from tests.fuzz.owed import strictly

MARK = b"\xef\xbb\xbf"


def one(data: bytes) -> None:
    """The first line says how long a line may be, and how the rest is cut."""
    head, _, stream = data.partition(b"\n")
    cap = 8 + sum(head) % 200
    whole = _decoded(cap, [stream])
    assert whole == _decoded(cap, _cut(stream, head)), "cut otherwise"
    assert whole == _decoded(cap, [stream[at : at + 1] for at in range(len(stream))]), "byte by byte"
    assert whole == _naive(cap, stream), "read naively"
    for line in stream.split(b"\n"):
        _value(line)


def _cut(stream: bytes, head: bytes) -> list[bytes]:
    pieces: list[bytes] = []
    at = 0
    sizes = [1 + byte % 40 for byte in head] or [7]
    while at < len(stream):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(stream[at : at + size])
        at += size
    return pieces


def _decoded(cap: int, pieces: list[bytes]) -> list[Line | Oversize]:
    decoder = FrameDecoder(cap)
    lines: list[Line | Oversize] = []
    for piece in pieces:
        lines += decoder.feed(piece)
        assert len(decoder._held) <= cap + 1 + len(MARK), "the buffer is bounded"
    return lines + decoder.end()


def _naive(cap: int, stream: bytes) -> list[Line | Oversize]:
    lines: list[Line | Oversize] = []
    for line in stream.removeprefix(MARK).split(b"\n"):
        line = line.removesuffix(b"\r")
        if len(line) > cap:
            lines.append(Oversize(line[: min(PREFIX_BYTES, cap)], cap))
        elif line.strip():
            lines.append(line)
    return lines


def _value(line: bytes) -> None:
    try:
        value = decode_json(line)
    except ValueError:
        value = ValueError
    try:
        other = strictly(line)
    except (ValueError, RecursionError):
        other = ValueError
    depth = line.count(b"[") + line.count(b"{")
    if value is ValueError or other is ValueError:
        assert value is other or depth > DEEPEST, "the two readers agree on what is JSON"
        return
    if depth < DEEPEST:
        again = decode_json(encode_frame({"value": value}, 2**30)[:-1])["value"]
        assert again == value, "read, written and read again it is the same"
        if b"\\u" not in line:
            assert other == value, "the two readers agree on what it says"
