"""The mark by which a process that was started for Muse can be told from all others, also when its adapter is gone.

It is a variable of its environment: `MUSE_ADAPTER_PROCESS=PID:START:SPAWN`, which adapter process started it, when that
one began, and when it was started itself. What a host starts inherits the mark; an adapter gives what it starts one of
its own, also if it was started by a host. Only where there is `/proc`, since nothing could read it elsewhere.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cache
from typing import Final

import msgspec

from adapter.msp import sweep
from adapter.msp.guardian import Guardian
from adapter.msp.sweep import began_at, can_look, row_of
from host_probe import watching

VARIABLE: Final = sweep.VARIABLE

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


def with_mark(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that this one starts now. The guardian is there from now on."""
    return marked(environ, next_mark())


def marked(environ: Mapping[str, str], mark: Mark | None) -> dict[str, str]:
    """The same with a mark that the caller wants to know."""
    guard()
    return {**environ, VARIABLE: str(mark)} if mark is not None else dict(environ)


def next_mark() -> Mark | None:
    """The mark of what this process starts now, another one each time; None where marks cannot be read."""
    began = _began()
    if began is None:
        return None
    _spawned.append(max(ticks_now(), _spawned.pop() + 1))
    return Mark(os.getpid(), began, _spawned[0])


_spawned: Final = [0]
"""The last one's: two that are started in one tick are told apart too."""


def guard() -> Guardian:
    """The guardian of this process, started if it is not there; it ends with the interpreter."""
    guardian = _guardian()
    guardian.start()
    return guardian


@cache
def _guardian() -> Guardian:
    began = _began()
    guardian = Guardian(f"{os.getpid()}:{began}" if began is not None else "")
    atexit.register(guardian.leave)
    watching.watch = _watched
    return guardian


def now_runs(pid: int) -> int:
    """Tell the guardian of a process that this one has just started; when that began, 0 where it cannot be seen."""
    row = row_of(pid) if _began() is not None else None
    began = row.began if row is not None else 0
    guard().started(pid, began)
    return began


def has_ended(pid: int) -> None:
    """Tell the guardian that of such a process nothing is left."""
    _guardian().ended(pid)


def those_that_run() -> AbstractSet[int]:
    """What this process has started and not yet ended."""
    return _guardian().running


@contextmanager
def _watched(pid: int) -> Iterator[None]:
    now_runs(pid)
    try:
        yield
    finally:
        has_ended(pid)


def _began() -> int | None:
    return began_at(os.getpid()) if sys.platform == "linux" and can_look() else None


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
