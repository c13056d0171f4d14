"""What is asked of a read host: checks 5 to 12 of `docs/stored-output.md`. They need no connection and no open session.

All of it runs inside `host_to_read_from`, which bounds the time and says in the words of the table how a host failed.
Whoever wants to know how far a read came is told the number of each check that has passed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import anyio

from adapter.acp.workspace import path_problem, same_directory
from adapter.bridge.host_errors import REFUSALS, UNKNOWN
from adapter.bridge.stored_output import errors
from adapter.bridge.stored_output.contract import MAX_BYTES, READ_SECONDS
from adapter.bridge.stored_output.page import page_problem, result_of
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.references import AVAILABLE, OutputRef, find_reference
from adapter.bridge.stored_output.request import ReadRequest
from adapter.bridge.stored_output.scan import BackwardScan, HistoryScan, MalformedPage
from adapter.bridge.stored_output.walk import walk
from adapter.msp.errors import HostGone, HostStartError, MalformedResult, MspError, RequestTimeout
from adapter.msp.host import Host
from adapter.wire.envelope import Params, RpcError
from host_probe import Verified, parse_server_version, verified_for_reading

Passed: TypeAlias = Callable[[int], None]

_LOST_SESSIONS: Final = {
    "sessionNotFound": errors.NOT_STORED,
    "sessionAmbiguous": "The host has more than one session by this id",
    "sessionStreamMismatch": "The host has the session by this id in another stream",
}
"""Refusals by which a session is not there, and what they mean."""


def unwatched(_check: int) -> None:
    """For reads of which only the end matters."""


@asynccontextmanager
async def host_to_read_from(
    read_host: ReadHost, startup_timeout: float, passed: Passed = unwatched
) -> AsyncIterator[Host]:
    """A ready host of a verified version (checks 5 and 6), for `READ_SECONDS`.

    Raises:
        RpcError: there is none, or it failed or took too long meanwhile.
    """
    ready: Host | None = None
    try:
        with anyio.CancelScope(deadline=anyio.current_time() + startup_timeout) as budget:
            async with read_host.use() as host:
                ready = host
                passed(5)
                budget.deadline = anyio.current_time() + READ_SECONDS
                await _require_verified(host)
                passed(6)
                yield host
    except HostStartError as error:
        raise _start_failure(error, startup_timeout) from None
    except RequestTimeout:
        if ready is not None:
            read_host.replace(ready)
        raise errors.read_timeout() from None
    except MalformedResult as error:
        raise errors.inconsistent_page(error.details) from None
    except HostGone as error:
        raise errors.host_died(error.details) from None
    if budget.cancelled_caught:
        if ready is None:
            raise errors.host_start_timeout(startup_timeout)
        read_host.replace(ready)
        raise errors.read_timeout()


async def read_page(host: Host, request: ReadRequest, workspace: str, trace: Any = None) -> Params:
    """The result of one read of a session in the folder `workspace`: checks 7 to 12.

    Raises:
        RpcError: the first check that fails.
        HostGone: no usable answer came.
    """
    return await PageRead(host, request, workspace, trace).run()


class PageRead:
    """One read, check by check, for a session in the folder `workspace`; None is wherever it is stored.

    `request`, `scan`, `stored_in`, `reference` and `page` are what has come of it so far.
    """

    def __init__(self, host: Host, request: ReadRequest, workspace: str | None, trace: Any = None) -> None:
        self.request = request
        self.scan = HistoryScan(request.session_id, request.item_id)
        self.stored_in: str | None = None
        self.reference: OutputRef | None = None
        self.page: Params | None = None
        self._host = host
        self._workspace = workspace
        self._trace = trace

    async def run(self, passed: Passed = unwatched) -> Params:
        """The result, after checks 7 to 12.

        Raises:
            RpcError, HostGone: as for `read_page`.
        """
        self.stored_in = await stored_workspace(self._host, self.request.session_id)
        if self._workspace is not None and not same_directory(self.stored_in, self._workspace):
            raise errors.workspace_mismatch()
        passed(7)
        await look_through(self._host, self.scan)
        self.reference = reference = self._choose(self.scan.item) if self.scan.item is not None else None
        if reference is None:
            raise errors.output_not_found(self.scan)
        passed(8)
        if reference.availability != AVAILABLE:
            raise errors.output_unavailable(reference.availability)
        passed(9)
        if self.request.offset > reference.byte_len:
            raise errors.offset_out_of_range(reference.byte_len)
        passed(10)
        try:
            self.page = page = await self._host.query("item/readOutput", self.request.host_params(), trace=self._trace)
        except MspError as error:
            raise _refusal(error, self.request, self.scan) from None
        passed(11)
        problem = page_problem(page, self.request, reference.byte_len)
        if problem is not None:
            raise errors.inconsistent_page(problem)
        passed(12)
        return result_of(page, self.request)

    def _choose(self, item: Params) -> OutputRef | None:
        """The output to read of the item's newest revision."""
        return find_reference(item, self.request.ref_id)


async def stored_workspace(host: Host, session_id: str) -> str:
    """The folder of a stored session; the first half of check 7.

    Raises:
        RpcError: it is not stored, or has no folder.
        HostGone: no usable answer came.
    """
    try:
        stored = await host.query("session/read", {"sessionId": session_id, "excludeItems": True})
    except MspError as error:
        meaning = _LOST_SESSIONS.get(error.kind)
        raise errors.session_not_stored(meaning) if meaning is not None else _host_error(error) from None
    session = stored.get("session")
    if not isinstance(session, dict) or session.get("sessionId") != session_id:
        raise errors.session_not_stored("The host's answer does not hold the session that it was asked for")
    root = session.get("workspaceRoot")
    if not isinstance(root, str) or path_problem(root) is not None:
        raise errors.workspace_mismatch("The stored session is in no folder that could be open")
    return root


async def look_through(host: Host, scan: BackwardScan) -> None:
    """Recent history, as far back as the scan or its budget goes.

    Raises:
        RpcError: the host refused a page, or gave none.
        HostGone: no usable answer came.
    """
    try:
        await walk(scan, host)
    except MalformedPage as error:
        raise errors.inconsistent_page(str(error)) from None
    except MspError as error:
        raise _host_error(error) from None


async def _require_verified(host: Host) -> None:
    """Check 6."""
    handshake = await host.ready()
    if not isinstance(verified_for_reading(parse_server_version(handshake.server_version)), Verified):
        raise errors.host_version_unverified(handshake.server_version)


def _start_failure(error: HostStartError, startup_timeout: float) -> RpcError:
    if error.reason == "hostStartTimeout":
        return errors.host_start_timeout(startup_timeout)
    return errors.host_start_failed(error.details, error.exit_code)


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
    told = error.data.get("retryable")
    retryable = told if isinstance(told, bool) else REFUSALS.get(error.kind, UNKNOWN).retryable
    return errors.host_error(error.kind, error.message, retryable=retryable)
