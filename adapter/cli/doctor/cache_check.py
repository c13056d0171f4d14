"""`probeCache`: what is remembered of Muse on disk, and whether it can be. Nothing is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.cli.doctor.finding import Finding
from host_probe import HostVersion, VersionCache, identify


def judge_cache(finding: Finding, choice: HostChoice, muse: Sequence[str] | None, said: HostVersion) -> None:
    """`muse` is the command line of what was found, `said` the version it has just told."""
    cache = version_cache(choice)
    if cache is None:
        finding.skip("Nothing is remembered of a stand-in.")
        return
    finding.facts["file"] = str(cache.file)
    problem = cache.problem()
    place, writable = _place(cache.file.parent)
    finding.facts["writable"] = writable
    if problem is not None:
        finding.facts["problem"] = problem
        finding.warn(f"{cache.file} is not used: {problem}.", _mend(cache.file) if writable else "")
    elif muse is not None:
        _judge_entry(finding, cache, choice, muse, said)
    if problem is None and not finding.facts.get("entry"):
        finding.good(f"Nothing is remembered of this Muse yet ({cache.file}).")
    if not writable:
        finding.warn(
            f"{place} cannot be written, so nothing new is remembered of Muse, and it is asked at every start.",
            f"Make {place} a folder that you may write, or set XDG_CACHE_HOME to one.",
        )


def _mend(file: Path) -> str:
    """What helps against a file that is not used. A start of the adapter puts a new one in its place, if it can."""
    if file.is_dir():
        return f"Move {file} away: it is a folder, and nothing can be remembered while it is there."
    sticky = file.parent.stat().st_mode & stat.S_ISVTX
    if sticky and hasattr(os, "getuid") and file.lstat().st_uid not in (os.getuid(), 0) and os.getuid() != 0:
        return f"Have {file} deleted by its owner, or set XDG_CACHE_HOME to a folder of your own."
    return f"The next start of the adapter writes it anew; if this stays so, delete {file}."


def _judge_entry(
    finding: Finding, cache: VersionCache, choice: HostChoice, muse: Sequence[str], said: HostVersion
) -> None:
    identity = identify(muse, choice.environ)
    if identity is None:
        return
    remembered = cache.get(identity)
    if remembered is None:
        if cache.is_outdated(identity):
            finding.facts["entry"] = "outdated"
            finding.good(f"{cache.file} knows an earlier binary; this one is asked at the next start.")
        return
    release, build = remembered.release, remembered.build
    finding.facts |= {"entry": "current", "version": release, "build": build}
    shown = build or release
    if said.release is not None and (release, build) != (said.release, said.build):
        finding.facts["entry"] = "wrong"
        finding.warn(
            f"{cache.file} says {shown}, and Muse says {said.build or said.release}: the file that is started is the "
            "same, but not what it runs.",
            f"Delete {cache.file}; until then clients are offered what fits the version in it.",
        )
    else:
        finding.good(f"{cache.file} knows this binary as {shown}.")


def _place(directory: Path) -> tuple[Path, bool]:
    """What is there of the way to a folder, and whether it can be written to or the rest made below it."""
    there = directory
    while not there.exists() and there != there.parent:
        there = there.parent
    return there, there.is_dir() and os.access(there, os.W_OK | os.X_OK)
