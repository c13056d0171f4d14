"""A connection of which one side fails: nobody reads any more, a source or a sink raises, a line has no end."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, PeerClosed
from adapter.wire.pipes import FdReader, FdWriter
from adapter.wire.room import Room
from tests.wired import PATIENCE, Gate, Recorder, options, until, wired

pytestmark = pytest.mark.anyio

ASK = b'{"jsonrpc":"2.0","id":%d,"method":"do"}'


async def slow(call: Call) -> Params:
    await anyio.sleep(0.02)
    return {"method": call.method}


@pytest.mark.acp(24)
async def test_nobody_reads_any_more() -> None:
    gate = Gate()
    async with wired(Recorder(gate), drain_seconds=PATIENCE) as other:
        await other.ask(1)
        await until(lambda: gate.begun == 1)
        other.stop_reading_for_ever()
        other.peer.notify("tell")
        await other.over()
        assert other.peer.ended == "broken"
        assert gate.cancelled == 1
        with pytest.raises(PeerClosed):
            await other.peer.request("do")


async def test_nobody_reads_while_it_drains() -> None:
    gate = Gate()
    async with wired(Recorder(gate), drain_seconds=PATIENCE) as other:
        await other.ask(1)
        await until(lambda: gate.begun == 1)
        other.close_input()
        await until(lambda: other.peer.ended == "eof")
        other.stop_reading_for_ever()
        other.peer.notify("tell")
        # Not the drain's bound: who is gone need not be waited for.
        await other.over()
        assert gate.cancelled == 1
        assert (other.peer.ended, other.peer.unfinished) == ("eof", True)


@pytest.mark.acp(24)
async def test_nobody_would_read_what_is_not_written_yet() -> None:
    gate = Gate()
    async with wired(Recorder(gate), drain_seconds=PATIENCE) as other:
        await other.ask(1)
        await until(lambda: gate.begun == 1)
        other.stop_reading_for_ever()
        other.peer.stop_writing()
        await other.over()
        assert gate.cancelled == 1
        assert (other.peer.ended, other.peer.unfinished) == ("unread", True)


@pytest.mark.parametrize("input_first", [True, False])
async def test_who_has_it_all_may_go(input_first: bool) -> None:
    async with wired() as other:
        await other.ask(1)
        await other.read()
        # What is on the pipe counts as written a moment later.
        await other.peer.flushed()
        if input_first:
            other.close_input()
        other.stop_reading_for_ever()
        other.peer.stop_writing()
        await other.over()
        assert not other.peer.unfinished


async def test_who_waits_for_the_outbox_is_let_go_when_it_breaks() -> None:
    async with wired() as other:
        waited: list[str] = []

        async def wait(name: str, how: Callable[[], Any]) -> None:
            await how()
            waited.append(name)

        other.peer.notify("tell", {"text": "x" * 900_000})
        other.peer.notify("tell", {"text": "x" * 900_000})
        other.peer.notify("tell", {"text": "x" * 900_000})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, "writable", other.peer.writable)
            tasks.start_soon(wait, "flushed", other.peer.flushed)
            await other.read()
            other.stop_reading_for_ever()
        assert sorted(waited) == ["flushed", "writable"]


@pytest.mark.parametrize("error", [OSError(5, "broken"), anyio.ClosedResourceError(), ValueError("odd")], ids=repr)
async def test_a_source_that_fails_ends_in_a_drain(error: Exception) -> None:
    reading, writing = os.pipe()

    class Source:
        def __init__(self) -> None:
            self.pieces = [ASK % 1 + b"\n"]

        async def receive(self) -> bytes:
            await anyio.lowlevel.checkpoint()
            if self.pieces:
                return self.pieces.pop()
            raise error

    sink = FdWriter(writing)
    peer = Peer(Source(), sink, Recorder(slow), options())
    with anyio.fail_after(PATIENCE):
        await peer.run()
    assert peer.ended == "failed"
    assert b'"result"' in os.read(reading, 10_000)
    sink.close()
    os.close(reading)


@pytest.mark.parametrize("error", [OSError(5, "broken"), anyio.BrokenResourceError(), ValueError("odd")], ids=repr)
async def test_a_sink_that_fails_ends_the_connection(error: Exception) -> None:
    class Sink:
        async def send(self, data: bytes) -> None:
            raise error

    reading, writing = os.pipe()
    source = FdReader(reading)
    peer = Peer(source, Sink(), Recorder(), options())
    os.write(writing, ASK % 1 + b"\n")
    with anyio.fail_after(PATIENCE):
        await peer.run()
    assert peer.ended == "broken"
    source.close()
    os.close(writing)


async def test_a_failing_throttle_ends_in_a_drain() -> None:
    async def throttle() -> None:
        raise RuntimeError("odd")

    async with wired(Recorder(slow)) as other:
        other.peer.throttle = Room(lambda: False, throttle)
        await other.ask(1)
        assert "result" in await other.read()
        await other.over()
        assert other.peer.ended == "failed"


async def test_an_endless_line_ends_the_connection() -> None:
    async with wired(inbound_cap=1000, endless_line=100_000) as other:
        await other.write(b"x" * 50_000 + b"\n")
        assert (await other.read())["error"]["data"] == {"reason": "frameTooLarge", "limitBytes": 1000}
        await other.write(b"x" * 110_000)
        await other.over()
        assert other.peer.ended == "failed"


async def test_without_a_bound_a_line_may_be_as_long_as_it_likes() -> None:
    async with wired(inbound_cap=1000, endless_line=None) as other:
        for _ in range(3000):
            await other.write(b"x" * 50_000)
        await other.write(b"\n" + ASK % 1 + b"\n")
        assert (await other.read())["error"]["data"] == {"reason": "frameTooLarge", "limitBytes": 1000}
        assert (await other.read())["id"] == 1
        assert other.peer.ended is None
