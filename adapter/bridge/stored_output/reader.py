"""Reads of stored output, from the request to the page: in line, bounded in time, and ended at once when nobody wants
them.

The checks and their order are those of `docs/stored-output.md`. A read changes nothing and is never tried again by
itself.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio
from anyio.lowlevel import checkpoint

from adapter.acp.errors import internal_error
from adapter.acp.trace import TraceContext, read_trace
from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.contract import CONCURRENT_READS, LONGEST_REST, REST_FACTOR
from adapter.bridge.stored_output.host_reads import host_to_read_from, read_page
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.request import ReadRequest, read_request
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import Call, Work

log = logging.getLogger("adapter.output")


class OpenSessions(Protocol):
    """What a reader has to know about the sessions of the connection."""

    def workspace_for_reading(self, session_id: str) -> str:
        """The folder of an open session.

        Raises:
            RpcError: check 4: it is unknown, closed, or being loaded.
        """


class _Read:
    """One read at the host, which several identical requests may wait for."""

    def __init__(self, request: ReadRequest, workspace: str, trace: TraceContext | None) -> None:
        self.request = request
        self.workspace = workspace
        self.trace = trace
        self.waiting = 0
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.outcome: Params | RpcError | None = None


class OutputReader:
    """The reads of one connection: at most `CONCURRENT_READS` run, the others wait in the order they came in.

    None begins before `client_reads` returns, which is when the client has taken what it got so far. While `gives_way`
    is true they leave most of the time to something else (`contract.REST_FACTOR`).
    """

    def __init__(
        self,
        host: ReadHost,
        startup_timeout: float,
        sessions: OpenSessions,
        background: Background,
        client_reads: Callable[[], Awaitable[None]] = checkpoint,
        gives_way: Callable[[], bool] = lambda: False,
    ) -> None:
        self.negotiation = Negotiation()
        self._host = host
        self._startup_timeout = startup_timeout
        self._sessions = sessions
        self._background = background
        self._client_reads = client_reads
        self._gives_way = gives_way
        self._open: dict[ReadRequest, _Read] = {}
        self._line: deque[_Read] = deque()
        self._running = 0
        self._stopped = False

    def begin(self, call: Call) -> Work:
        """A request for a byte range: checks 1 to 4 at once, the rest as its work.

        Raises:
            RpcError: it is refused.
        """
        refusal = self.negotiation.refusal()
        if refusal is not None:
            raise refusal
        request = read_request(call.params)
        workspace = self._sessions.workspace_for_reading(request.session_id)
        if self._stopped:
            raise errors.ended_early("adapterStopping")
        read = self._open.get(request)
        if read is None:
            read = self._open[request] = _Read(request, workspace, read_trace(call.params))
            self._line.append(read)
            self._start_next()
        read.waiting += 1
        return self._answer(read)

    def end_session(self, session_id: str) -> None:
        """The session was closed: its reads end now (check 13)."""
        for read in list(self._open.values()):
            if read.request.session_id == session_id:
                self._settle(read, errors.ended_early("sessionClosed"))

    def stop(self) -> None:
        """The adapter stops: every read ends now, and none begins."""
        self._stopped = True
        for read in list(self._open.values()):
            self._settle(read, errors.ended_early("adapterStopping"))

    async def close(self) -> None:
        """End the read host."""
        await self._host.close()

    def _settle(self, read: _Read, outcome: Params | RpcError) -> None:
        """End a read; its first end counts."""
        if read.outcome is None:
            read.outcome = outcome
            del self._open[read.request]
            read.done.set()
            read.scope.cancel()

    async def _answer(self, read: _Read) -> Params:
        try:
            await read.done.wait()
        finally:
            read.waiting -= 1
            if not read.waiting:
                self._settle(read, errors.ended_early("cancelled"))
        if isinstance(read.outcome, RpcError):
            raise read.outcome
        assert read.outcome is not None
        return read.outcome

    def _start_next(self) -> None:
        while self._line and self._running < CONCURRENT_READS:
            read = self._line.popleft()
            if read.outcome is None:
                self._running += 1
                self._background.start(self._run, read)

    async def _run(self, read: _Read) -> None:
        began = anyio.current_time()
        await self._bring_to_an_end(read)
        if self._gives_way():
            await anyio.sleep(min(REST_FACTOR * (anyio.current_time() - began), LONGEST_REST))
        self._running -= 1
        self._start_next()

    async def _bring_to_an_end(self, read: _Read) -> None:
        try:
            with read.scope:
                # Pages that nobody takes must not pile up.
                await self._client_reads()
                self._settle(read, await self._read(read))
        except RpcError as error:
            self._settle(read, error)
        except Exception:
            log.exception("a read of stored output failed")
            self._settle(read, internal_error("The read ended unexpectedly"))

    async def _read(self, read: _Read) -> Params:
        trace = read.trace.wire() if read.trace is not None else None
        async with host_to_read_from(self._host, self._startup_timeout) as host:
            return await read_page(host, read.request, read.workspace, trace)
