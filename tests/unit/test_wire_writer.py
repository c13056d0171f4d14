"""The one writer of a pipe: everything that has gathered goes out, in order, without another word."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from adapter.wire.framing import LONG_LINE
from adapter.wire.notes import RateLimited
from adapter.wire.options import PeerOptions
from adapter.wire.writer import FrameWriter

pytestmark = pytest.mark.anyio

CAP = 10 * LONG_LINE


class Sink:
    """Keeps what is sent, and takes a while for each piece."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    async def send(self, data: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        self.pieces.append(data)


async def written(*frames: dict[str, Any]) -> list[bytes]:
    """The pieces that frames are written in which have gathered before the writer runs."""
    log, sink = logging.getLogger("adapter.wire"), Sink()
    options = PeerOptions(name="test", inbound_cap=CAP, outbound_cap=CAP, logger=log)
    writer = FrameWriter(sink, options, RateLimited(log))
    for frame in frames:
        writer.put(frame)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.run)
        with anyio.fail_after(20):
            await writer.flushed()
        tasks.cancel_scope.cancel()
    return sink.pieces


async def test_what_has_gathered_is_written_in_one_go() -> None:
    assert await written({"n": 1}, {"n": 2}, {"n": 3}) == [b'{"n":1}\n{"n":2}\n{"n":3}\n']


async def test_what_stands_behind_a_long_line_waits_for_no_other_frame() -> None:
    long = {"text": "x" * LONG_LINE}
    before, line, behind = await written({"n": 1}, long, {"n": 2}, {"n": 3})
    assert before == b'{"n":1}\n' and behind == b'{"n":2}\n{"n":3}\n'
    assert len(line) == LONG_LINE + len('{"text":""}\n')
