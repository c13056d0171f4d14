"""What the host that was started has shown: `handshake`, `login`, `sessionStore`. Judged here, without a host."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.hosts.login import API_KEY
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.trial import (
    LIST_PAGES,
    LIST_SECONDS,
    LONGEST_WAIT,
    NO_ANSWER,
    PAGE_ROWS,
    TOO_LONG,
    Refusal,
    SessionCount,
    Trial,
)
from adapter.msp.errors import HostStartError
from adapter.msp.handshake import Handshake
from adapter.msp.secrets import scrub
from host_probe import HostVersion, known_fingerprint, parse_server_version

MANY_SESSIONS: Final = 3000
"""A host with 6,000 needs a second to start, one with none 80 ms."""

SLOW_SECONDS: Final = 5.0
"""A start that is noticed."""

AUTH_REQUIRED: Final = "authRequired"

_KEEPS_NOTHING: Final = "ephemeral"

_SANDBOX_FIXES: Final = {
    "userNamespacesDenied": "Allow unprivileged user namespaces on this machine, or start Muse where they are allowed.",
    "bubblewrapUnavailable": "Install bubblewrap (the program bwrap).",
}


def judge_handshake(finding: Finding, trial: Trial, said: HostVersion, choice: HostChoice) -> None:
    """`handshake`. `said` is the version that `--version` has told."""
    finding.facts |= {"flags": list(trial.flags), "seconds": round(trial.seconds, 3), "limitSeconds": trial.limit}
    if trial.handshake is None:
        _judge_failure(finding, trial, choice)
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
    _judge_life(finding, trial, choice)
    _judge_server_version(finding, shaken.server_version, said)
    _judge_promises(finding, shaken)


def _judge_life(finding: Finding, trial: Trial, choice: HostChoice) -> None:
    """Whether it would do for serving: it must be ready in time, and live."""
    if trial.gone is not None:
        finding.facts["reason"] = "hostGone"
        finding.fail(f"It ended by itself after that: {_sentence(trial.gone.details)}", _run(trial))
    if trial.seconds > choice.startup_timeout:
        finding.fail(
            f"Serving gives up after {choice.startup_timeout:g} s.",
            f"Raise --startup-timeout to {_longer(trial.seconds)}, in the editor's settings too.",
        )


def _judge_failure(finding: Finding, trial: Trial, choice: HostChoice) -> None:
    failure = trial.failure
    assert failure is not None
    start = failure if isinstance(failure, HostStartError) else None
    reason = start.reason if start is not None else "hostGone"
    finding.facts |= {"reason": reason, "exitCode": start.exit_code if start is not None else None}
    sentence = _sentence(failure.details)
    if start is not None and start.kind == AUTH_REQUIRED:
        finding.fail(sentence, _login_advice(choice.environ))
    elif reason != "hostStartTimeout":
        finding.fail(sentence, _run(trial))
    else:
        finding.facts["unanswered"] = "initialize"
        _judge_slowness(finding, trial, sentence, choice.startup_timeout)


def _judge_slowness(finding: Finding, trial: Trial, sentence: str, serving: float) -> None:
    """It lives and has not answered. Serving may wait longer than was waited here."""
    hangs = f"if it hangs, run `{trial.command}` in a terminal to see what it says."
    if trial.limit < serving:
        longer = f"Ask again with --wait {min(serving, LONGEST_WAIT):g}, if it is only slow"
        finding.warn(f"{sentence} Serving would wait {serving:g} s.", f"{longer}; {hangs}")
    elif trial.limit < LONGEST_WAIT:
        longer = f"Raise --startup-timeout to {_longer(trial.limit)}, in the editor's settings too, if it is only slow"
        finding.fail(f"{sentence} Serving waits no longer either.", f"{longer}; {hangs}")
    else:
        finding.fail(f"{sentence} Serving waits no longer either.", _run(trial))


def _longer(seconds: float) -> str:
    """A time that is clearly longer, and not above what can be waited here."""
    return f"{min(LONGEST_WAIT, max(10.0, 10 * ceil(seconds * 0.3))):g}"


def _run(trial: Trial) -> str:
    return f"Run `{trial.command}` in a terminal to see what it says."


def _login_advice(environ: Mapping[str, str]) -> str:
    if environ.get(API_KEY):
        return f"{API_KEY} counts before a stored login: renew it, or unset it and run `muse-adapter login`."
    return "Run `muse-adapter login`."


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
        odd = shaken.durability != _KEEPS_NOTHING
        finding.warn(
            f"It does not promise to keep sessions (it says {shaken.durability!r}), so none is counted on."
            if odd
            else "It keeps no sessions: they are gone when it ends.",
            "Look for a newer muse-adapter, which may know what that means."
            if odd
            else "Start Muse without --no-session-log, if it is a script of yours that adds it.",
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
    if refusal is not None and refusal.kind == AUTH_REQUIRED:
        finding.facts["refused"] = True
        key = f"{API_KEY} is set, and the" if has_key else "The"
        finding.fail(f"{key} host refuses to list sessions for lack of a login.", _login_advice(environ))
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
        count = f"At least {count}: {_stopped(listed, environ)}"
    sentence = f"{count}; the host was ready in {trial.seconds:.2f} s."
    if listed.refusal is not None:
        finding.facts["refusal"] = scrub(listed.refusal.kind, environ)
        finding.warn(sentence, "Sessions behind those cannot be found from an editor.")
    elif not listed.complete or listed.count >= MANY_SESSIONS or trial.seconds >= SLOW_SECONDS:
        finding.warn(
            sentence,
            "Raise --startup-timeout if starts take longer than the adapter waits; "
            "deleting sessions that are not needed makes them shorter.",
        )
    else:
        finding.good(sentence)


def _stopped(listed: SessionCount, environ: Mapping[str, str]) -> str:
    """Which limit ended the counting."""
    if listed.refusal is not None:
        return f"the list broke off ({scrub(listed.refusal.sentence, environ).rstrip('.')})"
    if listed.pages >= LIST_PAGES:
        return f"no more than {LIST_PAGES * PAGE_ROWS:,} are counted"
    return f"listing them took longer than {LIST_SECONDS:g} s"


def _judge_refusal(finding: Finding, refusal: Refusal, environ: Mapping[str, str]) -> None:
    finding.facts["refusal"] = scrub(refusal.kind, environ)
    if refusal.not_recorded:
        finding.skip("The recording has no list of sessions.")
    elif refusal.kind == NO_ANSWER:
        finding.facts["unanswered"] = "session/list"
        finding.warn(
            f"The host did not answer session/list: {refusal.sentence}.",
            "Look whether `muse` works in a terminal; a host that answers nothing serves nobody.",
        )
    elif refusal.kind == AUTH_REQUIRED:
        finding.skip("The host lists no sessions without a login.")
    else:
        finding.warn(
            f"The host did not list its sessions: {_sentence(scrub(refusal.sentence, environ))}",
            "Raise --msp-frame-cap, or leave it out."
            if refusal.kind == TOO_LONG
            else "Earlier sessions cannot be found from an editor then; see whether `muse` in a terminal has them.",
        )


def _sentence(text: str) -> str:
    """With one full stop at its end."""
    return f"{text.rstrip('.')}."
