"""Which Muse there is: `executable`, `version`, `surfaces`. Nothing is started here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from adapter.bridge.hosts.host_choice import WITHOUT_MUSE, HostChoice, resolve_muse
from adapter.cli.doctor.deciding import Decision
from adapter.cli.doctor.finding import Finding
from adapter.hosts.recorded.script import ScriptError, load_script
from adapter.hosts.select import STAND_INS
from adapter.msp.errors import HostStartError
from adapter.msp.secrets import scrub
from host_probe import (
    Found,
    HostVersion,
    NotFound,
    Probe,
    Verified,
    every_muse,
    find_muse,
    is_newer_than_known,
    parse_server_version,
    releases_verified_for_reading,
    verified_for_reading,
)
from host_probe.locate import MUSE_EXECUTABLE

_WON_BY: Final = {
    "--muse": "was named with --muse",
    MUSE_EXECUTABLE: f"was named with {MUSE_EXECUTABLE}",
    "PATH": "is the first on PATH",
    "usual place": "is in one of the usual places, and none is on PATH",
}


def stand_in(choice: HostChoice) -> str | None:
    """Which stand-in was chosen: `simulated` or `recorded`; None for a Muse."""
    kind = (choice.muse or "").partition(":")[0]
    return kind if kind in STAND_INS else None


def look_for(finding: Finding, choice: HostChoice) -> tuple[Sequence[str], str] | None:
    """`executable`. Gives the command line of `muse` and where it was found, or which stand-in it is."""
    kind = stand_in(choice)
    try:
        command = resolve_muse(choice)
    except HostStartError as error:
        _nothing(finding, choice, error)
        return None
    if kind is not None:
        finding.facts |= {"standIn": kind}
        unplayable = _unplayable(choice)
        if unplayable is not None:
            finding.fail(_sentence(unplayable), "Name the folder of a recording of a Muse host behind recorded:.")
            return None
        finding.good(f"{choice.muse} stands in for Muse, so no Muse is looked for.")
        return command, kind
    found = find_muse(choice.muse, choice.environ, choice.home)
    # It was found a moment ago; what has gone since then shows when it is started.
    source = found.source if isinstance(found, Found) else "PATH"
    real_path = found.real_path if isinstance(found, Found) else Path(command[0])
    leads = "" if str(real_path) == command[0] else f" It leads to {real_path}."
    finding.facts |= {"path": command[0], "realPath": str(real_path), "source": source}
    finding.good(f"{command[0]} {_WON_BY[source]}.{leads}")
    if source == "--muse" and choice.environ.get(MUSE_EXECUTABLE):
        finding.good(f"{MUSE_EXECUTABLE} is set as well, and comes second.")
    _tell_of_others(finding, choice, source, real_path)
    return command, source


def _unplayable(choice: HostChoice) -> str | None:
    """Why a recording cannot stand in for a host; None if it can, or if none was chosen."""
    kind, _, folder = (choice.muse or "").partition(":")
    if kind != "recorded":
        return None
    try:
        script = load_script(Path(folder))
    except ScriptError as error:
        return str(error)
    return None if script.manifest.protocol == "msp" else f"What is recorded in {folder} is an agent, and no Muse host"


def _sentence(text: str) -> str:
    """With one full stop at its end."""
    return f"{text.rstrip('.')}."


def _nothing(finding: Finding, choice: HostChoice, error: HostStartError) -> None:
    searched = None if stand_in(choice) else find_muse(choice.muse, choice.environ, choice.home)
    if not isinstance(searched, NotFound):
        # Every sentence about a stand-in that is none says what there is instead.
        finding.fail(_sentence(error.details), "Choose a stand-in that exists, or leave --muse out.")
        return
    tried = [{"source": one.source, "place": one.place, "why": one.why} for one in searched.attempts]
    finding.facts["tried"] = tried
    where = "; ".join(f"{one['place']} ({one['why']})" for one in tried[:_SHOWN]) or "nothing: PATH names no folder"
    more = f"; and {len(tried) - _SHOWN} more" if len(tried) > _SHOWN else ""
    finding.fail(
        f"Muse was not found. Tried: {where}{more}.",
        f"Install Muse, or name its executable with --muse or {MUSE_EXECUTABLE}. {WITHOUT_MUSE}",
    )


_SHOWN: Final = 8
"""Places in the sentence; the facts have all."""


def _tell_of_others(finding: Finding, choice: HostChoice, source: str, chosen: Path) -> None:
    others = [str(one.path) for one in every_muse(choice.environ, choice.home) if one.real_path != chosen]
    finding.facts["others"] = others
    if not others:
        return
    names = ", ".join(others)
    if source in ("--muse", MUSE_EXECUTABLE):
        finding.good(f"Not used: {names}.")
    else:
        finding.warn(
            f"There are others behind it: {names}.",
            f"Name the one you mean with --muse or {MUSE_EXECUTABLE}: an editor may have another PATH.",
        )


def judge_version(finding: Finding, probe: Probe, choice: HostChoice) -> None:
    """`version`."""
    version = probe.version
    raw = scrub(version.raw, choice.environ)
    finding.facts |= facts_of(version) | {"raw": raw, "seconds": round(probe.elapsed_seconds, 3)}
    if probe.problem is not None:
        _tell_problem(finding, probe, choice)
        return
    finding.good(f"Muse {version.build or version.release} (said in {probe.elapsed_seconds:.2f} s).")
    if is_newer_than_known(version):
        finding.warn(
            "That is newer than any version this adapter knows.",
            "Look for a newer muse-adapter; this one goes on with what the host says it can do.",
        )


def _tell_problem(finding: Finding, probe: Probe, choice: HostChoice) -> None:
    finding.facts |= {"problem": probe.problem, "exitCode": probe.exit_code}
    details = scrub(probe.details or "", choice.environ)
    if probe.problem == "spawnFailed":
        finding.fail(details, "Name an executable of Muse that can be started with --muse.")
    else:
        finding.warn(details, "Run it in a terminal to see what it says; without a version no output can be read.")


def facts_of(version: HostVersion) -> dict[str, Any]:
    """A version for programs."""
    return {"version": version.release, "build": version.build}


def judge_surfaces(finding: Finding, decision: Decision, live: str | None, environ: Mapping[str, str]) -> None:
    """`surfaces`. `live` is the version that a host has said in the handshake, None if there was none."""
    version = decision.version
    verdict = verified_for_reading(version)
    where = " or ".join(releases_verified_for_reading())
    finding.facts |= {
        "storedOutput": verdict.reason,
        "verifiedReleases": {"storedOutput": releases_verified_for_reading()},
        "version": version.build or version.release,
        "remembered": decision.remembered,
    }
    by = " That is what is remembered of this Muse, which counts here." if decision.remembered else ""
    if isinstance(verdict, Verified):
        _tell_evidence(finding, verdict, by)
        if live is not None and not isinstance(verified_for_reading(parse_server_version(live)), Verified):
            finding.facts["readsRefused"] = True
            finding.warn(
                f"Every read is refused all the same: the host that was started says {scrub(live, environ)!r}.",
                f"Use Muse {where} where stored output has to be read.",
            )
        return
    unheard = (
        f" That a running host says {scrub(live, environ)!r} comes too late." if live and not version.release else ""
    )
    finding.warn(
        f"Stored output is not offered. {scrub(decision.output.reason, environ)}{by}{unheard}",
        f"Use Muse {where} where stored output has to be read; everything else works without.",
    )


def _tell_evidence(finding: Finding, verdict: Verified, by: str) -> None:
    entry = verdict.entry
    finding.facts["note"] = entry.note
    recordings = ""
    # Recordings are part of a checkout, and not of what is installed.
    if (_ROOT / entry.evidence).is_dir():
        finding.facts["evidence"] = entry.evidence
        recordings = f" Recordings: {entry.evidence}."
    finding.good(f"{verdict.details}{by} That rests on this: {entry.note}.{recordings}")


_ROOT: Final = Path(__file__).parents[3]
