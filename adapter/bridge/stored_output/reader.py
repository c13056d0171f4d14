"""Reads of stored output, from the request to the page: in line, bounded in time, and ended at once when nobody wants
them.

The checks and their order are those of `docs/stored-output.md`. A read changes nothing and is never tried again by
itself.
"""

from __future__ import annotations

import logging
from typing import Final, Protocol

import anyio

from adapter.acp.workspace import same_directory
from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.contract import CONCURRENT_READS, READ_SECONDS
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.page import page_problem, result_of
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.references import AVAILABLE, find_reference
from adapter.bridge.stored_output.request import ReadRequest, read_request
from adapter.bridge.stored_output.scan import HistoryScan, MalformedPage
from adapter.msp.errors import HostGone, MalformedResult, MspError, RequestTimeout
from adapter.msp.host import Host, HostStartError
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import Call, Work
from host_probe import Verified, parse_server_version, verified_for_reading

log = logging.getLogger("adapter.output")

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

    def __init__(self, request: ReadRequest, workspace: str) -> None:
        self.request = request
        self.workspace = workspace
        self.waiting = 0
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.outcome: Params | RpcError | None = None

    def settle(self, outcome: Params | RpcError) -> None:
        """End it; the first end counts."""
        if self.outcome is None:
            self.outcome = outcome
            self.done.set()
            self.scope.cancel()


class OutputReader:
    """The reads of one connection."""

    def __init__(self, host: ReadHost, startup_timeout: float, sessions: OpenSessions, background: Background) -> None:
        self.negotiation = Negotiation()
        self._host = host
        self._startup_timeout = startup_timeout
        self._sessions = sessions
        self._background = background
        self._reads: dict[ReadRequest, _Read] = {}
        self._slots = anyio.CapacityLimiter(CONCURRENT_READS)

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
        read = self._reads.get(request)
        if read is None or read.outcome is not None:
            read = self._reads[request] = _Read(request, workspace)
            self._background.start(self._run, read)
        read.waiting += 1
        return self._answer(read)

    def end_session(self, session_id: str) -> None:
        """The session was closed: its reads end now (check 13)."""
        for read in list(self._reads.values()):
            if read.request.session_id == session_id:
                read.settle(errors.ended_early("sessionClosed"))

    def stop(self) -> None:
        """The adapter stops: every read ends now."""
        for read in list(self._reads.values()):
            read.settle(errors.ended_early("adapterStopping"))

    async def close(self) -> None:
        """End the read host."""
        await self._host.close()

    async def _answer(self, read: _Read) -> Params:
        try:
            await read.done.wait()
        finally:
            read.waiting -= 1
            if not read.waiting:
                read.settle(errors.ended_early("cancelled"))
        if isinstance(read.outcome, RpcError):
            raise read.outcome
        assert read.outcome is not None
        return read.outcome

    async def _run(self, read: _Read) -> None:
        try:
            with read.scope:
                async with self._slots:
                    read.settle(await self._read(read))
        except RpcError as error:
            read.settle(error)
        finally:
            read.settle(errors.host_error("internal", "The read ended unexpectedly"))
            if self._reads.get(read.request) is read:
                del self._reads[read.request]

    async def _read(self, read: _Read) -> Params:
        ready = False
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._startup_timeout) as budget:
                async with self._host.use() as host:
                    ready = True
                    budget.deadline = anyio.current_time() + READ_SECONDS
                    return await _read_from(host, read.request, read.workspace)
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


async def _read_from(host: Host, request: ReadRequest, workspace: str) -> Params:
    """Checks 6 to 12 on a ready host."""
    handshake = await host.ready()
    if not isinstance(verified_for_reading(parse_server_version(handshake.server_version)), Verified):
        raise errors.host_version_unverified(handshake.server_version)
    await _require_stored(host, request.session_id, workspace)
    item, scan = await _newest_revision(host, request)
    reference = find_reference(item, request.ref_id)
    if reference is None:
        raise errors.output_not_found(scan.pages, scan.events, scan.exhausted)
    if reference.availability != AVAILABLE:
        raise errors.output_unavailable(reference.availability)
    if request.offset > reference.byte_len:
        raise errors.offset_out_of_range(reference.byte_len)
    page = await _page(host, request, scan)
    problem = page_problem(page, request)
    if problem is not None:
        raise errors.inconsistent_page(problem)
    return result_of(page, request)


async def _require_stored(host: Host, session_id: str, workspace: str) -> None:
    try:
        stored = await host.query("session/read", {"sessionId": session_id, "excludeItems": True})
    except MspError as error:
        raise errors.session_not_stored() if error.kind in _LOST_SESSIONS else _host_error(error) from None
    session = stored.get("session")
    root = session.get("workspaceRoot") if isinstance(session, dict) else None
    if not isinstance(root, str) or not same_directory(root, workspace):
        raise errors.workspace_mismatch()


async def _newest_revision(host: Host, request: ReadRequest) -> tuple[dict[str, object], HistoryScan]:
    scan = HistoryScan(request.session_id, request.item_id)
    while (params := scan.next_page()) is not None:
        try:
            scan.take(await host.query("view/page", params))
        except MalformedPage as error:
            raise errors.inconsistent_page(str(error)) from None
        except MspError as error:
            if error.kind != "pageEventTooLarge" or error.view_cursor is None:
                raise _host_error(error) from None
            scan.skip(error.view_cursor)
    if scan.item is None:
        raise errors.output_not_found(scan.pages, scan.events, scan.exhausted)
    return scan.item, scan


async def _page(host: Host, request: ReadRequest, scan: HistoryScan) -> Params:
    """The one `item/readOutput` of a read, and what its refusals mean (check 11)."""
    trace = request.trace.wire() if request.trace is not None else None
    try:
        return await host.query("item/readOutput", request.host_params(), trace=trace)
    except MspError as error:
        if error.kind == "invalidParams":
            aligned = error.data.get("alignedNextOffset")
            raise errors.offset_inside_character(aligned if type(aligned) is int else None) from None
        if error.kind == "outputUnavailable":
            availability = error.data.get("availability")
            raise errors.output_unavailable(availability if isinstance(availability, str) else "missing") from None
        if error.kind == "notFound":
            raise errors.output_not_found(scan.pages, scan.events, scan.exhausted) from None
        if error.kind == "outputResultTooLarge":
            raise errors.piece_too_large() from None
        raise _host_error(error) from None


def _host_error(error: MspError) -> RpcError:
    return errors.host_error(error.kind, error.message)
