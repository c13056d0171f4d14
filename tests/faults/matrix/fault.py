"""What a column of the matrix is, and what has to come of it in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from tests.faults.matrix.cell import OK, Cell
from tests.faults.matrix.phases import Phase
from tests.faults.matrix.tampering_host import Plan

Group = Literal["harmless", "gone", "lost", "refused", "malformed"]
"""`gone`: the host is of no use any more, and shows it; `lost`: what was at hand never comes."""


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
    strike: Callable[[Cell], None] | None = None
    """What the driver does at the moment, while the host waits for it (`tampering.waits`)."""
    expects: Mapping[str, str] = {}
    """What has to come of it, by phase, where it is not what the group says."""
    sense: Callable[[Phase], str | None] = lambda phase: None
    """Why it makes no sense in a phase; None if it does."""


def plan_of(phase: Phase, fault: Fault) -> Plan:
    """What the tampering host is told."""
    early = phase.at == "note" or (phase.at == "answer" and fault.before)
    return Plan(
        profile=phase.version,
        fault=fault.action,
        at="request" if early or phase.at == "note" else phase.at,
        method=phase.method,
        after=phase.after,
        restricted=phase.restricted,
        args=dict(fault.args),
    )


TIMEOUT: Final = "-32603 hostTimeout"
DIED: Final = "-32603 hostDied"
MALFORMED: Final = "-32603 hostError"


def expected(phase: Phase, fault: Fault) -> str:
    """The outcome that is right: `ok`, or code and reason (`docs/errors.md`)."""
    for table, key in (
        (fault.expects, phase.name),
        (phase.expects, fault.name),
        (phase.expects, fault.group),
    ):
        if key in table:
            return table[key]
    if fault.group == "harmless" or not phase.needed:
        return OK
    if fault.group == "gone":
        return OK if phase.retried else DIED
    return TIMEOUT if fault.group == "lost" else MALFORMED
