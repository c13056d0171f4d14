"""Which of these tests are left out on Windows: they are of what only POSIX has, or their stand-ins for Muse are
scripts."""

from __future__ import annotations

import sys
from typing import Final

POSIX_ONLY: Final = [
    "test_cli_commands.py",
    "test_doctor_cache.py",
    "test_doctor_leftovers.py",
    "test_doctor_muse.py",
    "test_doctor_negotiation.py",
    "test_first_answer.py",
    "test_host_probe_locate.py",
    "test_host_probe_probe.py",
    "test_msp_abilities.py",
    "test_msp_asking.py",
    "test_msp_conclusions.py",
    "test_msp_host.py",
    "test_msp_process.py",
    "test_wire_peer_broken.py",
    "test_wire_peer_end.py",
    "test_wire_pipes.py",
    "test_wire_read_ahead.py",
    "test_wire_stdio.py",
]

collect_ignore = POSIX_ONLY if sys.platform == "win32" else []
