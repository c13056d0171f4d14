"""Ending all that was started for Muse by one adapter, or one of its hosts, wherever it went: what carries the mark of
`process_mark` in its environment, what that has started, and whatever is in a session with it.

This is also the program that does it for an adapter that was killed (`guardian`). As such it runs without installed
packages, also while those are being replaced: it uses the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

VARIABLE: Final = "MUSE_ADAPTER_PROCESS"

PROC: Final = Path("/proc")

ORPHAN_GRACE: Final = 1.5
"""Seconds the hosts of a killed adapter have, from the end of their input on, to record what they did and end by
themselves; less than those of one that stops, because all of it must be over within 5 s."""

ORPHAN_TERM_GRACE: Final = 0.7
"""Seconds between SIGTERM and SIGKILL to what is left of a killed adapter."""

STUCK_SECONDS: Final = 30.0
"""How long SIGKILL is tried: what the kernel does not let go of by then, it may never."""

QUIET_SECONDS: Final = 0.4
"""How long nothing has to be found before nothing is left: what is being started has its mark only when it runs."""

POLL: Final = 0.05
"""Seconds between looks; nothing tells when a process ends that is no child."""

REAPED_ELSEWHERE_SECONDS: Final = 0.3
"""How long what has ended may wait for whoever started it, before it is nobody's."""

MAX_ENVIRON: Final = 2 * 1024 * 1024

_CHUNK: Final = 32 * 1024

OVER: Final = "over"
"""What the guardian is told when all has been ended in order."""

KILL: Final[int] = getattr(signal, "SIGKILL", signal.SIGTERM)

_ENDED: Final = frozenset({b"Z", b"X", b"x"})


# -- one process


class Row(NamedTuple):
    """What `/proc/PID/stat` tells of a process. `began` is in ticks since the machine was started."""

    parent: int
    session: int
    began: int
    ended: bool


def row_of(pid: int) -> Row | None:
    """None if there is no such process; one that has ended is there until it is reaped."""
    try:
        # Its name stands in brackets and may hold anything; the last bracket ends it.
        state, parent, _, session, *rest = _read(pid, "stat").rpartition(b")")[2].split()
        return Row(int(parent), int(session), int(rest[15]), state in _ENDED)
    except (OSError, ValueError, IndexError):
        return None


def began_at(pid: int) -> int | None:
    """When a process was started, None if there is none or it has ended."""
    row = row_of(pid)
    return None if row is None or row.ended else row.began


def marks_of(pid: int) -> list[str]:
    """What the variable says in the environment of a process; nothing if that is not ours to read."""
    prefix = f"{VARIABLE}=".encode()
    try:
        environ = _read(pid, "environ")
    except OSError:
        return []
    if prefix not in environ:
        return []
    variables = environ.split(b"\0")
    return [one.removeprefix(prefix).decode("ascii", "replace") for one in variables if one.startswith(prefix)]


def _read(pid: int, name: str) -> bytes:
    """A file of a process, at most `MAX_ENVIRON` of it. Without the comfort of `open`, since there are thousands."""
    fd = os.open(f"{PROC}/{pid}/{name}", os.O_RDONLY)
    try:
        data = chunk = os.read(fd, _CHUNK)
        while len(chunk) == _CHUNK and len(data) < MAX_ENVIRON:
            chunk = os.read(fd, _CHUNK)
            data += chunk
        return data
    finally:
        os.close(fd)


def can_look() -> bool:
    """Whether there is a `/proc` with the environment of processes, and with their numbers as they are here."""
    try:
        return (PROC / "self" / "environ").exists() and os.readlink(PROC / "self") == str(os.getpid())  # noqa: PTH115
    except OSError:
        return False


# -- all of them


class Family:
    """What carries `mark` (`PID:START` of an adapter, or `PID:START:SPAWN` of one host), and what belongs to it."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._known: dict[int, int] = {}
        """Those found so far, by pid, and when they began: what has cleared its environment is known by its parent,
        and no longer when that has ended."""
        self._out_of_reach: set[int] = set()

    def look(self) -> list[int]:
        """Those that live."""
        table = _table()
        living = {pid: row for pid, row in table.items() if not row.ended and pid not in self._out_of_reach}
        for pid in _with_ancestors(os.getpid(), table):
            living.pop(pid, None)
        found = {pid for pid, began in self._known.items() if pid in living and living[pid].began == began}
        found |= {pid for pid in living if pid not in found and self._carries(pid)}
        more = found
        while more:
            # Each host has a session of its own, so all that is in one with what it started is its own, too; unless
            # that came into a session of somebody else, whose leader would have to live.
            sessions = {living[pid].session for pid in found} - {0}
            sessions = {leader for leader in sessions if leader in found or _has_ended(leader, table)}
            more = {
                pid
                for pid, row in living.items()
                if pid not in found and (row.parent in found or row.session in sessions)
            }
            found |= more
        self._known = {pid: living[pid].began for pid in found}
        return sorted(found)

    def signal(self, signum: int) -> None:
        """To all that were found by the last look. A number that was used again meanwhile is somebody else's."""
        for pid, began in self._known.items():
            if began_at(pid) == began:
                try:
                    os.kill(pid, signum)
                except ProcessLookupError:
                    pass
                except PermissionError:
                    self._out_of_reach.add(pid)

    def _carries(self, pid: int) -> bool:
        return any(mark == self._mark or mark.startswith(self._mark + ":") for mark in marks_of(pid))


def _has_ended(pid: int, table: dict[int, Row]) -> bool:
    return pid not in table or table[pid].ended


def _table() -> dict[int, Row]:
    names = os.listdir(PROC)  # noqa: PTH208 - thousands of names, of which only numbers count
    return {int(name): row for name in names if name.isdecimal() and (row := row_of(int(name)))}


def _with_ancestors(pid: int, table: dict[int, Row]) -> set[int]:
    """A process and what it runs below."""
    above: set[int] = set()
    while pid > 0 and pid not in above:
        above.add(pid)
        row = table.get(pid)
        pid = row.parent if row is not None else 0
    return above


class Groups:
    """Process groups, where nothing else can be known of processes."""

    def __init__(self, leaders: set[int]) -> None:
        self._leaders = leaders

    def look(self) -> list[int]:
        """Those that have members."""
        self._leaders = {pid for pid in self._leaders if _is_there(pid)}
        return sorted(self._leaders)

    def signal(self, signum: int) -> None:
        """To all members."""
        for pid in self._leaders:
            with contextlib.suppress(OSError):
                if sys.platform != "win32":
                    os.killpg(pid, signum)


def _is_there(group: int) -> bool:
    try:
        if sys.platform != "win32":
            os.killpg(group, 0)
            return True
    except OSError:
        pass
    return False


# -- the ladder


def end(
    those: Family | Groups,
    *,
    grace: float,
    term_grace: float,
    kill_seconds: float,
    quiet: float = 0.0,
) -> bool:
    """Let them end by themselves for `grace` seconds, ask them to for `term_grace`, then kill them; whether all are
    gone. What is found is gone when nothing has been found for `quiet` seconds."""
    for signum, seconds in ((0, grace), (signal.SIGTERM, term_grace), (KILL, kill_seconds)):
        began = time.monotonic()
        told = False
        gone_since: float | None = None
        while True:
            found = _found(those)
            now = time.monotonic()
            if found is None or found:
                gone_since = None
                if signum and found and (not told or signum == KILL):
                    those.signal(signum)
                told = told or bool(found)
            else:
                gone_since = now if gone_since is None else gone_since
                if now - gone_since >= quiet:
                    return True
            if now - began >= seconds:
                break
            time.sleep(POLL)
    return False


def _found(those: Family | Groups) -> list[int] | None:
    """Those that live; None where that cannot be seen now, as without a descriptor to look with."""
    try:
        return those.look()
    except OSError:
        return None


# -- what is handed to us


def reap_orphans(but: Collection[int]) -> None:
    """Reap what has ended and is a child of this process without having been started by it: so it is for the first
    process of a container, and for a sub-reaper (`fault-cases.md F5`). `but` are those that somebody waits for."""
    deadline = time.monotonic() + REAPED_ELSEWHERE_SECONDS
    dead = _dead_children() - set(but)
    while dead and time.monotonic() < deadline:
        time.sleep(POLL)
        dead &= _dead_children()
    for pid in dead:
        with contextlib.suppress(ChildProcessError):
            if sys.platform != "win32":
                os.waitpid(pid, os.WNOHANG)


def _dead_children() -> set[int]:
    return {pid for pid, row in _table().items() if row.ended and row.parent == os.getpid()}


# -- the program


def main(mark: str) -> None:
    """Wait until the adapter at the other end of stdin is gone, and end what it has left; nothing, if it says that all
    is over. Without a mark, it tells of the groups that it starts (`+PID`) and of those that have ended (`-PID`)."""
    leaders: set[int] = set()
    for line in sys.stdin:
        word = line.strip()
        if word == OVER:
            return
        if word[1:].isdecimal():
            (leaders.add if word[0] == "+" else leaders.discard)(int(word[1:]))
    those = Family(mark) if mark else Groups(leaders)
    end(
        those,
        grace=ORPHAN_GRACE,
        term_grace=ORPHAN_TERM_GRACE,
        kill_seconds=STUCK_SECONDS,
        quiet=QUIET_SECONDS if mark else 0.0,
    )


if __name__ == "__main__":
    for asking in ("SIGHUP", "SIGINT", "SIGTERM"):
        if hasattr(signal, asking):
            signal.signal(getattr(signal, asking), signal.SIG_IGN)
    main(sys.argv[1])
