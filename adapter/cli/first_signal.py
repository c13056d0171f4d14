"""The first signal that asks to stop, as something a task can wait for."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import anyio

from adapter.cli.stop_signals import STOP_SIGNALS, end_unasked


async def first_stop_signal() -> None:
    """Wait for the first stop signal. From it on, and from the end of the wait on, the stop signals do nothing.

    The handlers are our own: a loop that lets go of its own puts back the defaults, and a signal in between would kill.
    """
    if sys.platform == "win32":
        await anyio.sleep_forever()
        return
    noticed, notice = os.pipe()
    os.set_blocking(notice, False)
    # Written to as the signal comes: what Python runs for it waits until the main thread wakes, and a signal that
    # another thread gets, or that comes in the moment before the main one begins to wait, does not wake it.
    before = signal.set_wakeup_fd(notice, warn_on_full_buffer=False)
    try:
        for signum in STOP_SIGNALS:
            signal.signal(signum, _stop_listening)
        await anyio.wait_readable(noticed)
    finally:
        end_unasked()
        signal.set_wakeup_fd(before)
        os.close(noticed)
        os.close(notice)


def _stop_listening(_signum: int, _frame: FrameType | None) -> None:
    end_unasked()
