"""All columns of the matrix, and the cells that make sense."""

from __future__ import annotations

from typing import Final

from tests.faults.matrix.client_ends import CLIENT_ENDS, End, run_end
from tests.faults.matrix.client_faults import CLIENT_FAULTS
from tests.faults.matrix.fault import STANDS, Fault
from tests.faults.matrix.host_faults import HOST_FAULTS
from tests.faults.matrix.phases import PHASES, Phase
from tests.faults.matrix.run import Passed, run_cell
from tests.faults.matrix.system_faults import SYSTEM_FAULTS

Column = Fault | End

FAULTS: Final[tuple[Column, ...]] = (*HOST_FAULTS, *CLIENT_FAULTS, *CLIENT_ENDS, *SYSTEM_FAULTS)

WITHOUT_CONSENT: Final = frozenset(
    {"exit-0", "sigkill", "killed-late", "closes-stdout", "closes-stdin", "stops-reading", "stops-writing"}
    | {"swallows", "ignores", "too-late", "late", "twice", "twice-differently", "nobody", "after-the-next"}
    | {"unknown-members", "unknown-request", "delta-flood", "result-null", "no-result"}
    | {"error-internal", "error-sessionNotLoaded", "error-overloaded"}
    | {"error-approvalAlreadyResolved", "error-approvalRequirementStale"}
    | {"client-answers-again", "client-takes-back", "client-stops", "client-closes", "client-loads", "client-leaves"}
    | {"client-reads-nothing", "muse-vanishes", "adapter-paused"}
)
"""The faults that are tried where consent is not given."""

BY_NAME: Final = {fault.name: fault for fault in FAULTS}


def why_not(phase: Phase, fault: Column) -> str | None:
    """Why a cell makes no sense; None if it does."""
    if phase.at == "end" and (isinstance(fault, End) or fault.strike is not None):
        return "the client has gone"
    if phase.refuses and fault.name not in WITHOUT_CONSENT:
        return STANDS
    return fault.sense(phase)


def cells() -> list[tuple[Phase, Column]]:
    """Those that make sense, row by row."""
    return [(phase, fault) for phase in PHASES for fault in FAULTS if why_not(phase, fault) is None]


def run(phase: Phase, fault: Column) -> Passed:
    """Run a cell; raises if anything is not as it should be."""
    return run_end(phase, fault) if isinstance(fault, End) else run_cell(phase, fault)
