"""The adapter without processes and pipes: both of its ends are played, and every frame that passes is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import anyio

from adapter.msp.host_command import HostCommand
from adapter.wire.room import Room
from tests.oracles.seen import Seen

Json = dict[str, Any]

On = Callable[[Json], None]


class Bytes:
    """Bytes on their way to the adapter (`adapter.wire.peer.ByteSource`)."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._ended = False
        self._news = anyio.Event()

    def put(self, data: bytes) -> None:
        """Let them arrive; empty: the end."""
        if data:
            self._chunks.append(data)
        else:
            self._ended = True
        self._news.set()

    async def receive(self) -> bytes:
        """What has arrived."""
        while not self._chunks and not self._ended:
            self._news = anyio.Event()
            await self._news.wait()
        data, self._chunks = b"".join(self._chunks), []
        return data

    def unless_over(self, room: Room) -> Room:
        """The same room (`adapter.wire.pipes.FdReader`); nothing here is ever full."""
        return room


class Lines:
    """What the adapter writes, line by line (`adapter.wire.peer.ByteSink`)."""

    def __init__(self, take: On) -> None:
        self._take = take
        self.watch: Callable[[bytes], None] = lambda data: None
        """Told of all bytes."""
        self._rest = b""
        self.closed = False

    async def send(self, data: bytes) -> None:
        """Take in whole lines."""
        self.watch(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def close(self) -> None:
        """Nothing more comes."""
        self.closed = True


class Wire:
    """One end of a connection as it is played: frames go to the adapter, frames come from it."""

    def __init__(self, side: Literal["client", "host"], name: str, on_seen: Callable[[Seen], None], take: On) -> None:
        self.side = side
        self.name = name
        self._on_seen = on_seen
        self._take = take
        self.source = Bytes()
        self.sink = Lines(self._received)
        self.cut = False
        """Whether nothing passes any more."""

    def send(self, frame: Json) -> None:
        """Let a frame arrive at the adapter."""
        if not self.cut:
            self._see(frame, from_adapter=False)
            self.source.put(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def end(self) -> None:
        """Let nothing more arrive."""
        self.cut = True
        self.source.put(b"")

    def _received(self, frame: Json) -> None:
        if not self.cut:
            self._see(frame, from_adapter=True)
            self._take(frame)

    def _see(self, frame: Json, *, from_adapter: bool) -> None:
        self._on_seen(Seen(0, self.side, self.name, from_adapter, frame))


class PlayedProcess:
    """A host process that is not there (`adapter.msp.process.HostProcess`). It ends when its stdin does."""

    def __init__(self, command: HostCommand, wire: Wire) -> None:
        self.command = command
        self.pid = 0
        self.stdin = wire.sink
        self.stdout = wire.source
        self.exit_code: int | None = None
        self._wire = wire
        self._gone = anyio.Event()
        self.on_end: Callable[[], None] = lambda: None

    def die(self, code: int) -> None:
        """End by itself, or because it was told to."""
        if self.exit_code is None:
            self.exit_code = code
            self.on_end()
            self._wire.end()
            self._gone.set()

    async def drain_stderr(self) -> None:
        """It says nothing there."""
        await self._gone.wait()

    async def wait(self) -> None:
        """Wait for its end."""
        await self._gone.wait()

    async def end(self, close_grace: float = 0.0) -> None:
        """Close stdin, at which it ends."""
        self.stdin.close()
        self.die(0)

    def close_pipes(self) -> None:
        """There are none."""

    def stderr_text(self) -> str:
        """Nothing."""
        return ""
