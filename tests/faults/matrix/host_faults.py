"""What a host can do wrong: the columns of the matrix on its side."""

from __future__ import annotations

import signal
from typing import Final

from tests.faults.matrix.fault import Fault

HOST_FAULTS: Final = (
    Fault("killed", "it is killed", "gone", "killed", {"signum": int(signal.SIGKILL)}, "none", before=True),
)
