"""The outgoing half of a connection: frames go in at any time, one task writes whatever has gathered."""

from __future__ import annotations

from typing import Any, Protocol

import anyio

from adapter.wire.notes import RateLimited
from adapter.wire.options import PeerOptions
from adapter.wire.outbox import Mergeable, Outbox

OUTBOX_HIGH_WATER = 1024 * 1024
"""Bytes not yet written above which reading pauses: what a slow reader makes us hold at most, beyond what one read
gives rise to."""

ANSWERS_HIGH_WATER = 4 * 1024 * 1024
"""Bytes above which no more is taken in from whoever does not read either. More than what others fill the outbox with,
so that who does not read can still stop that."""


class ByteSink(Protocol):
    """Where a peer writes to."""

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""


class FrameWriter:
    """Queues frames for a sink. Once `over`, what is put is dropped and nobody waits any more."""

    def __init__(self, sink: ByteSink, options: PeerOptions, faults: RateLimited) -> None:
        self._sink = sink
        self._name = options.name
        self._faults = faults
        self._outbox = Outbox(options.outbound_cap, self._note_lost)
        self._wake = anyio.Event()
        self._awake = False
        self._relaxed: anyio.Event | None = None
        self._in_flight = 0
        self.over = False
        """Whether writing has ended: the sink failed, nobody reads, or `run` was cancelled."""
        self.lost = False
        """Whether something was not written that should have been."""

    @property
    def pending(self) -> int:
        """About how many bytes are not written yet."""
        return self._outbox.size + self._in_flight

    def put(self, frame: dict[str, Any]) -> None:
        """Queue a frame.

        Raises:
            FrameTooLarge, TypeError: it cannot be written; nothing was queued.
        """
        if self.over:
            self.lost = True
        else:
            self._outbox.put(frame)
            if not self._awake:
                self._wake_up()

    def put_mergeable(self, frame: Mergeable) -> None:
        """Queue a frame that later ones may be merged into while it waits.

        Raises:
            FrameTooLarge, TypeError: it is long and cannot be written; nothing was queued.
        """
        if self.over:
            self.lost = True
        else:
            self._outbox.put_mergeable(frame)
            if not self._awake:
                self._wake_up()

    def has_room(self, mark: int = OUTBOX_HIGH_WATER) -> bool:
        """Whether what is not written yet is below `mark`, or writing has ended."""
        return self.pending <= mark or self.over

    async def writable(self, mark: int = OUTBOX_HIGH_WATER) -> None:
        """Wait until there is room."""
        while not self.has_room(mark):
            await self._relax()

    async def flushed(self) -> None:
        """Wait until everything queued has been written, or writing has ended."""
        while self.pending and not self.over:
            await self._relax()

    async def run(self) -> None:
        """Write until cancelled.

        Raises:
            OSError: the sink failed. Whatever else it raises comes through too.
        """
        try:
            while True:
                await self._wake.wait()
                self._wake, self._awake = anyio.Event(), False
                while data := self._outbox.take():
                    self._in_flight = len(data)
                    await self._sink.send(data)
                    self._in_flight = 0
                    self._wake_waiters()
        finally:
            self.stop()

    def stop(self) -> None:
        """Write no more."""
        if not self.over:
            self.over = True
            self.lost = self.pending > 0
            self._wake_waiters()

    def _wake_up(self) -> None:
        self._awake = True
        self._wake.set()

    async def _relax(self) -> None:
        if self._relaxed is None:
            self._relaxed = anyio.Event()
        await self._relaxed.wait()

    def _wake_waiters(self) -> None:
        if self._relaxed is not None:
            self._relaxed.set()
            self._relaxed = None

    def _note_lost(self, error: Exception) -> None:
        self._faults.failure(error, "%s: a message could not be written and was left out", self._name)
