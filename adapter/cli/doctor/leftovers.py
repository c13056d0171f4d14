"""`leftovers`: hosts whose adapter is gone, told by the mark in their environment (`adapter.msp.process_mark`).

What a host starts inherits its mark and is left over with it. The host itself is what an adapter starts: the leader of
a session of its own, with the arguments that an adapter gives, begun when the mark was made. Everything else with the
mark was started by it; what is in its session goes with it, and what has left that, as servers do that go into the
background, outlives it and may be wanted. An adapter that runs below a host marks its own hosts anew, and is itself
never taken for a leftover.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from adapter.cli.doctor.finding import Finding
from adapter.msp.process_mark import Mark, ticks_a_second, ticks_now
from adapter.msp.sweep import MAX_ENVIRON, PROC, began_at, marks_of, row_of

START_SECONDS: Final = 5.0
"""How long after its mark was made a host has begun at the latest: between the two lies only a fork, and a machine may
be busy."""

STARTED_WITH: Final = frozenset({b"serve", b"--version", b"logout"})
"""Arguments of everything that an adapter starts of Muse and marks."""

MAX_TOLD: Final = 20


class Leftover(msgspec.Struct, frozen=True):
    """A host, with what it has started since."""

    pids: tuple[int, ...]
    children: tuple[int, ...]
    seconds: float


class Marked(msgspec.Struct, frozen=True):
    """A process with a mark, and when it began. `session` is the pid of its session's leader, `ours` says that its
    arguments are some that an adapter gives."""

    pid: int
    began: int
    mark: Mark
    session: int
    ours: bool


def look_for_leftovers(finding: Finding) -> None:
    """The check."""
    if not (PROC / "self" / "environ").exists():
        finding.skip("Processes can be told apart by their environment only where there is /proc.")
        return
    hosts, strays = sort_out(marked_processes(), ticks_now())
    finding.facts["hosts"] = [
        {"pids": host.pids, "children": host.children, "seconds": round(host.seconds)} for host in hosts[:MAX_TOLD]
    ]
    finding.facts["strays"] = strays[:MAX_TOLD]
    if strays:
        one = "A process that an earlier host started still runs"
        many = f"{len(strays)} processes that earlier hosts started still run"
        finding.good(f"{one if len(strays) == 1 else many}: {_listed(strays)}.")
    if not hosts:
        finding.good("No host of an adapter that is gone.")
    for host in hosts[:MAX_TOLD]:
        below = f", with {len(host.children)} that it started" if host.children else ""
        pids = " ".join(map(str, host.pids))
        finding.warn(
            f"A host without its adapter has been running for {_age(host.seconds)} (pid {_listed(host.pids)}{below}).",
            f"End it: kill {pids}; if it stays: kill -9 {pids}.",
        )


def marked_processes() -> list[Marked]:
    """Those of this user that have a mark; only where pids mean the same as here."""
    here = _namespace("self")
    found = []
    for name in os.listdir(PROC):  # noqa: PTH208 - thousands of names, of which only numbers count
        if name.isdecimal() and int(name) != os.getpid():
            mark = _mark_of(int(name))
            began = began_at(int(name))
            if mark is not None and began is not None and _namespace(name) == here:
                found.append(Marked(int(name), began, mark, _session_of(int(name)), _is_ours(PROC / name)))
    return found


def sort_out(processes: Iterable[Marked], now: int) -> tuple[list[Leftover], list[int]]:
    """The hosts that are left over, oldest first, and the processes that outlived even those. What this runs below is
    none of those: it is the shell that somebody asks from."""
    known = list(processes)
    adapters = {process.mark.adapter for process in known if _lives(process.mark)}
    above = _ancestors(os.getpid())
    families: defaultdict[Mark, list[Marked]] = defaultdict(list)
    for process in known:
        if not _lives(process.mark) and process.pid not in adapters:
            families[process.mark].append(process)
    hosts, strays = [], []
    second = ticks_a_second()
    for mark, family in families.items():
        early = [one for one in family if one.ours and one.began - mark.spawned <= START_SECONDS * second]
        leader = next((one.pid for one in early if one.pid == one.session), None)
        # A launcher and the host that it has started are both what was started.
        itself = [one.pid for one in early if one.session == leader]
        others = [one.pid for one in family if one.pid not in itself]
        if itself:
            hosts.append(Leftover(tuple(itself), tuple(others), (now - mark.spawned) / second))
        else:
            strays += [pid for pid in others if pid not in above]
    return sorted(hosts, key=lambda host: -host.seconds), sorted(strays)


def _lives(mark: Mark) -> bool:
    """Whether the adapter that made the mark is there: its pid may have been used again."""
    return began_at(mark.adapter) == mark.adapter_began


def _mark_of(pid: int) -> Mark | None:
    try:
        if sys.platform == "win32" or (PROC / str(pid)).stat().st_uid != os.getuid():
            return None
    except OSError:  # it has ended
        return None
    marks = marks_of(pid)
    return Mark.read(marks[-1]) if marks else None


def _session_of(pid: int) -> int:
    """The pid of the leader of its session, 0 if it has ended."""
    row = row_of(pid)
    return row.session if row is not None else 0


def _is_ours(process: Path) -> bool:
    try:
        with (process / "cmdline").open("rb") as file:
            return not STARTED_WITH.isdisjoint(file.read(MAX_ENVIRON).split(b"\0"))
    except OSError:
        return False


def _ancestors(pid: int) -> set[int]:
    """What a process runs below."""
    above: set[int] = set()
    while pid > 1:
        row = row_of(pid)
        if row is None or row.parent in above:
            break
        pid = row.parent
        above.add(pid)
    return above


def _namespace(name: str) -> str:
    """The numbering of processes that a process lives in; its pids mean nothing in another."""
    try:
        return str((PROC / name / "ns" / "pid").readlink())
    except OSError:
        return ""


def _listed(pids: Iterable[int]) -> str:
    told = list(pids)
    return ", ".join(map(str, told[:MAX_TOLD])) + (f" and {len(told) - MAX_TOLD} more" if len(told) > MAX_TOLD else "")


def _age(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{seconds:.0f} s"
