"""The mark by which a process that was started for Muse can be told from all others, also when its adapter is gone.

It is a variable of its environment: `MUSE_ADAPTER_PROCESS=PID:START:SPAWN`, which adapter process started it, when that
one began, and when it was started itself. What a host starts inherits the mark; an adapter gives what it starts one of
its own, also if it was started by a host. Only where there is `/proc`, since nothing could read it elsewhere.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

VARIABLE: Final = "MUSE_ADAPTER_PROCESS"

PROC: Final = Path("/proc")

_FORM: Final = re.compile(r"(\d{1,10}):(\d{1,20}):(\d{1,20})")


class Mark(msgspec.Struct, frozen=True):
    """Times are in ticks since the machine was started, as in `/proc/PID/stat`: a pid alone is used again."""

    adapter: int
    adapter_began: int
    spawned: int

    @classmethod
    def read(cls, text: str) -> Mark | None:
        """The mark in a variable's value, None if it is none of ours."""
        found = _FORM.fullmatch(text)
        return cls(*map(int, found.groups())) if found else None

    def __str__(self) -> str:
        return f"{self.adapter}:{self.adapter_began}:{self.spawned}"


def marked() -> dict[str, str]:
    """What goes into the environment of a process that this one starts now."""
    if sys.platform != "linux":
        return {}
    began = began_at(os.getpid())
    return {} if began is None else {VARIABLE: str(Mark(os.getpid(), began, ticks_now()))}


def with_mark(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that this one starts now."""
    return {**environ, **marked()}


def began_at(pid: int) -> int | None:
    """When a process was started, None if there is no such process. One that has ended is none, also if nobody has
    reaped it yet."""
    try:
        state, *rest = stat_of(pid)
        return None if state in _ENDED else int(rest[18])
    except (OSError, ValueError, IndexError):
        return None


def stat_of(pid: int) -> list[bytes]:
    """The fields of `/proc/PID/stat` from the state on.

    Raises:
        OSError: there is no such process.
    """
    # Its name stands in brackets and may hold anything; the last bracket ends it.
    return (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()


_ENDED: Final = frozenset({b"Z", b"X", b"x"})


def ticks_now() -> int:
    """The time since the machine was started."""
    if sys.platform != "linux":
        raise NotImplementedError("no other system has such a /proc")
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * ticks_a_second())


def ticks_a_second() -> int:
    """How many ticks a second has."""
    if sys.platform != "linux":
        raise NotImplementedError("as above")
    return os.sysconf("SC_CLK_TCK")
