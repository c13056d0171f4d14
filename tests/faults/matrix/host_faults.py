"""What a host can do wrong: the columns of the matrix on its side."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from adapter.hosts.simulated.errors import CODES
from adapter.msp.vocabulary import METHODS
from tests.faults.matrix.cell import MSP_CAP, OK
from tests.faults.matrix.fault import STANDS, Fault, anywhere, both, in_key_phases, to_answers, to_lines
from tests.faults.matrix.phases import PHASES, Phase

_ERRORS: Final = Path(__file__).parents[3] / "docs" / "errors.md"


def _refusals() -> dict[str, str]:
    """What each kind of a host's error answers becomes, by the first table that tells (`docs/errors.md`)."""
    part = (
        _ERRORS.read_text("utf-8").partition("## What a host's failures become")[2].partition("A turn that failed")[0]
    )
    rows = re.findall(r"^\| `(\w+)` \| (-\d+) \| `(\w+)` \|", part, re.MULTILINE)
    return {kind: f"{code} {reason}" for kind, code, reason in rows}


REFUSALS: Final = _refusals()

EVERYWHERE: Final = frozenset({"methodNotFound", "internal", "overloaded", "sessionNotLoaded", "authRequired"})
"""Kinds of errors that are tried in every phase."""

WHERE_NEEDED: Final = frozenset(
    {"invalidParams", "sessionNotFound", "sessionInUse", "sessionBusy", "commandRejected", "notFound", "viewTruncated"}
)
"""Those that are tried where the client's answer waits for the host's. The others mean nothing special anywhere."""

ENDS: Final = frozenset(
    {"start", "handshake", "new", "load", "prompt", "tell-item-delta", "ask-consent", "read-output", "close"}
)
"""Where every way to end is tried; elsewhere a signal and an exit stand for all."""

EVERY_KIND: Final = frozenset({"new", "load", "prompt", "set-model", "read-output"})
"""Where every kind of error is tried."""

EXITS: Final = (0, 1, 2, 3, 4, 5, 9)
"""Each exit class that is listed, and one that is not (`msp.md §23.2`)."""

SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV)


_BUSY: Final = {
    phase.name: OK
    for phase in PHASES
    if phase.method == "session/delete" or (phase.method in METHODS and METHODS[phase.method].kind == "command")
}
"""A command that a host was too busy for is sent again (`design.md` rule 7)."""


STANDS_END: Final = "another end stands for it"


def _an_end(phase: Phase) -> str | None:
    return None if phase.name in ENDS else STANDS_END


def _a_kind(kind: str) -> Callable[[Phase], str | None]:
    def sense(phase: Phase) -> str | None:
        common = kind in EVERYWHERE or (kind in WHERE_NEEDED and phase.needed)
        return to_answers(phase) or (None if common or phase.name in EVERY_KIND else STANDS)

    return sense


def _followed(phase: Phase) -> str | None:
    if phase.method == "item/delta":
        return "pieces of text have no order but that in which they come"
    return to_lines(phase) or (None if phase.name not in NOTHING_FOLLOWS else "nothing follows it")


def _missed(phase: Phase) -> str | None:
    return "nobody can know of a piece of text that does not come" if phase.method == "item/delta" else None


def _goes_on(phase: Phase) -> str | None:
    return "a host that reads too slowly is ended" if phase.name.startswith("read-") else None


def _to_events(phase: Phase) -> str | None:
    return None if phase.at == "event" and phase.method not in _WITHOUT_CURSOR else "no event of a session"


NOTHING_FOLLOWS: Final = frozenset(
    {"handshake", "abilities-list", "new", "new-skills", "load", "resume", "fork-read", "fork", "fork-resume", "list"}
    | {"gap", "move-greet", "move-resume", "read-greet", "read-session", "read-page", "read-output", "patch"}
    | {"close-events", "closed", "deleted"}
)
"""The phases in which the host says nothing more before it is asked for more."""

_WITHOUT_CURSOR: Final = frozenset(
    {"approval/request", "userInput/request", "session/deleteCompleted", "session/leaveCompleted"}
)


def _gone(name: str, told: str, action: str, *, before: bool = True, **args: Any) -> Fault:
    return Fault(name, told, "gone", action, args, "none", before)


def _refused(kind: str) -> Fault:
    error = {"code": CODES.get(kind, -32603), "message": f"no: {kind}", "data": {"kind": kind}}
    return Fault(
        f"error-{kind}",
        f"an error of the kind {kind}",
        "refused",
        "refuses",
        {"error": error},
        before=True,
        outcome=REFUSALS[kind],
        expects=_BUSY if kind in ("overloaded", "backpressured") else {},
        sense=_a_kind(kind),
    )


def _error(name: str, told: str, error: Any) -> Fault:
    sense = both(to_answers, lambda phase: None if phase.needed or phase.name in EVERY_KIND else STANDS)
    unknown = "-32603 hostError"
    return Fault(name, told, "refused", "refuses", {"error": error}, before=True, outcome=unknown, sense=sense)


def _odd(name: str, told: str, **members: Any) -> Fault:
    return Fault(name, told, "malformed", "answers-oddly", {"members": members}, sense=to_answers)


def _harmless(name: str, told: str, action: str, sense: Any = to_lines, **args: Any) -> Fault:
    return Fault(name, told, "harmless", action, args, sense=sense)


IN_KEY_LINES: Final = both(to_lines, in_key_phases)

HOST_FAULTS: Final = (
    # it ends
    *(
        _gone(f"exit-{code}", f"it ends with {code}", "exits", code=code, words="the last words\n")._replace(
            sense=anywhere if code == 0 else _an_end
        )
        for code in EXITS
    ),
    *(
        _gone(each.name.lower(), f"it is ended by {each.name}", "killed", signum=int(each))._replace(
            sense=anywhere if each == signal.SIGKILL else _an_end
        )
        for each in SIGNALS
    ),
    _gone("killed-late", "it is killed when it has done what it was asked for", "killed", before=False, signum=9),
    _gone("half-then-killed", "it is killed in the middle of a frame", "half-then-killed", before=False)._replace(
        sense=to_lines
    ),
    # its pipes
    _gone("closes-stdout", "it closes stdout, and lives on", "closes-stdout", before=False),
    _gone("endless", "it writes a line that does not end", "endless", before=False, bytes=4 * MSP_CAP),
    Fault("closes-stdin", "it closes stdin, and lives on", "deaf", "closes-stdin", {}, "none"),
    Fault("stops-reading", "it reads nothing any more", "deaf", "stops-reading", {}, "wedged"),
    Fault("stops-writing", "it writes nothing any more", "mute", "stops-writing", {}, "wedged"),
    Fault(
        "half-then-silent",
        "it stops in the middle of a frame",
        "mute",
        "half-then-silent",
        {},
        "wedged",
        sense=to_lines,
    ),
    # answers that do not come, or come oddly
    Fault("swallows", "this frame does not come", "lost", "swallows", sense=both(to_lines, _missed)),
    Fault("ignores", "the request has no effect and no answer", "lost", "swallows", before=True, sense=to_answers),
    Fault(
        "too-late",
        "it answers when nobody waits any more",
        "lost",
        "answers-late",
        {"seconds": 3.0},
        sense=both(to_answers, _goes_on),
    ),
    Fault("id-as-text", "it answers with the id as a text", "lost", "answers-as-text", sense=to_answers),
    Fault("cut", "it writes half of the frame, as if it were whole", "lost", "cuts", sense=to_lines),
    Fault("broken-text", "the frame is no UTF-8", "lost", "broken-text", sense=to_lines),
    Fault("too-long", "the frame is above the cap", "malformed", "too-long", {"bytes": MSP_CAP}, sense=to_lines),
    _harmless("late", "it answers late", "answers-late", to_answers, seconds=0.4)._replace(seconds=0.4),
    _harmless("pause", "everything comes late", "stands-still", seconds=0.4)._replace(seconds=0.4),
    _harmless("twice", "it says it twice", "says-twice"),
    _harmless("twice-differently", "it answers, and then with an error", "says-it-another-way", to_answers),
    _harmless("nobody", "it answers what nobody has asked", "answers-nobody"),
    # bytes
    _harmless("garbage", "lines that are no frames come before", "garbage"),
    _harmless("half-then-rest", "the frame comes in two pieces", "half-then-rest", IN_KEY_LINES),
    _harmless("broken-text-before", "lines that are no UTF-8 come before", "broken-text-between", IN_KEY_LINES),
    _harmless(
        "too-long-before", "a line above the cap comes before", "too-long-between", IN_KEY_LINES, bytes=2 * MSP_CAP
    ),
    # what nobody knows
    _harmless("unknown-members", "every object has members more", "unknown-members"),
    _harmless("unknown-events", "notifications come that nobody knows", "unknown-events"),
    _harmless("unknown-request", "it asks what nobody knows", "asks-oddly"),
    # order and amount
    _harmless("after-the-next", "it comes after what follows it", "after-the-next", _followed),
    _harmless("stderr-flood", "it writes 2 MiB of log", "floods-stderr", IN_KEY_LINES, bytes=2 << 20),
    _harmless("delta-flood", "5,000 pieces of text come before, of items of nobody", "floods-deltas", deltas=5000),
    _harmless("gap", "the event is lost, and that is told", "gap", _to_events),
    _harmless("gap-nowhere", "a gap is told between places that do not exist", "gap-of-nobody"),
    _harmless("stale-cursor", "its cursors are none that it knows", "stale-cursors"),
    # errors
    *(_refused(kind) for kind in REFUSALS),
    _error(
        "error-unknown",
        "an error of a kind that nobody knows",
        {"code": -32999, "message": "no", "data": {"kind": "x"}},
    ),
    _error("error-bare", "an error without data", {"code": -32603, "message": "no"}),
    _error("error-text", "an error that is a text", "no"),
    _error("error-without-code", "an error without code and words", {}),
    # answers that are none
    _odd("result-list", "a result that is a list", result=[]),
    _odd("result-null", "a result that is null", result=None),
    _odd("result-empty", "a result without members", result={}),
    Fault("result-wrong", "the members of the result are of other types", "malformed", "mistypes", sense=to_answers),
    _odd("no-result", "neither result nor error"),
    _odd("both", "both result and error", result={}, error={"code": -32603, "message": "no"}),
)
