"""What a turn's end and a host's failure mean to the client: a stop reason, or an error with a stable reason.

Codes never cross from one protocol to the other, since both use the same numbers for different things; a host's kind
does, as data (`acp.md §5, §14`, `msp.md §7, §12.3`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from adapter.acp import errors
from adapter.acp.text import one_line
from adapter.bridge.host_errors import (
    DELETIONS,
    ENDS,
    EXITS_WORTH_A_RETRY,
    FAILED_DELETION,
    FAILED_TURN,
    LOGIN,
    REFUSALS,
    TURNS,
    UNKNOWN,
    Meaning,
)
from adapter.msp.errors import (
    HostGone,
    HostStartError,
    MalformedResult,
    MspError,
    RequestTimeout,
    SessionUnreachable,
    exit_class,
)
from adapter.msp.turns import UNKNOWN_KIND, TurnError, TurnOutcome
from adapter.wire.envelope import Params, RpcError

END_TURN: Final = "end_turn"
CANCELLED: Final = "cancelled"

TURN_KEY: Final = "muse/turn"
"""The key in `_meta` of a prompt's result under which an end stands that is none of ours."""

_LIMITS: Final[dict[str, str]] = {
    "stepLimit": "max_turn_requests",
    "turnLimit": "max_turn_requests",
    "tooManySteps": "max_turn_requests",
    "tooManyTurns": "max_turn_requests",
    "maxSteps": "max_turn_requests",
    "maxTurns": "max_turn_requests",
    "maxTurnRequests": "max_turn_requests",
    "outputLimit": "max_tokens",
    "tokenLimit": "max_tokens",
    "maxTokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "length": "max_tokens",
    "contextLimit": "max_tokens",
    "refusal": "refusal",
    "contentFilter": "refusal",
}
"""What a host calls ends that ACP has a stop reason for. Case, spaces, `_` and `-` do not count."""

_WORD: Final = re.compile(r"[\w.:/-]{1,80}")
"""A kind; what a host says to people is more than one word."""

_FAILURES: Final = frozenset({"failed", "error"})
"""Terminals of a turn that failed, whatever else is said of it; compared as the words above."""

_OPEN_FAILURES: Final = frozenset({UNKNOWN_KIND, "modelError"})
"""Kinds of failures that the model's own reason for stopping explains, if it gave one."""

_BETWEEN_WORDS: Final = re.compile(r"[\s_-]+")


def _plain(word: str) -> str:
    return _BETWEEN_WORDS.sub("", word).casefold()


_LIMIT_OF: Final = {_plain(word): reason for word, reason in _LIMITS.items()}

LOGIN_ADVICE: Final = "log in with `muse-adapter login` in a terminal, then try again"

WORDS_LENGTH: Final = 500
"""Characters of a host's words in an error."""


def without_secrets(outcome: TurnOutcome, scrub: Callable[[str], str]) -> TurnOutcome:
    """The outcome with what the host said of a failure scrubbed."""
    error = outcome.error and msgspec.structs.replace(
        outcome.error, kind=scrub(outcome.error.kind), message=scrub(outcome.error.message)
    )
    return msgspec.structs.replace(outcome, error=error, reason=outcome.reason and scrub(outcome.reason))


def stop_reason(outcome: TurnOutcome) -> str:
    """The ACP stop reason of a turn that ended without failing the prompt.

    Raises:
        RpcError: the turn failed; the text the host gave is in `data.details`.
    """
    if outcome.terminal in {"cancelled", "unqueued"}:
        return CANCELLED
    if outcome.untold:
        raise _ended(ENDS["turnEndUnknown"], ENDS["turnEndUnknown"].sentence)
    limit = _told_limit(outcome) or _models_limit(outcome)
    if limit is not None:
        return limit
    if outcome.error is not None or _plain(outcome.terminal) in _FAILURES:
        raise _turn_failure(outcome)
    return END_TURN


def _told_limit(outcome: TurnOutcome) -> str | None:
    """The stop reason for what the host says of the end."""
    error = outcome.error
    said = (outcome.reason,) if error is None else (error.kind, error.message, outcome.reason)
    return next((limit for word in said if word and (limit := _LIMIT_OF.get(_plain(word)))), None)


def _models_limit(outcome: TurnOutcome) -> str | None:
    """The stop reason for why the model stopped, unless the turn failed for another reason."""
    error = outcome.error
    explained = (
        outcome.reason in TURNS if error is None else error.kind not in _OPEN_FAILURES or error.quota is not None
    )
    return None if explained or outcome.finish is None else _LIMIT_OF.get(_plain(outcome.finish))


def turn_result(outcome: TurnOutcome) -> Params:
    """The result of a prompt whose turn ended so. What the host said of the end stands beside it where the stop reason
    does not say that (`fault-cases.md H4`).

    Raises:
        RpcError: as for `stop_reason`.
    """
    stopped = stop_reason(outcome)
    result: Params = {"stopReason": stopped}
    words = _text_of(outcome) or outcome.reason
    if stopped != CANCELLED and _told_limit(outcome) is None and (outcome.terminal != "completed" or words):
        said = {"terminal": one_line(outcome.terminal, WORDS_LENGTH)}
        if words:
            said["reason"] = one_line(words, WORDS_LENGTH)
        result["_meta"] = {TURN_KEY: said}
    return result


def _turn_failure(outcome: TurnOutcome) -> RpcError:
    """The kind is that of the error, else the reason, if that is a word."""
    error = outcome.error or TurnError(outcome.reason or UNKNOWN_KIND, "")
    kind = error.kind if _WORD.fullmatch(error.kind) else UNKNOWN_KIND
    meaning = TURNS.get(kind, FAILED_TURN)
    words = _text_of(outcome)
    if not words and meaning is FAILED_TURN and kind != UNKNOWN_KIND:
        words = f"The turn failed: {kind}"
    return _failure(meaning, words, error.retryable, hostKind=kind)


def _text_of(outcome: TurnOutcome) -> str:
    """What the host says to people of the end; some put it where a word should be."""
    message, kind = (outcome.error.message, outcome.error.kind) if outcome.error else ("", "")
    texts = [
        text for text in (message, outcome.reason, kind) if text and (text is message or not _WORD.fullmatch(text))
    ]
    return ": ".join(text for at, text in enumerate(texts) if not any(text in before for before in texts[:at]))


def client_error(error: MspError | HostGone, session_id: str | None = None) -> RpcError:
    """The error a client gets for what a host did with a request made for it."""
    if isinstance(error, MspError):
        return _refusal(error, session_id)
    more: dict[str, Any]
    if isinstance(error, HostStartError):
        exit_code = error.exit_code
        retryable = None if exit_code is None else exit_class(exit_code).retry_posture in EXITS_WORTH_A_RETRY
        more = {} if exit_code is None else {"exitCode": exit_code}
        return _ended(ENDS[error.reason], error.details, retryable, **more)
    if isinstance(error, SessionUnreachable):
        more = {} if session_id is None else {"sessionId": session_id}
        return _ended(ENDS[error.reason], error.details, **more)
    if isinstance(error, RequestTimeout):
        return _ended(ENDS["hostTimeout"], str(error))
    if isinstance(error, MalformedResult):
        return _ended(ENDS["malformedResult"], str(error), hostKind="malformedResult")
    return _ended(ENDS["hostDied"], error.details)


def died_asking(error: HostGone) -> RpcError:
    """The error of a prompt whose host died while a question of its turn was open: the next host asks it again, and
    goes on with the turn when it is answered."""
    again = "its question is asked again, and Muse may go on with this prompt when that is answered; do not repeat it"
    return _ended(ENDS["hostDied"], f"{error.details}; {again}", retryable=False)


def died_queued(error: HostGone) -> RpcError:
    """The error of a prompt that its host had taken in and not begun: nothing that was taken in is lost, so the next
    host may run it (`msp.md §23.4`)."""
    again = "Muse had taken this prompt in and may run it when the session goes on; look there before you repeat it"
    return _ended(ENDS["hostDied"], f"{error.details}; {again}", retryable=False)


def turn_stuck(session_id: str) -> RpcError:
    """The error of a prompt that waits for a turn which was stopped and does not end."""
    meaning = ENDS["turnStuck"]
    return _ended(meaning, meaning.sentence, sessionId=session_id)


def not_deleted(reason: str, session_id: str) -> RpcError:
    """The error of a deletion that the host has not done, for this reason of its own."""
    meaning = DELETIONS.get(reason, FAILED_DELETION)
    more: dict[str, Any] = {"hostKind": reason} if meaning.reason == "hostError" else {"sessionId": session_id}
    return _ended(meaning, meaning.sentence, **more)


def _refusal(error: MspError, session_id: str | None) -> RpcError:
    kind = "authRequired" if error.reason == "authRequired" else error.kind
    meaning = REFUSALS.get(kind, UNKNOWN)
    if meaning.reason == "sessionUnknown":
        if session_id is not None:
            return errors.session_unknown(session_id)
        # Nothing the client has named.
        meaning = UNKNOWN
    more: dict[str, Any] = {"hostKind": error.kind}
    if error.reason is not None:
        more["hostReason"] = error.reason
    if session_id is not None and meaning.reason.startswith("session"):
        more = {"sessionId": session_id}
    limit = error.data.get("limitBytes")
    if meaning.reason == "inputTooLarge" and isinstance(limit, int):
        more["limitBytes"] = limit
    told = error.data.get("retryable")
    words = "" if error.message == error.kind else error.message
    return _failure(meaning, words, told if isinstance(told, bool) else None, **more)


def _failure(meaning: Meaning, words: str, retryable: bool | None = None, **more: Any) -> RpcError:
    """An error with the host's words, and its word on trying again: alone where only the host knows what is wrong,
    else the words behind ours."""
    words = one_line(words, WORDS_LENGTH)
    if meaning is LOGIN:
        return _ended(meaning, f"{words or meaning.sentence}; {LOGIN_ADVICE}", **more)
    if meaning.reason == "hostError":
        return _ended(meaning, words or meaning.sentence, retryable, **more)
    return _ended(meaning, ": ".join(part for part in (meaning.sentence, words) if part), **more)


def _ended(meaning: Meaning, details: str, retryable: bool | None = None, **more: Any) -> RpcError:
    again = meaning.retryable if retryable is None else retryable
    return errors.error_of(meaning.code, meaning.message, meaning.reason, details, retryable=again, **more)
