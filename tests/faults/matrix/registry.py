"""All columns of the matrix, and the cells that make sense."""

from __future__ import annotations

from typing import Final

from tests.faults.matrix.client_faults import CLIENT_FAULTS
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.host_faults import HOST_FAULTS
from tests.faults.matrix.phases import PHASES, Phase

FAULTS: Final[tuple[Fault, ...]] = (*HOST_FAULTS, *CLIENT_FAULTS)

BY_NAME: Final = {fault.name: fault for fault in FAULTS}


def cells() -> list[tuple[Phase, Fault]]:
    """Those that make sense, row by row."""
    return [(phase, fault) for phase in PHASES for fault in FAULTS if fault.sense(phase) is None]
