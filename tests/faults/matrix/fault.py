"""What a column of the matrix is, and what has to come of it in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tests.faults.matrix.cell import OK, Cell
from tests.faults.matrix.phases import Phase
from tests.faults.matrix.tampering_host import Plan

Group = Literal["harmless", "gone", "deaf", "mute", "lost", "refused", "malformed"]
"""What the adapter can know of it: `gone`: the host is of no use any more, and shows it; `deaf`: it hears nothing any
more; `mute`: it says nothing any more; `lost`: what was at hand never comes, and what follows does; `refused` and
`malformed` are answers."""


Undo = Callable[[], None]


def anywhere(phase: Phase) -> str | None:
    """It makes sense in every phase."""
    return None


def to_answers(phase: Phase) -> str | None:
    """It does something to an answer."""
    return None if phase.at == "answer" else "there is no answer"


def of_hosts(phase: Phase) -> str | None:
    """It does something with the host's own output, whatever is at hand."""
    return "the host is told something" if phase.at == "note" else None


def to_lines(phase: Phase) -> str | None:
    """It does something to a line of the host's."""
    return None if phase.at in ("answer", "event") else "the host says nothing"


KEY: Final = frozenset(
    {"start", "handshake", "new", "load", "prompt", "tell-item-delta", "ask-consent", "decide", "read-greet"}
    | {"read-output", "close", "closed", "shutdown", "reject", "left-open"}
)
"""The phases in which also those kinds are tried that others stand for elsewhere."""

STANDS: Final = "another kind stands for it"


def in_key_phases(phase: Phase) -> str | None:
    """It does the same as others do that are tried everywhere."""
    return None if phase.name in KEY else STANDS


def both(*senses: Callable[[Phase], str | None]) -> Callable[[Phase], str | None]:
    """The first reason, if there is one."""
    return lambda phase: next((reason for sense in senses if (reason := sense(phase)) is not None), None)


class Fault(NamedTuple):
    """A column."""

    name: str
    told: str
    group: Group
    action: str
    """What the host does (`tampering.ACTIONS`)."""
    args: Mapping[str, Any] = {}
    leaves: Literal["host", "none", "wedged"] = "host"
    """What is there of the host afterwards: it serves on, has ended, or is there and of no use."""
    before: bool = False
    """Whether it strikes when the request has arrived and has had no effect."""
    strike: Callable[[Cell], Undo | None] | None = None
    """What the driver does at the moment, while the host waits for it (`tampering.waits`). What it gives is done when
    the answer has come."""
    outcome: str = ""
    """What has to come of it where the client's answer waits for the host's, if the group does not say."""
    expects: Mapping[str, str] = {}
    """What has to come of it, by phase."""
    then: str = ""
    """What has to come of the next prompt, if what is left of the host does not say."""
    sense: Callable[[Phase], str | None] = anywhere
    """Why it makes no sense in a phase; None if it does."""
    seconds: float = 0.0
    """How long it makes everybody wait by itself."""
    more: bool = False
    """Whether it makes more be said than the phase does."""
    prepare: Callable[[Path], None] | None = None
    """What is done to the home of the adapter before that is started."""


def plan_of(phase: Phase, fault: Fault) -> Plan:
    """What the tampering host is told."""
    if phase.at == "note" or (phase.at == "answer" and fault.before):
        return _plan(phase, fault, "request")
    return _plan(phase, fault, phase.at)


def _plan(phase: Phase, fault: Fault, at: Literal["spawn", "request", "answer", "event", "end"]) -> Plan:
    return Plan(
        profile=phase.version,
        fault=fault.action,
        at=at,
        method=phase.method,
        after=phase.after,
        restricted=phase.restricted,
        args=dict(fault.args),
    )


TIMEOUT: Final = "-32603 hostTimeout"
DIED: Final = "-32603 hostDied"
ODD: Final = "-32603 hostError"
OR: Final = " or "
"""Between outcomes that are both right, where it cannot be told which of two things comes first."""

STOPPED: Final = "cancelled"
"""The turn goes on as far as anybody can know, until the client stops it."""


HANGS: Final = f"{STOPPED}{OR}{DIED}"
"""Or until a command has waited in vain: then the host that says nothing is ended."""


def expected(phase: Phase, fault: Fault) -> str:
    """The outcome that is right: `ok`, `cancelled`, or code and reason (`docs/errors.md`)."""
    for table, key in ((fault.expects, phase.name), (phase.expects, fault.name), (phase.expects, fault.group)):
        if key in table:
            return table[key]
    if fault.group == "harmless":
        return OK
    if fault.group == "gone":
        return OK if phase.retried or not (phase.needed or phase.turn) else DIED
    if fault.group == "deaf" and fault.leaves == "none" and phase.more:
        # The next thing that is said to it shows that it is of no use.
        return OK if phase.retried else DIED
    stopped = HANGS if fault.leaves == "wedged" else STOPPED
    if fault.group == "deaf":
        return (stopped if phase.turn else TIMEOUT) if phase.more else OK
    if fault.group == "mute" and phase.turn and not phase.needed:
        return stopped
    if not phase.needed:
        return OK
    return fault.outcome or (ODD if fault.group == "malformed" else TIMEOUT)
