"""The signals that end a command of a terminal, as the end of its work."""

from __future__ import annotations

import sys

import anyio
from anyio.abc import TaskStatus

from adapter.cli.stop_signals import INTERRUPTS


async def cancel_on_signal(work: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
    """Ctrl-C and its like end the work, not the tidying up."""
    if sys.platform == "win32":
        # Loops cannot receive signals there; Ctrl-C raises `KeyboardInterrupt`.
        task_status.started()
        return
    with anyio.open_signal_receiver(*INTERRUPTS) as signals:
        task_status.started()
        async for _ in signals:
            work.cancel()
