"""What clients would be offered on the Muse that was found, and why something is not.

`initialize` is played with the code that serves it (`adapter.bridge.offer`), and what it offers is read off its answer.
What is offered without being named there hangs on one thing each: something the client said, or something the host
granted. Nothing is started here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from adapter import __version__
from adapter.acp.capabilities import (
    ASYNC_TASKS,
    SESSION_STEERING,
    STEERING,
    STORED_OUTPUT,
    AgentCapabilities,
    ClientCapabilities,
)
from adapter.bridge.hosts.host_choice import HostChoice, remembered_abilities, version_cache
from adapter.bridge.offer import Settled, capabilities_on, initialize_result
from adapter.bridge.stored_output.negotiation import NOT_ASKED, Negotiation
from adapter.bridge.stored_sessions.mcp import takes_servers
from adapter.cli.doctor.client_profiles import PROFILES, ClientProfile
from adapter.cli.doctor.deciding import decide
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.report import Offer, Withheld
from adapter.msp.abilities import LISTING
from adapter.msp.errors import HostStartError
from adapter.wire.envelope import Params
from host_probe import Abilities

RECORDED: Final = "recorded:"


class Known(msgspec.Struct, frozen=True):
    """What `initialize` can go by: what is remembered of the host, else what it has just told."""

    muse: str | None
    """Which Muse the user has chosen."""
    output: Negotiation
    """What a client that asks for stored output is told."""
    abilities: Abilities | None
    granted: frozenset[str] | None
    nobody: str
    """Why a host has not told, where it has not."""
    unanswered: frozenset[str] = frozenset()
    """What it was asked and has not answered, by method."""


class Case(msgspec.Struct, frozen=True):
    """One client on one host. `answer` is what its `initialize` is answered, `ours` what that advertises."""

    client: ClientCapabilities
    ours: AgentCapabilities
    answer: Params
    known: Known


class Feature(msgspec.Struct, frozen=True):
    """Something that a client may be offered; `reason` is a sentence that says why it is not."""

    name: str
    is_offered: Callable[[Case], bool]
    reason: Callable[[Case], str]


def known_of(choice: HostChoice, facts: MuseFacts) -> Known:
    """What serving would know of the host, from the same places in the same order. Reads what is remembered."""
    cache = version_cache(choice, learns=False)
    try:
        remembered = remembered_abilities(choice, cache)
    except HostStartError:
        remembered = None
    return Known(
        muse=choice.muse,
        output=decide(choice, facts.command, facts.version, facts.version_problem).output,
        abilities=facts.abilities if remembered is None else remembered,
        granted=facts.handshake.granted if facts.handshake is not None else None,
        nobody=_nobody(choice, facts),
        unanswered=facts.unanswered if remembered is None else frozenset(),
    )


def _nobody(choice: HostChoice, facts: MuseFacts) -> str:
    if not facts.command:
        return "no Muse was found"
    if (choice.muse or "").startswith(RECORDED):
        # It refuses whatever is not in it, also what its host would have answered.
        return "the recording does not tell"
    return "the host did not answer"


def offers(choice: HostChoice, facts: MuseFacts, profiles: Sequence[ClientProfile] = PROFILES) -> tuple[Offer, ...]:
    """What each client would be offered."""
    known = known_of(choice, facts)
    return tuple(_offer(profile.name, case_of(profile, known)) for profile in profiles)


def case_of(profile: ClientProfile, known: Known) -> Case:
    """Play the client's `initialize`."""
    client = profile.capabilities()
    ours = capabilities_on(known.abilities or Abilities())
    settled = Settled(client, known.output if client.stored_output else NOT_ASKED, ours)
    return Case(client, ours, initialize_result(settled, client, known.muse, __version__), known)


def _offer(name: str, case: Case) -> Offer:
    offered = tuple(feature.name for feature in FEATURES if feature.is_offered(case))
    withheld = tuple(
        Withheld(feature.name, feature.reason(case)) for feature in FEATURES if feature.name not in offered
    )
    return Offer(name, offered, withheld)


# -- where the answer names it


def _member(*path: str) -> Callable[[Case], bool]:
    """Whether `agentCapabilities` has it: a true member, or an object as a mark."""

    def is_offered(case: Case) -> bool:
        value = case.answer["agentCapabilities"]
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value is True or isinstance(value, dict)

    return is_offered


def _extension(name: str) -> Callable[[Case], bool]:
    return lambda case: name in case.answer.get("_meta", {})


def _login(kind: str) -> Callable[[Case], bool]:
    """Whether there is a way to log in of this kind; the usual one does not name it."""
    return lambda case: any(method.get("type", "agent") == kind for method in case.answer["authMethods"])


# -- why it is not offered


def _because(sentence: str) -> Callable[[Case], str]:
    return lambda _case: sentence


_NOT_OURS: Final = _because("This adapter does not offer it.")


def _unasked(member: str, instead: str = "") -> Callable[[Case], str]:
    return _because(f"The client did not send clientCapabilities.{member}{instead}.")


def _host_lacks(what: str, asked_by: str) -> Callable[[Case], str]:
    """For what only some hosts can do, and show when they are asked by a method."""

    def reason(case: Case) -> str:
        if case.known.abilities is None or asked_by in case.known.unanswered:
            return f"It is not known whether this host has {what}: {case.known.nobody}."
        return f"This host does not have {what}."

    return reason


def _takes_servers(case: Case) -> bool:
    return case.known.granted is not None and takes_servers(case.known.granted)


def _servers_refused(case: Case) -> str:
    if case.known.granted is None:
        return f"It is not known whether this host takes any from a client: {case.known.nobody}."
    return "This host takes none from a client: it did not grant sessionMcp. They can be set up in Muse."


def _http_refused(case: Case) -> str:
    """`initialize` is answered before a host has said what it grants, so it names what Muse has at all."""
    return f"The answer to initialize names it for every host. {_servers_refused(case)}"


def _output_refused(case: Case) -> str:
    if not case.client.stored_output:
        return _unasked('_meta["muse/output"] = 1')(case)
    return case.known.output.reason


FEATURES: Final = (
    Feature("loadSession", _member("loadSession"), _NOT_OURS),
    Feature("session/list", _member("sessionCapabilities", "list"), _NOT_OURS),
    Feature("session/resume", _member("sessionCapabilities", "resume"), _NOT_OURS),
    Feature("session/fork", _member("sessionCapabilities", "fork"), _host_lacks("session/fork", "session/fork")),
    Feature("session/close", _member("sessionCapabilities", "close"), _NOT_OURS),
    Feature(
        "session/delete", _member("sessionCapabilities", "delete"), _host_lacks("session/delete", "session/delete")
    ),
    Feature(
        "additionalDirectories",
        _member("sessionCapabilities", "additionalDirectories"),
        _host_lacks("sessions in several folders", LISTING),
    ),
    Feature("prompt.image", _member("promptCapabilities", "image"), _NOT_OURS),
    Feature("prompt.audio", _member("promptCapabilities", "audio"), _because("Muse takes no audio in a prompt.")),
    Feature("prompt.embeddedContext", _member("promptCapabilities", "embeddedContext"), _NOT_OURS),
    Feature("mcpServers", _takes_servers, _servers_refused),
    Feature("mcp.http", _takes_servers, _http_refused),
    Feature(
        "mcp.sse",
        _member("mcpCapabilities", "sse"),
        _because("Muse reaches servers by stdio and streamable HTTP only."),
    ),
    Feature("login", _login("agent"), _NOT_OURS),
    Feature("login.terminal", _login("terminal"), _unasked("auth.terminal = true")),
    Feature("logout", _member("auth", "logout"), _NOT_OURS),
    Feature("modes", lambda case: case.ours.modes, _NOT_OURS),
    Feature("configOptions", lambda case: case.ours.config_options, _NOT_OURS),
    Feature("booleanOptions", lambda _case: False, _because("Each option of this adapter is a choice from a list.")),
    Feature(
        "elicitation.form",
        lambda case: case.client.elicitation_form,
        _unasked("elicitation.form = {}", "; questions are text, and the next message is the answer"),
    ),
    Feature(
        "terminalCards",
        lambda case: case.client.terminal_output,
        _unasked("_meta.terminal_output = true", "; what commands print is text on their cards"),
    ),
    Feature(
        "compaction",
        lambda case: case.client.compaction,
        _unasked("session.compaction = {}", "; compactions are cards"),
    ),
    Feature(
        "notices",
        lambda case: case.client.notices,
        _unasked("session.notices = {}", "; remarks stand among the thoughts of a turn"),
    ),
    Feature(STORED_OUTPUT, _extension(STORED_OUTPUT), _output_refused),
    Feature(STEERING, _extension(STEERING), _unasked('_meta["muse/steering"] = 1')),
    Feature(SESSION_STEERING, _extension(SESSION_STEERING), _unasked("_meta.steering = true")),
    Feature(ASYNC_TASKS, _extension(ASYNC_TASKS), _unasked('_meta["muse/asyncTasks"] = 1')),
)
"""In the order in which they are shown. The names are part of the report (`docs/doctor.md`)."""
