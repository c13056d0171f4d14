"""What a host says on stdout: while it starts usually nothing, else the only words of one that then ends; and whether
it says anything at all."""

from __future__ import annotations

from adapter.msp.stderr_tail import StderrTail
from adapter.wire.peer import ByteSource


class Overheard:
    """A source of bytes whose end is remembered until `stop`."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._tail: StderrTail | None = StderrTail()
        self.times = 0
        """How often something has arrived."""

    async def receive(self) -> bytes:
        """What has arrived; empty at end of input."""
        data = await self._source.receive()
        self.times += 1
        if self._tail is not None:
            self._tail.feed(data)
        return data

    def stop(self) -> None:
        """From now on frames are expected, which are nobody's words."""
        self._tail = None

    def words(self) -> str:
        """The last lines; not scrubbed."""
        return self._tail.text() if self._tail is not None else ""
