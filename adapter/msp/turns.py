"""The life of turns: how each one ends, and that it ends once (`msp.md §12.3`)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import msgspec

# Outcomes kept for whoever asks after the fact: a turn can end before its acknowledgement is read.
REMEMBERED_OUTCOMES: Final = 1000

UNQUEUED: Final = "unqueued"
UNKNOWN_TERMINAL: Final = "unknown"
UNKNOWN_KIND: Final = "unknown"


class TurnError(msgspec.Struct, frozen=True):
    """Why a turn failed. `kind` is an open word; `retryable` is None when the host did not say."""

    kind: str
    message: str
    retryable: bool | None = None
    quota: dict[str, Any] | None = None


class TurnOutcome(msgspec.Struct, frozen=True):
    """How a turn ended.

    `terminal` is `completed`, `failed`, `cancelled`, `unqueued` (it was reclaimed and never ran), a word newer than
    this table, or `unknown` when the host named none. `finish` is why the model stopped, the last time it was asked.
    `duration_ms` is in milliseconds, `usage` as the host sent it. `untold`: it is over, and how it ended was lost.
    """

    terminal: str
    error: TurnError | None = None
    reason: str | None = None
    usage: dict[str, Any] | None = None
    duration_ms: int | None = None
    finish: str | None = None
    untold: bool = False


class TurnLedger:
    """Turns of one session by id: running, or settled with an outcome. The first terminal wins."""

    def __init__(self) -> None:
        self._running: dict[str, str | None] = {}
        self._outcomes: OrderedDict[str, TurnOutcome] = OrderedDict()
        self._retracted: OrderedDict[str, None] = OrderedDict()
        self._finishes: OrderedDict[str, str | None] = OrderedDict()

    @property
    def running(self) -> tuple[str, ...]:
        """Turns that started and have not ended, oldest first."""
        return tuple(self._running)

    @property
    def any_known(self) -> bool:
        """Whether there has been a turn."""
        return bool(self._running or self._outcomes)

    def give_up(self) -> None:
        """Nothing runs any more, whether or not the ends are told some day."""
        self._running.clear()

    def outcome(self, turn_id: str) -> TurnOutcome | None:
        return self._outcomes.get(turn_id)

    def is_retracted(self, turn_id: str) -> bool:
        """Whether the turn's user message was withdrawn; the turn still gets its own end."""
        return turn_id in self._retracted

    def start(self, turn_id: str, command_id: str | None = None) -> bool:
        """False if the turn already runs, or has ended: a late start changes nothing."""
        if turn_id in self._running or turn_id in self._outcomes:
            return False
        self._running[turn_id] = command_id
        return True

    def complete(self, params: dict[str, Any]) -> tuple[str, TurnOutcome] | None:
        """Settles the turn that `turn/completed` names, started or not.

        None if it has ended before, or if no turn is named: an end without an id must not end whatever runs.
        """
        return self._settle(params.get("turnId"), _outcome(params))

    def unqueue(self, turn_id: object) -> tuple[str, TurnOutcome] | None:
        """Settles a reclaimed turn: nothing else will ever be said about it."""
        return self._settle(turn_id, TurnOutcome(UNQUEUED))

    def finish(self, turn_id: object, reason: object) -> None:
        """Notes why the model stopped in this turn; it may be asked again, and the last reason counts."""
        if isinstance(turn_id, str):
            self._finishes[turn_id] = reason if isinstance(reason, str) else None
            if len(self._finishes) > REMEMBERED_OUTCOMES:
                self._finishes.popitem(last=False)

    def note_past(self, turn_id: object) -> None:
        """Notes a turn that was over before anybody listened: if it is told again, nothing begins."""
        if isinstance(turn_id, str) and turn_id not in self._running:
            self._settle(turn_id, TurnOutcome(UNKNOWN_TERMINAL, untold=True))

    def end_untold(self, turn_id: str) -> tuple[str, TurnOutcome] | None:
        """Settles a turn that no longer runs and whose end was lost."""
        return self._settle(turn_id, TurnOutcome(UNKNOWN_TERMINAL, untold=True))

    def retract(self, turn_id: object, outcome: object = None) -> bool:
        """Notes a withdrawn user message; False if the host declined. Not a terminal."""
        if not isinstance(turn_id, str) or outcome == "declined":
            return False
        self._retracted[turn_id] = None
        if len(self._retracted) > REMEMBERED_OUTCOMES:
            self._retracted.popitem(last=False)
        return True

    def _settle(self, turn_id: object, outcome: TurnOutcome) -> tuple[str, TurnOutcome] | None:
        if not isinstance(turn_id, str) or not turn_id or turn_id in self._outcomes:
            return None
        self._running.pop(turn_id, None)
        outcome = msgspec.structs.replace(outcome, finish=self._finishes.pop(turn_id, None))
        self._outcomes[turn_id] = outcome
        if len(self._outcomes) > REMEMBERED_OUTCOMES:
            self._outcomes.popitem(last=False)
        return turn_id, outcome


def _outcome(params: dict[str, Any]) -> TurnOutcome:
    terminal, reason = params.get("terminal"), params.get("reason")
    usage, duration = params.get("usage"), params.get("durationMs")
    return TurnOutcome(
        terminal=terminal if isinstance(terminal, str) and terminal else UNKNOWN_TERMINAL,
        error=turn_error(params.get("error")),
        reason=reason if isinstance(reason, str) else None,
        usage=usage if isinstance(usage, dict) else None,
        duration_ms=duration if isinstance(duration, int) and not isinstance(duration, bool) else None,
    )


def turn_error(error: object) -> TurnError | None:
    """Reads the `error` of `turn/completed` or of `lastTurn`, whatever of it is there; it may be a text alone."""
    if isinstance(error, str) and error:
        return TurnError(UNKNOWN_KIND, error)
    if not isinstance(error, dict):
        return None
    kind, message = error.get("kind"), error.get("message")
    retryable, quota = error.get("retryable"), error.get("quota")
    return TurnError(
        kind=kind if isinstance(kind, str) and kind else UNKNOWN_KIND,
        message=message if isinstance(message, str) else "",
        retryable=retryable if isinstance(retryable, bool) else None,
        quota=quota if isinstance(quota, dict) else None,
    )
