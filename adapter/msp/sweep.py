"""Ending all that was started for Muse by one adapter, or one of its hosts, wherever it went: what carries the mark of
`process_mark` in its environment, what that has started, and whatever is in a session with it or with a process that
is known to have been started. Where there is an adapter among that, all of its own is meant too.

This is also the program that does it for an adapter that was killed (`guardian`). As such it runs without installed
packages, also while those are being replaced: it uses the standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from itertools import chain
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

MAX_ENVIRON: Final = 2 * 1024 * 1024

_CHUNK: Final = 32 * 1024

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
    """What carries `mark` (`PID:START` of an adapter, or `PID:START:SPAWN` of one host), and what belongs to it.
    `leaders` are processes that are known to have been started with it, and when they began: each leads a session."""

    def __init__(self, mark: str, leaders: Mapping[int, int]) -> None:
        self._marks = {mark}
        """Those that are looked for, whole or without their last part: an adapter among the found ones gives what it
        starts marks of its own."""
        self._leaders = dict(leaders)
        """Of all sessions that are ours, also of those whose leader has ended: whoever is in one stays in it."""
        self._known: dict[int, int] = {}
        """Those found so far, by pid, and when they began: what has cleared its environment is known by its parent,
        and no longer when that has ended."""
        self._out_of_reach: set[int] = set()
        self._looks = threading.Lock()
        """One look that nobody waits for any more may still go on in its thread when the next one begins."""

    def look(self) -> list[int]:
        """Those that live."""
        with self._looks:
            return self._look()

    def _look(self) -> list[int]:
        table = _table()
        living = {pid: row for pid, row in table.items() if not row.ended and pid not in self._out_of_reach}
        for pid in _with_ancestors(os.getpid(), table):
            living.pop(pid, None)
        peopled = {row.session for row in living.values()}
        # A number is given to another process only when nobody is left in the session.
        self._leaders = {
            pid: began
            for pid, began in self._leaders.items()
            if pid in peopled and (pid not in table or table[pid].began == began)
        }
        found = more = {pid for pid, began in self._known.items() if pid in living and living[pid].began == began}
        marks = {pid: carried for pid in living if pid not in found and (carried := marks_of(pid))}
        while True:
            self._marks |= {f"{pid}:{living[pid].began}" for pid in more}
            # Each host has a session of its own, so all that is in one with what it started is its own, too; unless
            # that came into a session of somebody else, whose leader would have to live.
            for leader in {living[pid].session for pid in more} - self._leaders.keys() - {0}:
                if leader in found or _has_ended(leader, table):
                    self._leaders[leader] = table[leader].began if leader in table else 0
            more = {
                pid
                for pid, row in living.items()
                if pid not in found
                and (row.parent in found or row.session in self._leaders or self._are_ours(marks.get(pid, ())))
            }
            if not more:
                break
            found = found | more
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

    def _are_ours(self, marks: Iterable[str]) -> bool:
        return any(mark in self._marks or mark.rpartition(":")[0] in self._marks for mark in marks)


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

    def __init__(self, leaders: Iterable[int]) -> None:
        self._leaders = set(leaders)

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


def started_by(mark: str, leaders: Mapping[int, int]) -> Family | Groups:
    """What an adapter has started; without a mark, what is in the groups that it has told of."""
    return Family(mark, leaders) if mark else Groups(leaders)


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


def dead_children() -> set[int]:
    """What has ended and is left to this process to reap."""
    return _dead_children_of(_table())


def still_dead(pids: Iterable[int]) -> set[int]:
    """Those of them that have not been reaped since."""
    return _dead_children_of({pid: row for pid in pids if (row := row_of(pid))})


def reap(pids: Iterable[int]) -> None:
    """Reap those that have ended."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            if sys.platform != "win32":
                os.waitpid(pid, os.WNOHANG)


def _dead_children_of(table: Mapping[int, Row]) -> set[int]:
    return {pid for pid, row in table.items() if row.ended and row.parent == os.getpid()}


# -- the program


def main(mark: str, told: Iterable[str]) -> None:
    """Wait until the adapter at the other end of stdin is gone, and end what it has left. It tells of what it starts
    (`+PID:BEGAN`) and of what has ended (`-PID:BEGAN`), by that pipe, or by `told` if that was read before."""
    leaders: dict[int, int] = {}
    for word in chain(told, sys.stdin):
        pid, _, began = word[1:].strip().partition(":")
        if word.startswith("+") and pid.isdecimal() and began.isdecimal():
            leaders[int(pid)] = int(began)
        elif word.startswith("-") and pid.isdecimal():
            leaders.pop(int(pid), None)
    end(
        started_by(mark, leaders),
        grace=ORPHAN_GRACE,
        term_grace=ORPHAN_TERM_GRACE,
        kill_seconds=STUCK_SECONDS,
        quiet=QUIET_SECONDS if mark else 0.0,
    )


if __name__ == "__main__":
    for asking in ("SIGHUP", "SIGINT", "SIGTERM"):
        if hasattr(signal, asking):
            signal.signal(getattr(signal, asking), signal.SIG_IGN)
    main(sys.argv[1], sys.argv[2:])
