"""`probeCache`: what is remembered of Muse on disk, and whether it can be. Nothing is written."""

from __future__ import annotations

import os
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
    if problem is not None:
        finding.facts["problem"] = problem
        finding.warn(
            f"{cache.file} is not used: {problem}.",
            f"The next start of the adapter writes it anew; if this stays so, delete {cache.file}.",
        )
    elif muse is not None:
        _judge_entry(finding, cache, choice, muse, said)
    if problem is None and not finding.facts.get("entry"):
        finding.good(f"Nothing is remembered of this Muse yet ({cache.file}).")
    _judge_place(finding, cache.file.parent)


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


def _judge_place(finding: Finding, directory: Path) -> None:
    there = directory
    while not there.exists() and there != there.parent:
        there = there.parent
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    finding.facts["writable"] = writable
    if not writable:
        finding.warn(
            f"{there} cannot be written, so Muse is asked for its version at every start.",
            f"Make {there} a folder that you may write, or set XDG_CACHE_HOME to one.",
        )
