"""What every way a host can fail means to a client, as data: a code, a reason, whether trying again helps, and a
sentence for people (`msp.md §7, §12.3, §23.2`, `acp.md §14`).

Codes never cross from one protocol to the other, since both use the same numbers for different things. A reason of
its own is for what a client can act upon; everything else is `hostError` with the host's kind beside it.
`docs/errors.md` shows these tables; `make docs` writes them there.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from adapter.acp.errors import AUTH_REQUIRED, REQUEST_CANCELLED, RESOURCE_NOT_FOUND
from adapter.wire.envelope import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST


class Meaning(NamedTuple):
    """One failure in the client's terms. `retryable`: whether the same request may do better later, unless the host
    says otherwise."""

    code: int
    message: str
    reason: str
    retryable: bool
    sentence: str


_REPORTED: Final = "The Muse host reported an error"
_NOT_FOUND: Final = "Session not found"


def _told(sentence: str, *, retryable: bool = False) -> Meaning:
    """A failure in the host's own words; `sentence` is for when it has none."""
    return Meaning(INTERNAL_ERROR, _REPORTED, "hostError", retryable, sentence)


def _unsupported(sentence: str) -> Meaning:
    return Meaning(INTERNAL_ERROR, "Muse cannot do this", "unsupportedByHost", False, sentence)


def _too_busy(sentence: str) -> Meaning:
    return Meaning(INTERNAL_ERROR, "The Muse host is overloaded", "hostOverloaded", True, sentence)


def _history(sentence: str) -> Meaning:
    return Meaning(INTERNAL_ERROR, "The history cannot be read", "historyUnavailable", False, sentence)


def _lost(sentence: str) -> Meaning:
    return Meaning(RESOURCE_NOT_FOUND, _NOT_FOUND, "sessionUnknown", False, sentence)


def _taken_back(sentence: str) -> Meaning:
    return Meaning(REQUEST_CANCELLED, "Request cancelled", "cancelled", False, sentence)


def _unavailable(reason: str, sentence: str, *, retryable: bool = False) -> Meaning:
    return Meaning(INTERNAL_ERROR, "The Muse host is not available", reason, retryable, sentence)


LOGIN: Final = Meaning(AUTH_REQUIRED, "Authentication required", "authRequired", False, "Muse needs a login")

UNKNOWN: Final = _told("The Muse host refused without saying why")
"""Of a kind that is in no table: the vocabulary of a host is open."""

REFUSALS: Final[dict[str, Meaning]] = {
    "parseError": _told("The Muse host could not read a message of the adapter"),
    "invalidRequest": _told("The Muse host did not take a message of the adapter"),
    "notInitialized": _told("The Muse host had not been greeted yet"),
    "alreadyInitialized": _told("The Muse host had been greeted before"),
    "methodNotFound": _unsupported("This version of Muse does not have what was asked for"),
    "experimentalRequired": _unsupported("This version of Muse has it as an experiment only"),
    "capabilityRequired": _unsupported("This Muse host did not grant what the request needs"),
    "computerUseUnavailable": _unsupported("This Muse host has no computer use"),
    "invalidParams": _told("The Muse host did not accept a value"),
    "internal": _told("The Muse host failed"),
    "pageEventTooLarge": _history("One event of the history is too large for a message of the host"),
    "outputResultTooLarge": _history("The piece of output is too large for a message of the host"),
    "overloaded": _too_busy("The Muse host takes nothing more at the moment; try again soon"),
    "backpressured": _too_busy("The session takes nothing more at the moment; try again soon"),
    "inputTooLarge": Meaning(
        INVALID_PARAMS, "Too large", "inputTooLarge", False, "The request is larger than the Muse host takes"
    ),
    "notFound": _told("The Muse host does not know what the request names"),
    "interrupted": _taken_back("The Muse host gave the request up when a turn was stopped"),
    "cancelled": _taken_back("The Muse host gave the request up"),
    "sessionNotFound": _lost("Muse has no such session"),
    "sessionNotLoaded": _lost("The Muse host has not loaded the session"),
    "sessionInUse": Meaning(
        INVALID_REQUEST,
        "Session is in use",
        "sessionInUse",
        True,
        "Another program has this session open; close it there, then try again",
    ),
    "sessionBusy": Meaning(
        INVALID_REQUEST,
        "Session is busy",
        "sessionBusy",
        True,
        "The Muse host is busy with the session; try again in a moment",
    ),
    "sessionAmbiguous": Meaning(
        INTERNAL_ERROR,
        "Session is ambiguous",
        "sessionAmbiguous",
        False,
        "Muse has stored several sessions under this id",
    ),
    "sessionStreamMismatch": Meaning(
        INTERNAL_ERROR,
        "Session is damaged",
        "sessionStreamMismatch",
        False,
        "What Muse has stored under this id belongs to another session",
    ),
    "forkBoundaryInvalid": Meaning(
        INVALID_PARAMS,
        "Invalid parameters",
        "forkBoundaryInvalid",
        False,
        "The conversation cannot be forked behind this turn",
    ),
    "commandRejected": _told("The Muse host rejected the command"),
    "skillNotFound": Meaning(INVALID_PARAMS, "Skill not found", "skillNotFound", False, "Muse has no such skill"),
    "marketplaceNotFound": _told("Muse knows no such marketplace"),
    "pluginNotFound": _told("Muse has no such plugin"),
    "marketplaceAlreadyExists": _told("Muse knows this marketplace already"),
    "pluginMutationsDisabled": _told("Muse does not let plugins be changed"),
    "uploadNotFound": _told("The Muse host has no such upload"),
    "viewTruncated": _history("The Muse host no longer has this part of the history"),
    "outputUnavailable": _history("The Muse host has no bytes for this output"),
    "boundaryPruned": _history("The Muse host no longer has the history from here on"),
    "boundaryUnusable": _history("The Muse host cannot read the history from here on"),
    "noBoundary": _history("The history has no such mark"),
    "approvalNotFound": _told("The Muse host has no such question open"),
    "approvalAlreadyResolved": _told("The question has been decided already"),
    "approvalChoiceInvalid": _told("The Muse host did not offer this decision"),
    "approvalRequirementStale": _told("The question has changed since it was shown"),
    "approvalReviewerUnavailable": _told("Muse's own reviewer cannot decide now"),
    "userInputNotFound": _told("The Muse host has no such question open"),
    "userInputAlreadySettled": _told("The question has been answered already"),
    "userInputAnswerInvalid": _told("The answer does not fit the question"),
    "authRequired": LOGIN,
}
"""Error answers, by kind."""

TURNS: Final[dict[str, Meaning]] = {
    "authRequired": LOGIN,
    "modelError": Meaning(INTERNAL_ERROR, "The model failed", "hostError", False, "The model failed"),
    "configError": _told("Muse's settings do not allow the turn to run"),
    "environmentError": _told("Something on this machine keeps the turn from running"),
    "mcpLinkError": _told("An MCP server the session needs cannot be reached", retryable=True),
    "launchError": _told("The turn could not be started", retryable=True),
    "workflowLaunchError": _told("A workflow of the turn could not be started"),
    "projectionError": _told("Muse could not put the conversation together for the model"),
    "logError": _told("Muse could not store what happened"),
    "crash": _told("The turn was lost when a Muse host crashed", retryable=True),
    "crash_inferred": _told("The turn was lost when a Muse host crashed", retryable=True),
    "incomplete": _told("The turn was lost when a Muse host ended", retryable=True),
}
"""Turns that failed, by `error.kind`, or by `reason` where a host that died left no error. The kinds that ACP has a
stop reason for are in `outcomes`."""

FAILED_TURN: Final = _told("The turn failed, and the Muse host did not say why")
"""Of a kind that is in no table."""

_WORKED_ON: Final = Meaning(
    INVALID_REQUEST, "Session is busy", "sessionBusy", True, "Something still works on the session; try again later"
)

DELETIONS: Final[dict[str, Meaning]] = {
    "writerBusy": _WORKED_ON,
    "runtime_busy": _WORKED_ON,
    "sessionBusy": _WORKED_ON,
    "sessionInUse": REFUSALS["sessionInUse"],
    "ownershipUnavailable": _told(
        "Muse deletes only what its running host has started; this session is older, or a copy, or another host's"
    ),
    "cleanupIncomplete": _told("Muse has deleted the session only in part"),
}
"""Sessions that were not deleted, by the host's reason (`peers.md §7`)."""

FAILED_DELETION: Final = _told("The Muse host did not delete the session")
"""For a reason that is in no table."""

ENDS: Final[dict[str, Meaning]] = {
    "museNotFound": _unavailable("museNotFound", "There is no Muse; what was tried is listed"),
    "hostStartFailed": _unavailable("hostStartFailed", "Muse was started and ended, or could not be executed"),
    "hostStartTimeout": _unavailable(
        "hostStartTimeout", "Muse did not become ready in time (`--startup-timeout`)", retryable=True
    ),
    "hostRestartLimit": _unavailable(
        "hostRestartLimit", "Muse ended too often in the last minutes; it is started again later", retryable=True
    ),
    "hostTimeout": _unavailable("hostTimeout", "The host did not answer one request in time", retryable=True),
    "turnEndUnknown": Meaning(
        INTERNAL_ERROR,
        "What became of the turn was not told",
        "turnEndUnknown",
        False,
        "Messages of the host were lost, and with them what became of the turn; it no longer runs",
    ),
    "turnStuck": Meaning(
        INTERNAL_ERROR,
        "The session is held up",
        "turnStuck",
        True,
        "A turn that was stopped has not ended, and Muse begins no other one in this session; try again, or go on in "
        "another session",
    ),
    "hostDied": Meaning(
        INTERNAL_ERROR,
        "The Muse host ended",
        "hostDied",
        True,
        "The host ended while it worked on this; the next prompt starts another. Not worth a retry if a question was "
        "open, or the prompt was waiting for its turn: the question is asked again, and Muse may still run the prompt",
    ),
    "malformedResult": _told("The host's answer cannot be read"),
    "modeUnavailable": Meaning(
        INVALID_PARAMS,
        "Muse cannot do this",
        "modeUnavailable",
        False,
        "Muse cannot run the session without its own tools for writing and running",
    ),
    "allowAllNotAllowed": Meaning(
        INVALID_REQUEST,
        "Everything would be allowed",
        "allowAllNotAllowed",
        False,
        "The session allows everything without asking, which needs `--allow-all`, and Muse did not change that",
    ),
    "hostBusy": Meaning(
        INVALID_REQUEST,
        "The Muse host is busy",
        "hostBusy",
        True,
        "The session must move to another host, and something still runs where it is",
    ),
    "sessionLost": Meaning(
        RESOURCE_NOT_FOUND,
        "The session is lost",
        "sessionLost",
        False,
        "Muse ended and does not have the session any more",
    ),
}
"""Hosts that gave no usable answer, by what became of them."""

EXITS_WORTH_A_RETRY: Final = frozenset({"resume", "afterHolderExits"})
"""What an exit has to say about trying again for a failed start to be worth it (`adapter.msp.errors.ExitClass`)."""
