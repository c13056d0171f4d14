"""`leftovers`: hosts whose adapter is gone, told by the mark in their environment (`adapter.msp.process_mark`).

What a host starts inherits its mark and is left over with it: a process that began with the mark is the host itself (or
its launcher), and one that began later was started by it. An adapter that runs below a host marks its own hosts anew,
and is itself never taken for a leftover.
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
from adapter.msp.process_mark import PROC, VARIABLE, Mark, began_at, ticks_a_second, ticks_now

START_SECONDS: Final = 5.0
"""How long after its mark was made a host has begun at the latest: between the two lies only a fork, and a machine may
be busy. The tools of a host begin later, with its first turn."""

MAX_TOLD: Final = 20

MAX_ENVIRON: Final = 2 * 1024 * 1024


class Leftover(msgspec.Struct, frozen=True):
    """A host, with what it has started since."""

    pids: tuple[int, ...]
    children: tuple[int, ...]
    seconds: float


class Marked(msgspec.Struct, frozen=True):
    """A process with a mark, and when it began."""

    pid: int
    began: int
    mark: Mark


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
        count = f"{len(strays)} process{'es' if len(strays) > 1 else ''}"
        finding.good(f"{count} that tools of earlier hosts started still run: {_listed(strays)}.")
    if not hosts:
        finding.good("No host of an adapter that is gone.")
    for host in hosts[:MAX_TOLD]:
        below = f", with {len(host.children)} that it started" if host.children else ""
        pids = " ".join(map(str, host.pids))
        finding.warn(
            f"A host without its adapter runs since {_age(host.seconds)} (pid {_listed(host.pids)}{below}).",
            f"End it: kill {pids}; if it stays: kill -9 {pids}.",
        )


def marked_processes() -> list[Marked]:
    """Those of this user that have a mark; only where pids mean the same as here."""
    here = _namespace("self")
    found = []
    for name in os.listdir(PROC):  # noqa: PTH208 - thousands of names, of which only numbers count
        if name.isdecimal() and int(name) != os.getpid():
            mark = _mark_of(PROC / name)
            began = began_at(int(name))
            if mark is not None and began is not None and _namespace(name) == here:
                found.append(Marked(int(name), began, mark))
    return found


def sort_out(processes: Iterable[Marked], now: int) -> tuple[list[Leftover], list[int]]:
    """The hosts that are left over, oldest first, and the processes that outlived even those."""
    known = list(processes)
    adapters = {process.mark.adapter for process in known if _lives(process.mark)}
    families: defaultdict[Mark, list[Marked]] = defaultdict(list)
    for process in known:
        if not _lives(process.mark) and process.pid not in adapters:
            families[process.mark].append(process)
    hosts, strays = [], []
    second = ticks_a_second()
    for mark, family in families.items():
        itself = [one.pid for one in family if one.began - mark.spawned <= START_SECONDS * second]
        others = [one.pid for one in family if one.pid not in itself]
        if itself:
            hosts.append(Leftover(tuple(itself), tuple(others), (now - mark.spawned) / second))
        else:
            strays += others
    return sorted(hosts, key=lambda host: -host.seconds), sorted(strays)


def _lives(mark: Mark) -> bool:
    """Whether the adapter that made the mark is there: its pid may have been used again."""
    return began_at(mark.adapter) == mark.adapter_began


def _mark_of(process: Path) -> Mark | None:
    try:
        if sys.platform == "win32" or process.stat().st_uid != os.getuid():
            return None
        with (process / "environ").open("rb") as file:
            variables = file.read(MAX_ENVIRON).split(b"\0")
    except OSError:  # it has ended, or is none of ours
        return None
    prefix = f"{VARIABLE}=".encode()
    marks = [one.removeprefix(prefix) for one in variables if one.startswith(prefix)]
    return Mark.read(marks[-1].decode("ascii", "replace")) if marks else None


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
