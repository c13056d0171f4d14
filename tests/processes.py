"""What runs below a process, seen through /proc: by parent and by process group, never by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

GONE_SECONDS: Final = 20.0
"""How long what should end may take; more than every ladder takes, so that only what is left behind meets it."""

POLL_SECONDS: Final = 0.02


def proc() -> Path:
    """Where processes can be looked at; a test that does so is skipped where they cannot."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("there is no /proc")
    return Path("/proc")


class Entry(NamedTuple):
    """A process that has not been reaped."""

    pid: int
    state: str
    parent: int
    group: int

    @property
    def runs(self) -> bool:
        """A zombie only waits for its parent to ask."""
        return self.state not in "ZX"


def table() -> list[Entry]:
    """All processes there are."""
    entries = []
    for directory in proc().iterdir():
        if directory.name.isdecimal():
            try:
                # The name in brackets may hold anything; what follows it does not.
                words = (directory / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            entries.append(Entry(int(directory.name), words[0], int(words[1]), int(words[2])))
    return entries


def is_guardian(pid: int) -> bool:
    """Whether a process is there only to end others if its parent is killed (`adapter.msp.guardian`)."""
    try:
        return b"guardian" in (proc() / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def end_guardian(pid: int) -> None:
    """Kill the guardian of a process, so that what that starts is left behind if it is killed."""
    [guardian] = [row.pid for row in table() if row.parent == pid and row.runs and is_guardian(row.pid)]
    os.kill(guardian, signal.SIGKILL)


def descendants(pid: int) -> list[Entry]:
    """The children of a process, their children, and so on; without guardians, which only wait for their parent."""
    rows = table()
    found: list[Entry] = []
    parents = {pid}
    while parents:
        children = [row for row in rows if row.parent in parents and not is_guardian(row.pid)]
        found += children
        parents = {row.pid for row in children}
    return found


def running(pids: Iterable[int]) -> list[Entry]:
    """Those of `pids` that run, and whatever runs in a process group that one of them led or is in."""
    wanted = set(pids)
    rows = table()
    groups = wanted | {row.group for row in rows if row.pid in wanted}
    return [row for row in rows if row.runs and (row.pid in wanted or row.group in groups)]


def assert_gone(pids: Iterable[int], seconds: float = GONE_SECONDS) -> None:
    """Wait until nothing of them runs, groups included; `pids` must not be in the group of the test itself."""
    wanted = list(pids)
    assert os.getpid() not in wanted
    wait_until(lambda: not running(wanted), seconds, lambda: f"still there: {running(wanted)}")


def wait_until(holds: Callable[[], bool], seconds: float = GONE_SECONDS, otherwise: Callable[[], str] = str) -> None:
    """Wait for something that nobody tells."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise() or f"it did not become so within {seconds:g} s"
        time.sleep(POLL_SECONDS)


def open_descriptors(pid: int | str = "self") -> int:
    """How many file descriptors a process holds."""
    return len(list((proc() / str(pid) / "fd").iterdir()))
