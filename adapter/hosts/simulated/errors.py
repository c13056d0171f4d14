"""The host's error vocabulary as a table (`msp.md §7`)."""

from __future__ import annotations

from typing import Any, Final

from adapter.wire.envelope import RpcError

CODES: Final[dict[str, int]] = {
    "parseError": -32700,
    "invalidRequest": -32600,
    "notInitialized": -32600,
    "alreadyInitialized": -32600,
    "methodNotFound": -32601,
    "invalidParams": -32602,
    "internal": -32603,
    "pageEventTooLarge": -32603,
    "outputResultTooLarge": -32603,
    "overloaded": -32001,
    "inputTooLarge": -32002,
    "capabilityRequired": -32010,
    "notFound": -32011,
    "sessionNotFound": -32020,
    "sessionInUse": -32021,
    "forkBoundaryInvalid": -32023,
    "sessionNotLoaded": -32024,
    "commandRejected": -32030,
    "backpressured": -32031,
    "skillNotFound": -32032,
    "uploadNotFound": -32038,
    "viewTruncated": -32040,
    "outputUnavailable": -32041,
    "noBoundary": -32042,
    "approvalNotFound": -32050,
    "approvalAlreadyResolved": -32051,
    "approvalChoiceInvalid": -32052,
    "approvalRequirementStale": -32053,
    "userInputNotFound": -32055,
    "userInputAlreadySettled": -32056,
    "userInputAnswerInvalid": -32057,
}

RETRYABLE: Final = frozenset({"overloaded", "backpressured"})


def refusal(kind: str, message: str, **data: Any) -> RpcError:
    """The error of that kind, with `data` beside `kind` and `retryable`."""
    return RpcError(CODES[kind], message, {"kind": kind, "retryable": kind in RETRYABLE, **data})


def rejected(command_id: str, reason: str) -> RpcError:
    """A command that was understood and refused; `reason` is a snake_case word."""
    return refusal("commandRejected", f"command {command_id} rejected: {reason}", commandId=command_id, reason=reason)


def invalid(field: str, problem: str) -> RpcError:
    """A parameter that is missing or has the wrong shape."""
    return refusal("invalidParams", f"{field}: {problem}", details={"field": field})
