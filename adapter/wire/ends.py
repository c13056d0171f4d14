"""Ending as another process has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def as_it_ended(code: int) -> int:
    """Die by a signal, if `code` is negative and so says that the other did; else, or if that is survived, the code to
    exit with."""
    if code >= 0:
        return code
    if sys.platform != "win32":
        import resource

        # What there is to learn from a core is in the other's own.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            # Two of them cannot be set, and need not be.
            signal.signal(-code, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            os.kill(os.getpid(), -code)
    return 128 - code
