"""What the host that was started has shown: `handshake`, `login`, `sessionStore`. Judged here, without a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from adapter.bridge.hosts.login import API_KEY
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.trial import Refusal, Trial
from adapter.msp.handshake import Handshake
from adapter.msp.host import HostStartError
from adapter.msp.secrets import scrub
from host_probe import HostVersion, known_fingerprint, parse_server_version

MANY_SESSIONS: Final = 3000
"""A host with 6,000 needs a second to start, one with none 80 ms."""

SLOW_SECONDS: Final = 5.0
"""A start that is noticed."""

_SANDBOX_FIXES: Final = {
    "userNamespacesDenied": "Allow unprivileged user namespaces on this machine, or start Muse where they are allowed.",
    "bubblewrapUnavailable": "Install bubblewrap (the program bwrap).",
}


def judge_handshake(finding: Finding, trial: Trial, said: HostVersion) -> None:
    """`handshake`. `said` is the version that `--version` has told."""
    finding.facts |= {"flags": list(trial.flags), "seconds": round(trial.seconds, 3), "limitSeconds": trial.limit}
    if trial.handshake is None:
        _judge_failure(finding, trial)
        return
    shaken = trial.handshake
    schema = known_fingerprint(shaken.fingerprint)
    finding.facts |= {
        "serverName": shaken.server_name,
        "serverVersion": shaken.server_version,
        "fingerprint": shaken.fingerprint,
        "schema": schema,
        "durable": shaken.durable,
        "granted": sorted(shaken.granted),
        "sandboxProblem": shaken.sandbox_problem,
    }
    how = f" with {' and '.join(trial.flags)}" if trial.flags else ""
    granted = ", ".join(sorted(shaken.granted)) or "nothing"
    known = f"its schema is that of {schema}" if schema else "its schema is not known here, which costs nothing"
    finding.good(
        f"`serve`{how} was ready in {trial.seconds:.2f} s: {shaken.server_name or 'a host without a name'} "
        f"{shaken.server_version or 'without a version'}; {known}; it grants {granted}."
    )
    _judge_server_version(finding, shaken.server_version, said)
    _judge_promises(finding, shaken)


def _judge_failure(finding: Finding, trial: Trial) -> None:
    failure = trial.failure
    reason = failure.reason if isinstance(failure, HostStartError) else "hostGone"
    finding.facts |= {"reason": reason, "exitCode": failure.exit_code if isinstance(failure, HostStartError) else None}
    if reason == "hostStartTimeout":
        fix = (
            f"Wait longer with --wait {trial.limit * 6:g}, if it is only slow; "
            f"if it hangs, run `{trial.command}` in a terminal to see what it says."
        )
    else:
        fix = f"Run `{trial.command}` in a terminal to see what it says."
    finding.fail(_sentence(str(failure)), fix)


def _judge_server_version(finding: Finding, server_version: str, said: HostVersion) -> None:
    """Reads are made only if the running host names a verified release itself (check 6 of a read)."""
    server = parse_server_version(server_version)
    if said.release is None:
        return
    shown = said.build or said.release
    if server.release is None:
        finding.warn(
            f"It names no release ({server_version!r}), while `--version` says {shown}.",
            "Nothing can be done about it; reads of stored output are refused on such a host.",
        )
    elif server.release != said.release or (server.build and said.build and server.build != said.build):
        finding.warn(
            f"It says {server_version}, while `--version` says {shown}: `muse` starts something else than it names.",
            "Finish or undo the update of Muse; until then reads of stored output may be refused.",
        )


def _judge_promises(finding: Finding, shaken: Handshake) -> None:
    if not shaken.durable:
        finding.warn(
            "It keeps no sessions: they are gone when it ends.",
            "Start Muse without --no-session-log, if it is a script of yours that adds it.",
        )
    if shaken.sandbox_problem is not None:
        finding.warn(
            f"It cannot sandbox tools ({shaken.sandbox_problem}), so shell commands may all fail.",
            _SANDBOX_FIXES.get(shaken.sandbox_problem, "Look at what Muse says about its sandbox."),
        )


def judge_login(finding: Finding, trial: Trial, environ: Mapping[str, str]) -> None:
    """`login`. Muse has no command that tells whether there is one (`adapter.bridge.hosts.login`)."""
    has_key = bool(environ.get(API_KEY))
    refusal = trial.sessions.refusal
    finding.facts |= {"key": has_key}
    if refusal is not None and refusal.kind == "authRequired":
        finding.facts["refused"] = True
        key = f"{API_KEY} is set, and the" if has_key else "The"
        finding.fail(f"{key} host refuses to list sessions for lack of a login.", "Run `muse-adapter login`.")
    elif has_key:
        finding.good(f"{API_KEY} is set and stands in for a login; whether Muse accepts it shows only in a turn.")
    else:
        finding.skip(
            "Muse tells of its login only in a turn, and none is run here.",
            "Run `muse-adapter login` if a prompt fails for lack of a login.",
        )


def judge_session_store(finding: Finding, trial: Trial, environ: Mapping[str, str]) -> None:
    """`sessionStore`."""
    listed = trial.sessions
    finding.facts |= {
        "count": listed.count,
        "complete": listed.complete,
        "listSeconds": round(listed.seconds, 3),
        "startSeconds": round(trial.seconds, 3),
    }
    if listed.refusal is not None and not listed.count:
        _judge_refusal(finding, listed.refusal, environ)
        return
    count = f"{listed.count:,} stored session{'' if listed.count == 1 else 's'}"
    if not listed.complete:
        ended = f"counting was stopped after {listed.seconds:.1f} s"
        count = f"At least {count}, {scrub(listed.refusal.sentence, environ) if listed.refusal else ended}"
    sentence = f"{count}; the host was ready in {trial.seconds:.2f} s."
    if listed.count >= MANY_SESSIONS or trial.seconds >= SLOW_SECONDS:
        finding.warn(
            sentence,
            "Raise --startup-timeout if starts take longer than the adapter waits; "
            "deleting sessions that are not needed makes them shorter.",
        )
    else:
        finding.good(sentence)


def _judge_refusal(finding: Finding, refusal: Refusal, environ: Mapping[str, str]) -> None:
    finding.facts["refusal"] = refusal.kind
    if refusal.not_recorded:
        finding.skip("The recording has no list of sessions.")
    elif refusal.kind == "authRequired":
        finding.skip("The host lists no sessions without a login.")
    else:
        finding.warn(
            f"The host did not list its sessions: {_sentence(scrub(refusal.sentence, environ))}",
            "Earlier sessions cannot be found from an editor then; see whether `muse` in a terminal has them.",
        )


def _sentence(text: str) -> str:
    """With one full stop at its end."""
    return f"{text.rstrip('.')}."
