"""Lines of megabytes: cut, queued and piped without a copy more than needed, and with the same result as short ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import orjson
import pytest

from adapter.wire.envelope import Success, read_line
from adapter.wire.framing import LONG_LINE, FrameDecoder, Line, Oversize
from adapter.wire.outbox import Outbox
from adapter.wire.pipe_size import PIPE_BYTES, widen_pipe

CAP = 8 * LONG_LINE


def unexpected(error: Exception) -> None:
    raise error


def frame(size: int, number: int = 1) -> dict[str, object]:
    return {"id": number, "result": {"content": "x" * size}}


@pytest.mark.parametrize("size", [LONG_LINE // 2, LONG_LINE, 4 * LONG_LINE])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_long_line_in_pieces_is_read_like_a_short_one(size: int, end: bytes, mark: bytes) -> None:
    stream = mark + orjson.dumps(frame(size)) + end + orjson.dumps(frame(3, 2)) + end
    decoder = FrameDecoder(CAP)
    lines: list[Line | Oversize] = []
    for at in range(0, len(stream), 65_536):
        lines += decoder.feed(stream[at : at + 65_536])

    first, second = map(read_line, lines)
    assert isinstance(first, Success) and isinstance(second, Success)
    assert (first.id, len(first.result["content"])) == (1, size)
    assert (second.id, second.result) == (2, {"content": "xxx"})
    assert decoder.end() == []


def test_a_line_that_was_given_is_not_touched_by_the_next() -> None:
    decoder = FrameDecoder(CAP)
    decoder.feed(b"a" * LONG_LINE)
    (line,) = decoder.feed(b"b\n" + b"c" * 100)

    decoder.feed(b"d" * LONG_LINE)
    assert line == b"a" * LONG_LINE + b"b"


def test_a_long_line_at_the_end_of_the_stream_counts() -> None:
    decoder = FrameDecoder(CAP)
    decoder.feed(b"a" * LONG_LINE)

    assert decoder.end() == [b"a" * LONG_LINE]


def test_a_line_above_the_cap_leaves_a_prefix_of_plain_bytes() -> None:
    decoder = FrameDecoder(LONG_LINE)
    decoder.feed(b"a" * LONG_LINE)
    (over,) = decoder.feed(b"a" * 10 + b"\n")

    assert isinstance(over, Oversize)
    assert type(over.prefix) is bytes


def test_long_lines_leave_one_by_one_in_their_order() -> None:
    box = Outbox(CAP, unexpected)
    sizes = [10, 20, LONG_LINE, 30, LONG_LINE, LONG_LINE + 1, 40]
    for number, size in enumerate(sizes):
        box.put(frame(size, number))
    waiting = box.size

    pieces = []
    while piece := box.take():
        pieces.append(piece)
    assert waiting == sum(map(len, pieces))
    assert box.size == 0
    assert [piece.count(b"\n") for piece in pieces] == [2, 1, 1, 1, 1, 1]
    assert [len(orjson.loads(line)["result"]["content"]) for line in b"".join(pieces).splitlines()] == sizes


@pytest.mark.skipif(sys.platform != "linux", reason="only there can it be chosen")
def test_a_pipe_is_made_to_hold_more() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    widen_pipe(reading)

    assert os.write(writing, bytes(PIPE_BYTES)) == PIPE_BYTES
    os.close(reading)
    os.close(writing)


def test_what_is_no_pipe_stays_as_it_is(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    widen_pipe(fd)

    assert os.write(fd, b"x") == 1
    os.close(fd)
