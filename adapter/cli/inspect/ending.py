"""How the recorded program ended, in words."""

from __future__ import annotations

from typing import Final

import msgspec

from adapter.hosts.recorded.script import Ended

_SIGNALS: Final = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL"} | {
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}
"""By the numbers they have everywhere: the recording may be of another system."""

_STOPS: Final = (1, 2, 15)
"""Signals that tell a program to stop."""

_SIGNALLED: Final = 128
"""Added to the number of a signal to make an exit code of it."""


class Ending(msgspec.Struct, frozen=True):
    """How what was recorded ended, on its own; at the end of its input there is nothing to tell."""

    words: str
    failed: bool


def ending_of(ended: Ended | None) -> Ending | None:
    """How it ended. A signal by which programs are told to stop is no failure, as itself or as the exit code that
    stands for it."""
    if ended is None:
        return None
    if ended.signal is not None:
        return Ending(f"by {_signal(ended.signal)}", ended.signal not in _STOPS)
    code = ended.exit_code or 0
    stopped = code - _SIGNALLED in _STOPS
    said = f"with exit code {code}"
    return Ending(f"{said}, for {_signal(code - _SIGNALLED)}" if stopped else said, code != 0 and not stopped)


def _signal(number: int) -> str:
    return _SIGNALS.get(number, f"signal {number}")
