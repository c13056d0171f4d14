"""What a turn's end and a host's failure mean to the client: a stop reason, or an error with a stable reason.

Codes never cross from one protocol to the other, since both use the same numbers for different things; a host's kind
does, as data (`acp.md §5, §14`, `msp.md §7, §12.3`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from adapter.acp import errors
from adapter.acp.text import one_line
from adapter.msp.errors import HostGone, MalformedResult, MspError, RequestTimeout
from adapter.msp.host import HostStartError
from adapter.msp.turns import TurnOutcome
from adapter.wire.envelope import RpcError

END_TURN: Final = "end_turn"
CANCELLED: Final = "cancelled"

_LIMITS: Final[dict[str, str]] = {
    "stepLimit": "max_turn_requests",
    "turnLimit": "max_turn_requests",
    "outputLimit": "max_tokens",
    "maxTokens": "max_tokens",
    "length": "max_tokens",
    "contextLimit": "max_tokens",
    "refusal": "refusal",
}
"""Words, in `error.kind` or `reason`, for ends that ACP has a stop reason for."""

_LOST_SESSION: Final = frozenset({"sessionNotFound", "sessionNotLoaded"})


def without_secrets(outcome: TurnOutcome, scrub: Callable[[str], str]) -> TurnOutcome:
    """The outcome with what the host said of a failure scrubbed."""
    error = outcome.error and msgspec.structs.replace(outcome.error, message=scrub(outcome.error.message))
    return msgspec.structs.replace(outcome, error=error, reason=outcome.reason and scrub(outcome.reason))


def stop_reason(outcome: TurnOutcome) -> str:
    """The ACP stop reason of a turn that ended without failing the prompt.

    Raises:
        RpcError: the turn failed; the text the host gave is in `data.details`.
    """
    if outcome.terminal in {"cancelled", "unqueued"}:
        return CANCELLED
    words = [word for word in (outcome.error.kind if outcome.error else None, outcome.reason) if word]
    for word in words:
        if word in _LIMITS:
            return _LIMITS[word]
    if outcome.terminal == "failed" or outcome.error is not None:
        raise _turn_failure(outcome)
    return END_TURN


def _turn_failure(outcome: TurnOutcome) -> RpcError:
    error = outcome.error
    if error is None:
        return errors.host_error(
            outcome.reason or "unknown", f"The turn failed: {outcome.reason or 'no reason was given'}"
        )
    details = error.message or error.kind
    if error.kind == "authRequired":
        return errors.auth_required(details)
    failure = errors.host_error(error.kind, details)
    if failure.data is not None and error.retryable is not None:
        failure.data["retryable"] = error.retryable
    return failure


def client_error(error: MspError | HostGone, session_id: str | None = None) -> RpcError:
    """The error a client gets for what a host did with a request made for it."""
    if isinstance(error, HostStartError):
        more = {} if error.exit_code is None else {"exitCode": error.exit_code}
        return errors.host_unavailable(error.details, error.reason, **more)
    if isinstance(error, RequestTimeout):
        return errors.host_unavailable(str(error), "hostTimeout")
    if isinstance(error, MalformedResult):
        return errors.host_error("malformedResult", str(error))
    if isinstance(error, HostGone):
        return errors.host_died(str(error))
    if error.kind == "authRequired" or error.reason == "authRequired":
        return errors.auth_required(error.message)
    if session_id is not None and error.kind in _LOST_SESSION:
        return errors.session_unknown(session_id)
    if session_id is not None and error.kind == "sessionInUse":
        return errors.session_busy(session_id, "Another process has this session open")
    failure = errors.host_error(error.kind, one_line(error.message, 500))
    if failure.data is not None:
        failure.data["retryable"] = error.retryable
        if error.reason is not None:
            failure.data["hostReason"] = error.reason
    return failure
