"""A host that is started for the checks, asked a few things that change nothing, and ended."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Final

import anyio
import msgspec

from adapter import __version__
from adapter.acp.text import one_line
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output.read_host import READ_ONLY_FLAGS
from adapter.hosts.select import stand_in_flags
from adapter.msp.errors import HostGone, MalformedResult, MspError
from adapter.msp.handshake import SESSION_CAPABILITIES, Handshake
from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from adapter.msp.process_mark import with_mark
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from host_probe import Abilities, serve_flags

READY_SECONDS: Final = 10.0
"""How long a host may take to become ready, unless something else is asked for: with 6,000 stored sessions one needs
about a second. A store that is cold and large can need more (29 s were seen)."""

LONGEST_WAIT: Final = 600.0
"""The most that can be asked for (`adapter.cli.commands.doctor`)."""

FLAGS_SECONDS: Final = 2.5
"""How long `serve --help` may take. It is only for starting the host without write and shell."""

LIST_SECONDS: Final = 4.0
LIST_PAGES: Final = 50
PAGE_ROWS: Final = 200
"""What counting the sessions may cost. A host serves no larger pages (`msp.md §10.5`)."""

END_SECONDS: Final = 2.0
"""How long a host may take to end after its input: it has nothing to record."""

NO_ANSWER: Final = "noAnswer"
"""The kind of a refusal that is none: nothing came."""

MALFORMED: Final = "malformed"
TOO_LONG: Final = "tooLong"
"""The kinds of answers that cannot be used."""

KIND_LENGTH: Final = 64

OFF_SCRIPT: Final = "offScript"
OFF_SCRIPT_WORDS: Final = "Off script"
"""By which a recording refuses what was not recorded."""


class Refusal(msgspec.Struct, frozen=True):
    """Why the list of sessions was not given, or not to its end."""

    kind: str
    sentence: str
    not_recorded: bool = False


class SessionCount(msgspec.Struct, frozen=True):
    """How many sessions were listed; all of them if `complete`."""

    count: int = 0
    pages: int = 0
    complete: bool = False
    seconds: float = 0.0
    refusal: Refusal | None = None


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. Either `handshake` is there or `failure`."""

    command: str = ""
    """What was started, as it would be written in a shell."""
    flags: tuple[str, ...] = ()
    """Those it was started with so that it can only read."""
    limit: float = READY_SECONDS
    """Seconds it had to become ready."""
    seconds: float = 0.0
    """Seconds it took, or until it had failed."""
    handshake: Handshake | None = None
    failure: HostGone | None = None
    gone: HostGone | None = None
    """Why it ended by itself after the handshake, None if it did not."""
    abilities: Abilities | None = None
    """What it has shown to be able to do, None if it has answered nothing."""
    unanswered: frozenset[str] = frozenset()
    """The methods it was asked about and said nothing of."""
    sessions: SessionCount = SessionCount()
    last_words: str = ""
    """The end of what it wrote to stderr, without secrets."""


async def try_host(choice: HostChoice, muse: Sequence[str], background: Background, wait: float) -> Trial:
    """Start `serve` and hear what it says; it has ended when this returns. `wait` is how long it may take to become
    ready. At worst its flags, the list and the end take 12 seconds more."""
    known = await _known_flags(choice, muse)
    flags = tuple(flag for flag in READ_ONLY_FLAGS if flag in known)
    command = HostCommand([*muse, "serve", *flags], choice.environ)
    trial = await _run(choice, command, background, wait, SESSION_CAPABILITIES)
    if trial.failure is not None and OFF_SCRIPT_WORDS in trial.failure.details:
        # A recording of a host that only read was made without asking for capabilities.
        trial = await _run(choice, command, background, wait, {})
    return msgspec.structs.replace(trial, command=shlex.join(command.argv), flags=flags)


async def _known_flags(choice: HostChoice, muse: Sequence[str]) -> frozenset[str]:
    known = stand_in_flags(choice.muse) if choice.muse else None
    return known if known is not None else await serve_flags(muse, with_mark(choice.environ), FLAGS_SECONDS)


async def _run(
    choice: HostChoice, command: HostCommand, background: Background, limit: float, capabilities: Params
) -> Trial:
    host = Host(
        command,
        __version__,
        capabilities=capabilities,
        startup_timeout=limit,
        close_grace=min(choice.close_grace, END_SECONDS),
        frame_cap=choice.frame_cap,
        probes=True,
    )
    background.start(host.run)
    trial = await _heard(host, limit)
    return msgspec.structs.replace(trial, last_words=host.last_words)


async def _heard(host: Host, limit: float) -> Trial:
    """What the host says; it has ended afterwards."""
    began = time.monotonic()
    try:
        handshake = await host.ready()
        seconds = time.monotonic() - began
        sessions = await count_sessions(host)
        abilities = await _abilities(host)
        await host.wait_if_ending()
        return Trial(
            limit=limit,
            seconds=seconds,
            handshake=handshake,
            gone=host.gone,
            abilities=abilities,
            unanswered=host.unanswered,
            sessions=sessions,
        )
    except HostGone as failure:
        return Trial(limit=limit, seconds=time.monotonic() - began, failure=failure)
    finally:
        with anyio.CancelScope(shield=True):
            await host.close()


async def _abilities(host: Host) -> Abilities | None:
    """What it has shown; None if it ended meanwhile, or has answered nothing of what it was asked."""
    try:
        shown = await host.abilities()
    except HostGone:
        return None
    return shown if host.has_told_abilities or shown != Abilities() else None


async def count_sessions(host: Host) -> SessionCount:
    """How many sessions the host lists, as far as pages and time go."""
    began = time.monotonic()
    count = pages = 0
    complete, refusal = False, None
    params: Params = {"limit": PAGE_ROWS}
    with anyio.move_on_after(LIST_SECONDS):
        while pages < LIST_PAGES and not complete and refusal is None:
            try:
                page = await host.query("session/list", params)
            except (MspError, HostGone) as error:
                refusal = _refusal(error)
                break
            rows, following = page.get("sessions"), page.get("nextCursor")
            if not isinstance(rows, list):
                refusal = Refusal(MALFORMED, "its answer holds no list of sessions")
                break
            count, pages = count + len(rows), pages + 1
            complete = not isinstance(following, str) or following == params.get("cursor")
            params = {"limit": PAGE_ROWS, "cursor": following}
    if not pages and refusal is None:
        refusal = Refusal(NO_ANSWER, f"nothing came within {LIST_SECONDS:g} s")
    return SessionCount(count, pages, complete, time.monotonic() - began, refusal)


def _refusal(error: MspError | HostGone) -> Refusal:
    if isinstance(error, MspError):
        # What it is called by the host goes into the report as well.
        kind = one_line(error.kind, KIND_LENGTH)
        return Refusal(kind, f"{error.message} ({kind})", error.data.get("reason") == OFF_SCRIPT)
    if isinstance(error, MalformedResult):
        # Its words are those of the envelope for a line above the cap.
        kind = TOO_LONG if error.details.startswith("longer than") else MALFORMED
        return Refusal(kind, f"its answer cannot be used: {error.details}")
    return Refusal("gone", error.details)
