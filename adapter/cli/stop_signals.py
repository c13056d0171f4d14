"""The signals that ask to stop, and what they do while nothing runs yet that would have to be ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

if sys.platform == "win32":
    STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
    INTERRUPTS: Final = STOP_SIGNALS
else:
    STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    INTERRUPTS: Final = (*STOP_SIGNALS, signal.SIGQUIT)
    """What ends a command that somebody runs on a terminal."""

EXIT_INTERRUPTED: Final = 130
"""What a shell says of a program that Ctrl-C ended."""


@contextmanager
def held_back() -> Iterator[None]:
    """Inside, the stop signals wait; afterwards they do what was arranged meanwhile, also where whoever started us had
    them blocked: that is passed on by accident, and who wants to stop us means it."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before - set(STOP_SIGNALS))


def hear_of_children() -> None:
    """Let the system keep how a child ended until we have asked, also where whoever started us had no use for that."""
    if sys.platform != "win32":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def leave_when_asked() -> None:
    """From now on a stop signal ends the process at once, with success: for as long as nothing has begun."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, _leave)


def leave_when_interrupted() -> None:
    """From now on Ctrl-C ends the process at once and quietly, until the command arranges something else."""
    signal.signal(signal.SIGINT, _leave_interrupted)


def raise_when_interrupted() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt`: something begins that has to be tidied up."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def end_unasked() -> None:
    """From now on the stop signals do nothing: all has been ended, and only the exit code is left to be told."""
    for signum in STOP_SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


def _leave(_signum: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _leave_interrupted(_signum: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)
