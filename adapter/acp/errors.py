"""Every error a client can see, by name (`acp.md §14`).

The message is one short sentence, `data.reason` a stable word for programs, `data.details` a short text for people,
which is what clients show. Nothing the client sent is repeated except the names of fields and methods and the ids it
needs to tell its requests apart: parameters hold tokens, and errors end up in logs.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.acp.text import one_line
from adapter.wire import envelope
from adapter.wire.envelope import RpcError

AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
REQUEST_CANCELLED: Final = -32800

MAX_DETAILS = 2000
"""Characters of `data.details`; clients show it in a line or a small box, and most are a sentence. The longest lists
every place where Muse was looked for."""


def invalid_params(field: str, problem: str) -> RpcError:
    """`field` is the path of a parameter (`prompt[2].uri`), `problem` what is wrong with it, without its value."""
    return error_of(
        envelope.INVALID_PARAMS,
        "Invalid parameters",
        "invalidParams",
        f"{field}: {problem}" if field else problem,
        field=field,
    )


def not_initialized() -> RpcError:
    """A request came before a successful `initialize`."""
    return error_of(envelope.INVALID_REQUEST, "Not initialized", "notInitialized", "Send initialize first")


def method_not_found(method: str) -> RpcError:
    """The method is unknown here, or belongs to a capability that was not advertised."""
    return error_of(
        envelope.METHOD_NOT_FOUND, "Method not found", "methodNotFound", f"There is no method {one_line(method, 100)}"
    )


def auth_required(details: str) -> RpcError:
    """There is no login, or it has run out; used for nothing else (`fault-cases.md O9`)."""
    return error_of(AUTH_REQUIRED, "Authentication required", "authRequired", details)


def session_unknown(session_id: str) -> RpcError:
    """There is no such session, here or on the host."""
    return error_of(
        RESOURCE_NOT_FOUND, "Session not found", "sessionUnknown", "There is no such session", sessionId=session_id
    )


def session_closed(session_id: str) -> RpcError:
    """The session was there and is not open any more."""
    return error_of(
        RESOURCE_NOT_FOUND, "Session not found", "sessionClosed", "The session has been closed", sessionId=session_id
    )


def session_busy(session_id: str, details: str) -> RpcError:
    """The session exists, but what it is doing now does not go together with the request; later that may be over."""
    return error_of(
        envelope.INVALID_REQUEST, "Session is busy", "sessionBusy", details, retryable=True, sessionId=session_id
    )


def too_many_sessions(limit: int) -> RpcError:
    """One more would be too many."""
    details = f"{limit} sessions are open; close some, or restart the agent"
    return error_of(
        envelope.INVALID_REQUEST, "Too many sessions", "tooManySessions", details, limit=limit, retryable=False
    )


def host_error(host_kind: str, details: str) -> RpcError:
    """What a host did cannot be used; `host_kind` is a word for it. Trying again is not known to help."""
    return error_of(
        envelope.INTERNAL_ERROR,
        "The Muse host reported an error",
        "hostError",
        details,
        retryable=False,
        hostKind=host_kind,
    )


def request_cancelled(reason: str = "cancelled", details: str = "The request was cancelled") -> RpcError:
    """The client took the request back, its session was closed, or the adapter stops."""
    return error_of(REQUEST_CANCELLED, "Request cancelled", reason, details)


def internal_error(details: str = "See the log on stderr", reason: str = "internal") -> RpcError:
    """The adapter's own failure."""
    return error_of(envelope.INTERNAL_ERROR, "Internal error", reason, details)


def error_of(code: int, message: str, reason: str, details: str, **more: Any) -> RpcError:
    return RpcError(code, message, {"reason": reason, "details": one_line(details, MAX_DETAILS), **more})
