"""Reads of stored output, from the request to the page: in line, bounded in time, and ended at once when nobody wants
them.

The checks and their order are those of `docs/stored-output.md`. A read changes nothing and is never tried again by
itself.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import anyio

from adapter.acp.errors import internal_error
from adapter.acp.trace import TraceContext, read_trace
from adapter.acp.workspace import same_directory
from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.contract import CONCURRENT_READS, MAX_BYTES, READ_SECONDS
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.page import page_problem, result_of
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.references import AVAILABLE, find_reference
from adapter.bridge.stored_output.request import ReadRequest, read_request
from adapter.bridge.stored_output.scan import HistoryScan, MalformedPage
from adapter.bridge.stored_output.walk import walk
from adapter.msp.errors import HostGone, MalformedResult, MspError, RequestTimeout
from adapter.msp.host import Host, HostStartError
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import Call, Work
from host_probe import Verified, parse_server_version, verified_for_reading

_LOST_SESSIONS: Final = frozenset({"sessionNotFound", "sessionAmbiguous", "sessionStreamMismatch"})


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
    """The reads of one connection: at most `CONCURRENT_READS` run, the others wait in the order they came in."""

    def __init__(self, host: ReadHost, startup_timeout: float, sessions: OpenSessions, background: Background) -> None:
        self.negotiation = Negotiation()
        self._host = host
        self._startup_timeout = startup_timeout
        self._sessions = sessions
        self._background = background
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
        try:
            with read.scope:
                self._settle(read, await self._read(read))
        except RpcError as error:
            self._settle(read, error)
        finally:
            self._settle(read, internal_error("The read ended unexpectedly"))
            self._running -= 1
            self._start_next()

    async def _read(self, read: _Read) -> Params:
        ready = False
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._startup_timeout) as budget:
                async with self._host.use() as host:
                    ready = True
                    budget.deadline = anyio.current_time() + READ_SECONDS
                    return await _read_from(host, read)
        except HostStartError as error:
            raise self._start_failure(error) from None
        except RequestTimeout:
            raise errors.read_timeout() from None
        except MalformedResult as error:
            raise errors.inconsistent_page(error.details) from None
        except HostGone as error:
            raise errors.host_died(str(error)) from None
        raise errors.read_timeout() if ready else errors.host_start_timeout(self._startup_timeout)

    def _start_failure(self, error: HostStartError) -> RpcError:
        if error.reason == "hostStartTimeout":
            return errors.host_start_timeout(self._startup_timeout)
        return errors.host_start_failed(error.details, error.exit_code)


async def _read_from(host: Host, read: _Read) -> Params:
    """Checks 6 to 12 on a ready host."""
    request = read.request
    handshake = await host.ready()
    if not isinstance(verified_for_reading(parse_server_version(handshake.server_version)), Verified):
        raise errors.host_version_unverified(handshake.server_version)
    await _require_stored(host, request.session_id, read.workspace)
    scan = await _scanned(host, request)
    reference = find_reference(scan.item, request.ref_id) if scan.item is not None else None
    if reference is None:
        raise errors.output_not_found(scan)
    if reference.availability != AVAILABLE:
        raise errors.output_unavailable(reference.availability)
    if request.offset > reference.byte_len:
        raise errors.offset_out_of_range(reference.byte_len)
    trace = read.trace.wire() if read.trace is not None else None
    try:
        page = await host.query("item/readOutput", request.host_params(), trace=trace)
    except MspError as error:
        raise _refusal(error, request, scan) from None
    problem = page_problem(page, request)
    if problem is not None:
        raise errors.inconsistent_page(problem)
    return result_of(page, request)


async def _require_stored(host: Host, session_id: str, workspace: str) -> None:
    """Check 7."""
    try:
        stored = await host.query("session/read", {"sessionId": session_id, "excludeItems": True})
    except MspError as error:
        raise errors.session_not_stored() if error.kind in _LOST_SESSIONS else _host_error(error) from None
    session = stored.get("session")
    if not isinstance(session, dict) or session.get("sessionId") != session_id:
        raise errors.session_not_stored()
    root = session.get("workspaceRoot")
    if not isinstance(root, str) or not same_directory(root, workspace):
        raise errors.workspace_mismatch()


async def _scanned(host: Host, request: ReadRequest) -> HistoryScan:
    """Recent history, as far back as the item or the budget goes."""
    scan = HistoryScan(request.session_id, request.item_id)
    try:
        await walk(scan, host)
    except MalformedPage as error:
        raise errors.inconsistent_page(str(error)) from None
    except MspError as error:
        raise _host_error(error) from None
    return scan


def _refusal(error: MspError, request: ReadRequest, scan: HistoryScan) -> RpcError:
    """What the host's refusal of `item/readOutput` means (check 11)."""
    if error.kind == "invalidParams":
        aligned = error.data.get("alignedNextOffset")
        usable = type(aligned) is int and request.offset < aligned <= MAX_BYTES
        return errors.offset_inside_character(aligned if usable else None)
    if error.kind == "outputUnavailable":
        availability = error.data.get("availability")
        return errors.output_unavailable(availability if isinstance(availability, str) else "unknown")
    if error.kind == "notFound":
        return errors.output_not_found(scan)
    if error.kind == "outputResultTooLarge":
        return errors.piece_too_large()
    return _host_error(error)


def _host_error(error: MspError) -> RpcError:
    return errors.host_error(error.kind, error.message)
