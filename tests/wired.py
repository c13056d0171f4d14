"""A peer under test on real pipes, and the raw other end of them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, PeerOptions, Work
from adapter.wire.pipes import FdReader, FdWriter

PATIENCE = 20.0
"""Seconds after which a test that waits has failed."""

CAP = 1024 * 1024


async def echo(call: Call) -> Params:
    """Answer with what was asked."""
    return {"method": call.method, "params": call.params}


class Recorder:
    """A handler that keeps what arrives; `work` is what a request gets."""

    def __init__(self, work: Callable[[Call], Work] = echo) -> None:
        self.work = work
        self.calls: list[Call] = []
        self.notes: list[tuple[str, Params]] = []

    def on_notification(self, method: str, params: Params) -> None:
        self.notes.append((method, params))

    def on_request(self, call: Call) -> Work:
        self.calls.append(call)
        return self.work(call)


class Gate:
    """Work that waits until it is let go."""

    def __init__(self) -> None:
        self.open = anyio.Event()
        self.begun = 0
        self.cancelled = 0

    def __call__(self, call: Call) -> Work:
        return self._work(call)

    async def _work(self, call: Call) -> Params:
        self.begun += 1
        try:
            await self.open.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        return {"method": call.method}


class OtherEnd:
    """What stands at the other side of the pipes: writes bytes, reads lines, checks nothing."""

    def __init__(self, peer: Peer, source: FdReader, sink: FdWriter) -> None:
        self.peer = peer
        self.run_returned = anyio.Event()
        self._source = source
        self._sink = sink
        self._unread = bytearray()

    async def write(self, data: bytes) -> None:
        with anyio.fail_after(PATIENCE):
            await self._sink.send(data)

    async def send(self, *frames: Any) -> None:
        """Write each frame as a line, all at once."""
        await self.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    async def ask(self, request_id: Any, method: str = "do", **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    async def tell(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def read(self) -> Any:
        """The next line as JSON."""
        with anyio.fail_after(PATIENCE):
            while b"\n" not in self._unread:
                data = await self._source.receive()
                if not data:
                    raise EOFError(bytes(self._unread))
                self._unread += data
        line, _, rest = self._unread.partition(b"\n")
        self._unread = rest
        return json.loads(line, parse_constant=_refuse)

    async def read_all(self, count: int) -> list[Any]:
        return [await self.read() for _ in range(count)]

    async def nothing_comes(self) -> None:
        """Fail if anything but the answer to one more request comes."""
        await self.ask("nothing-comes")
        assert (await self.read())["id"] == "nothing-comes"

    def close_input(self) -> None:
        """End of input for the peer."""
        self._sink.close()

    def stop_reading_for_ever(self) -> None:
        """The peer's writes fail from now on."""
        self._source.close()

    async def over(self) -> None:
        """Wait until the peer's `run` has returned."""
        with anyio.fail_after(PATIENCE):
            await self.run_returned.wait()


def unread_on_pipe(other: OtherEnd) -> list[Any]:
    """What is on the pipe right now, without waiting."""
    os.set_blocking(other._source._fd, False)
    while True:
        try:
            data = os.read(other._source._fd, 1 << 20)
        except BlockingIOError:
            break
        if not data:
            break
        other._unread += data
    return [json.loads(line) for line in bytes(other._unread).splitlines()]


def _refuse(word: str) -> Any:
    raise ValueError(word)


def options(**changes: Any) -> PeerOptions:
    return PeerOptions(**{"name": "test", "inbound_cap": CAP, "outbound_cap": CAP, "drain_seconds": 1.0, **changes})


@asynccontextmanager
async def wired(
    handler: Recorder | None = None, at_end_of_input: Callable[[], None] | None = None, **changes: Any
) -> AsyncIterator[OtherEnd]:
    """A running peer and its other end; `changes` are options of the peer."""
    (peer_in, other_out), (other_in, peer_out) = os.pipe(), os.pipe()
    source, sink = FdReader(peer_in), FdWriter(peer_out)
    peer = Peer(source, sink, handler or Recorder(), options(**changes))
    other = OtherEnd(peer, FdReader(other_in), FdWriter(other_out))

    async def run() -> None:
        await peer.run(at_end_of_input)
        other.run_returned.set()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield other
            other.close_input()
            other.stop_reading_for_ever()
            await other.over()
    finally:
        source.close()
        sink.close()
        other.close_input()
        other.stop_reading_for_ever()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until it holds."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.001)


async def outcome(wait: Callable[[], Awaitable[Any]]) -> Any:
    """The value, or the exception."""
    with anyio.fail_after(PATIENCE):
        try:
            return await wait()
        except Exception as error:
            return error
