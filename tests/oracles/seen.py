"""What was seen on the wires of a running adapter, and what of it breaks the rules that hold whatever happens: every
request is answered once, and consent is never invented (`design.md` rules 4, 5, 6 and 11).

Nothing of the adapter is used here. What crosses on the way is judged in the adapter's favour: a frame is seen when it
passes the side that is watched, which is later than it was written.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

Json = dict[str, Any]

_Key = tuple[type, Any]
"""An id with its type."""

LONGEST_ID: Final = 1024
"""Characters of an id that can still be named in an answer; a longer one is answered with null."""

UNREADABLE: Final = frozenset({-32700, -32600})
"""The codes of an answer that names no request: the line was none that could be read."""

CANCEL: Final = "$/cancel_request"


class Seen(msgspec.Struct, frozen=True):
    """One frame as it passed. `at` is `time.monotonic_ns()`, one clock for all processes; `connection` tells the hosts
    of one run apart."""

    at: int
    side: Literal["client", "host"]
    connection: str
    from_adapter: bool
    frame: Any

    def line(self) -> bytes:
        """It as a line of a log."""
        return msgspec.json.encode(self) + b"\n"


def read_seen(*paths: Path) -> list[Seen]:
    """The frames of some logs, in the order in which they passed; a last line that is not whole is left out, as whoever
    wrote it may have been killed."""
    lines = [line for path in paths for line in path.read_bytes().split(b"\n")[:-1]]
    return sorted((msgspec.json.decode(line, type=Seen) for line in lines), key=lambda seen: seen.at)


# -- answers


class Answers:
    """The requests to the adapter and its answers, one frame after the other; what is wrong is in `found`."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._waiting: defaultdict[str, set[_Key]] = defaultdict(set)
        self._repeated: defaultdict[str, Counter[_Key]] = defaultdict(Counter)
        """Asked under the id of a request that was open. Whether that was still so when it was read, nobody can see:
        it is answered under the id, or with null."""
        self._answered: defaultdict[str, set[_Key]] = defaultdict(set)
        self._asked_at: defaultdict[str, dict[_Key, int]] = defaultdict(dict)
        self._heard_at: dict[str, int] = {}
        """When the peer was last heard."""

    def take(self, seen: Seen) -> None:
        """The next frame."""
        place, frame = f"{seen.side} {seen.connection}", seen.frame
        if not isinstance(frame, dict):
            return
        key = _key(frame)
        if not seen.from_adapter:
            self._heard_at[place] = seen.at
            # What a host sends under an id without a method is an answer, if a bad one.
            if key is not None and not _is_response(frame) and (seen.side == "client" or "method" in frame):
                self._asked_at[place].setdefault(key, seen.at)
                if key in self._waiting[place]:
                    self._repeated[place][key] += 1
                self._waiting[place].add(key)
        elif _is_response(frame):
            problem = self._problem(place, frame, key)
            if problem is not None:
                self.found.append(f"{place}: {problem}: {_short(frame)}")

    def unanswered(self, ended: Collection[str] = (), patience: float = math.inf) -> list[str]:
        """Requests that have no answer yet. Of connections whose peer has gone only those after which the peer was
        heard for so many seconds more: they had their time."""
        return [
            f"{place}: request {key[1]!r} was not answered"
            for place, keys in self._waiting.items()
            for key in keys
            if place.partition(" ")[2] not in ended
            or self._heard_at[place] - self._asked_at[place][key] > patience * 1_000_000_000
        ]

    def _problem(self, place: str, frame: Json, key: _Key | None) -> str | None:
        """What is wrong with an answer of the adapter."""
        if ("result" in frame) == ("error" in frame):
            return "an answer has either a result or an error"
        if key is None:
            error = frame.get("error")
            unreadable = isinstance(error, dict) and error.get("code") in UNREADABLE and frame.get("id", 0) is None
            return None if unreadable else "a notification was answered"
        if key in self._waiting[place]:
            self._waiting[place].discard(key)
            self._asked_at[place].pop(key, None)
        elif self._repeated[place][key]:
            self._repeated[place][key] -= 1
        else:
            return "a request was answered twice" if key in self._answered[place] else "an answer without request"
        self._answered[place].add(key)
        return None


def wrong_answers(seen: Sequence[Seen], *, ended: Collection[str] = (), patience: float = math.inf) -> list[str]:
    """Requests to the adapter without answer, and answers of the adapter without request. `ended` are the connections
    whose peer had gone before everything could be answered; what it waited for longer than `patience` is wrong all the
    same."""
    answers = Answers()
    for each in _in_order(seen):
        answers.take(each)
    return answers.found + answers.unanswered(ended, patience)


def _key(frame: Json) -> _Key | None:
    """The id with its type: `1` and `"1"` are two."""
    value = frame.get("id")
    usable = type(value) is int or (type(value) is str and len(value) <= LONGEST_ID)
    return (type(value), value) if usable else None


def _is_response(frame: Json) -> bool:
    return "method" not in frame and ("result" in frame or "error" in frame)


# -- consent


class _Stage(NamedTuple):
    approval: str
    requirement: str
    """The requirement as text, so that it can be a key."""


class _Question:
    """A permission request on the client's screen."""

    def __init__(self, params: Json) -> None:
        meta = params.get("_meta") or {}
        self.session = params.get("sessionId")
        self.stage = _Stage(str(meta.get("museApprovalId")), _text(meta.get("museRequirementId")))
        self.offered = {option.get("optionId") for option in params.get("options") or []}
        self.taken_back = False
        """Withdrawn by the adapter, or stopped by the client: what is said now allows nothing."""


class _Selection(NamedTuple):
    session: Any
    choice: str
    commands: dict[Any, bool]
    """The commands that it was used for, and whether the host refused them."""


class Consents:
    """What the client has allowed and what was decided with that, one frame after the other; what is wrong is in
    `found`.

    `exact`: each frame is seen when it is written and read at once. Then nothing crosses: the client's last word about
    a stage counts alone, and what it has allowed and was not used counts no more when it stops the session.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self.found: list[str] = []
        self.allowed = 0
        """Decisions so far that allow something."""
        self._exact = exact
        self._questions: dict[tuple[str, Any], _Question] = {}
        self._answers: defaultdict[_Stage, list[_Selection | None]] = defaultdict(list)
        """In order; None for what selects nothing."""
        self._choices: defaultdict[tuple[str, str], dict[tuple[str, str], set[str]]] = defaultdict(dict)
        """By connection and approval: what the host says a choice means, by stage."""
        self._client_sessions: set[Any] = set()
        self._commands: dict[tuple[str, Any], tuple[_Selection, Any]] = {}
        """Decisions on their way, by connection and id of the request."""

    def take(self, seen: Seen) -> None:
        """The next frame."""
        frame = seen.frame
        if not isinstance(frame, dict):
            return
        if seen.side == "client":
            self._learn_sessions(frame)
            (self._to_client if seen.from_adapter else self._from_client)(seen.connection, frame)
        elif seen.from_adapter:
            if frame.get("method") == "approval/decide":
                self._decide(seen.connection, frame)
        else:
            self._from_host(seen.connection, frame)

    # -- the client

    def _learn_sessions(self, frame: Json) -> None:
        for members in (frame.get("params"), frame.get("result")):
            if isinstance(members, dict) and isinstance(members.get("sessionId"), str):
                self._client_sessions.add(members["sessionId"])

    def _to_client(self, connection: str, frame: Json) -> None:
        if frame.get("method") == "session/request_permission":
            self._questions[connection, _key(frame)] = _Question(frame["params"])
        elif frame.get("method") == CANCEL:
            question = self._questions.get((connection, _key({"id": frame["params"].get("requestId")})))
            if question is not None:
                question.taken_back = True

    def _from_client(self, connection: str, frame: Json) -> None:
        if frame.get("method") == "session/cancel":
            params = frame.get("params")
            session = params.get("sessionId") if isinstance(params, dict) else None
            for question in self._questions.values():
                question.taken_back |= question.session == session
            if self._exact:
                self._stopped(session)
        elif _is_response(frame):
            answered = self._questions.pop((connection, _key(frame)), None)
            if answered is not None:
                self._answers[answered.stage].append(_selected(answered, frame))

    def _stopped(self, session: Any) -> None:
        """What was selected in a session and has not been taken in by a host counts no more."""
        for answers in self._answers.values():
            for number, selection in enumerate(answers):
                used = selection is not None and not all(selection.commands.values())
                if selection is not None and selection.session == session and not used:
                    answers[number] = None

    # -- the host

    def _from_host(self, connection: str, frame: Json) -> None:
        for approval in _approvals_in(frame):
            meanings = self._choices[connection, str(approval["approvalId"])]
            for choice in approval["availableChoices"]:
                if isinstance(choice, dict):
                    key = (_text(approval.get("currentRequirementId")), str(choice.get("choiceId")))
                    meanings.setdefault(key, set()).add(str(choice.get("decision")))
        if _is_response(frame):
            decision = self._commands.pop((connection, _key(frame)), None)
            if decision is not None and "error" in frame:
                selection, command = decision
                selection.commands[command] = True

    def _decide(self, connection: str, frame: Json) -> None:
        params = frame["params"]
        stage = _Stage(str(params.get("approvalId")), _text(params.get("requirementId")))
        choice, command = str(params.get("choiceId")), (connection, params.get("commandId"))
        meanings = self._choices[connection, stage.approval]
        # A host may name the next stage in a refusal, and tell its choices later.
        anywhere = {decision for (_, named), meant in meanings.items() if named == choice for decision in meant}
        meant = meanings.get((stage.requirement, choice), anywhere)
        if not meant:
            self.found.append(f"host {connection}: {choice!r} was never offered for {stage.approval!r}")
        elif any(_allows(decision) for decision in meant):
            self.allowed += 1
            selection = self._selection(params.get("sessionId"), stage, choice, command)
            if selection is None:
                self.found.append(f"host {connection}: {choice!r} was not selected for {stage}, or not for this once")
            else:
                selection.commands[command] = False
                self._commands[connection, _key(frame)] = selection, command

    def _selection(self, session: Any, stage: _Stage, choice: str, command: Any) -> _Selection | None:
        """The selection that allows this. One is used for one command, and for another only where the host has refused
        all before it and the client has not been asked again since."""
        answers = self._answers[stage]
        first = max(0, len(answers) - 1) if self._exact else 0
        for number, selection in enumerate(answers[first:], first):
            if selection is None or selection.choice != choice:
                continue
            if session in self._client_sessions and selection.session != session:
                continue
            if command in selection.commands or not selection.commands:
                return selection
            if all(selection.commands.values()) and number == len(answers) - 1:
                return selection
        return None


def wrong_consents(seen: Sequence[Seen]) -> list[str]:
    """Decisions that allow something that the client did not clearly select, for that very approval and stage, in that
    session, before; and those that no host has offered."""
    consent = Consents()
    for each in _in_order(seen):
        consent.take(each)
    return consent.found


def _selected(question: _Question, frame: Json) -> _Selection | None:
    result = frame.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if question.taken_back or not isinstance(outcome, dict) or outcome.get("outcome") != "selected":
        return None
    choice = outcome.get("optionId")
    return _Selection(question.session, choice, {}) if isinstance(choice, str) and choice in question.offered else None


def _allows(decision: str) -> bool:
    return not decision.startswith("denied") and decision != "abort"


def _approvals_in(value: Any) -> Iterator[Json]:
    """The approvals with their choices, wherever in a frame they stand: events, lists, snapshots, pages."""
    if isinstance(value, dict):
        if "approvalId" in value and isinstance(value.get("availableChoices"), list):
            yield value
        for member in value.values():
            yield from _approvals_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from _approvals_in(member)


# -- both


def _in_order(seen: Sequence[Seen]) -> list[Seen]:
    return sorted(seen, key=lambda each: each.at)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _short(frame: Json) -> str:
    text = json.dumps(frame)
    return text if len(text) <= 300 else f"{text[:300]}…"
