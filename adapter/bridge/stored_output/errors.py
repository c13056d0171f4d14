"""What a read can fail with: one function per row of the check table, in its order (`docs/stored-output.md`)."""

from __future__ import annotations

from typing import Final

from adapter.acp.errors import REQUEST_CANCELLED, RESOURCE_NOT_FOUND, error_of
from adapter.bridge.host_errors import EXITS_WORTH_A_RETRY
from adapter.bridge.stored_output.contract import READ_SECONDS
from adapter.bridge.stored_output.scan import HistoryScan
from adapter.msp.errors import exit_class
from adapter.wire.envelope import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from host_probe import releases_verified_for_reading

_NO_METHOD: Final = "Stored output cannot be read"
_NOT_FOUND: Final = "Output not found"
_FAILED: Final = "The output could not be read"

NOT_STORED: Final = "The host has not stored this session"


def not_negotiated() -> RpcError:
    """Check 1: the client did not ask for the extension at `initialize`."""
    details = 'The client did not send clientCapabilities._meta["muse/output"] = 1 at initialize'
    return error_of(METHOD_NOT_FOUND, _NO_METHOD, "outputNotNegotiated", details)


def not_advertised(host_version: str | None) -> RpcError:
    """Check 2: reading has not been verified on this host."""
    where = ", ".join(releases_verified_for_reading())
    details = f"Reading is verified on Muse {where} only; this host is {host_version or 'of unknown version'}"
    return error_of(METHOD_NOT_FOUND, _NO_METHOD, "outputNotAdvertised", details, hostVersion=host_version)


def session_refused(reason: str, session_id: str) -> RpcError:
    """Check 4: `sessionUnknown`, `sessionClosed` or `sessionBusy`."""
    details = {
        "sessionUnknown": "There is no such session on this connection; load it first",
        "sessionClosed": "The session has been closed; load it again first",
        "sessionBusy": "The session is being loaded",
    }[reason]
    return error_of(RESOURCE_NOT_FOUND, "Session not available", reason, details, sessionId=session_id)


def host_start_timeout(seconds: float) -> RpcError:
    """Check 5: no read host within the start-up budget."""
    details = f"The read host was not ready within {seconds:g} s"
    return error_of(INTERNAL_ERROR, _FAILED, "hostStartTimeout", details, retryable=True, budgetSeconds=seconds)


def host_start_failed(details: str, exit_code: int | None) -> RpcError:
    """Check 5: the read host did not start."""
    again = exit_code is not None and exit_class(exit_code).retry_posture in EXITS_WORTH_A_RETRY
    return error_of(INTERNAL_ERROR, _FAILED, "hostStartFailed", details, retryable=again, exitCode=exit_code)


def host_version_unverified(host_version: str) -> RpcError:
    """Check 6: another version answered the handshake than the file promised."""
    details = f"The read host says it is {host_version or 'of unknown version'}, which is not verified for reading"
    return error_of(INTERNAL_ERROR, _FAILED, "hostVersionUnverified", details, hostVersion=host_version)


def session_not_stored(details: str = NOT_STORED) -> RpcError:
    """Check 7: the host has no such session in its store, or does not say which it has."""
    return error_of(RESOURCE_NOT_FOUND, _NOT_FOUND, "sessionNotStored", details)


def workspace_mismatch(details: str = "The stored session belongs to another folder than the open one") -> RpcError:
    """Check 7: the stored session belongs to another folder, or to none."""
    return error_of(RESOURCE_NOT_FOUND, _NOT_FOUND, "workspaceMismatch", details)


def output_not_found(scan: HistoryScan) -> RpcError:
    """Check 8: bounded history does not show this reference at this item's newest revision."""
    if scan.item is not None:
        details = "The item's newest revision has no such output"
    elif scan.exhausted:
        details = "The session's history has no such item"
    else:
        details = f"The item was not found in the newest {scan.events} events of the session"
    more = {"pagesScanned": scan.pages, "eventsScanned": scan.events, "historyExhausted": scan.exhausted}
    return error_of(RESOURCE_NOT_FOUND, _NOT_FOUND, "outputNotFound", details, **more)


def output_unavailable(availability: str) -> RpcError:
    """Checks 9 and 11: the host has no bytes for it."""
    details = f"The host says the output is {availability}"
    return error_of(RESOURCE_NOT_FOUND, _NOT_FOUND, "outputUnavailable", details, availability=availability)


def offset_out_of_range(byte_len: int) -> RpcError:
    """Check 10: the offset lies beyond the end."""
    details = f"offsetBytes is beyond the output's {byte_len} bytes"
    return error_of(INVALID_PARAMS, "Offset out of range", "offsetOutOfRange", details, byteLen=byte_len)


def offset_inside_character(aligned_next: int | None) -> RpcError:
    """Check 11: the offset cuts a character in two."""
    more = {} if aligned_next is None else {"alignedNextOffset": aligned_next}
    details = "offsetBytes is inside a character"
    return error_of(INVALID_PARAMS, "Offset inside a character", "offsetInsideCharacter", details, **more)


def piece_too_large() -> RpcError:
    """Check 11: the host cannot put this piece into a frame."""
    details = "The host cannot send a piece this long; ask for less"
    return error_of(INTERNAL_ERROR, _FAILED, "pieceTooLarge", details, retryable=False)


def host_error(kind: str, details: str, *, retryable: bool = False) -> RpcError:
    """Check 11: any other refusal of the host."""
    return error_of(INTERNAL_ERROR, _FAILED, "hostError", details, retryable=retryable, hostKind=kind)


def inconsistent_page(problem: str) -> RpcError:
    """Check 12: the host's page contradicts itself or the request."""
    details = f"The host's page cannot be trusted: {problem}"
    return error_of(INTERNAL_ERROR, _FAILED, "inconsistentPage", details, retryable=False, problem=problem)


def read_timeout() -> RpcError:
    """Checks 7 to 12 took too long together."""
    details = f"The read was not done within {READ_SECONDS:g} s"
    return error_of(INTERNAL_ERROR, _FAILED, "readTimeout", details, retryable=True, budgetSeconds=int(READ_SECONDS))


def host_died(details: str) -> RpcError:
    """The read host ended during the read; the next read gets another one."""
    return error_of(INTERNAL_ERROR, _FAILED, "hostDied", details, retryable=True)


def ended_early(reason: str) -> RpcError:
    """Check 13 and every early end: `sessionClosed`, `cancelled` or `adapterStopping`."""
    details = {
        "sessionClosed": "The session was closed or opened anew during the read",
        "cancelled": "The request was cancelled",
        "adapterStopping": "The adapter is stopping",
    }[reason]
    return error_of(REQUEST_CANCELLED, "Request cancelled", reason, details)
