"""What the doctor says that clients would be offered, by what is known of the host (`docs/doctor.md`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.cli.doctor.client_profiles import PROFILES, ClientProfile
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.negotiation import FEATURES, offers
from adapter.cli.doctor.report import Offer
from adapter.msp.handshake import Handshake
from host_probe import Abilities, HostVersion, identify, parse_version

BY_NAME = {profile.name: profile for profile in PROFILES}
EVERYTHING = ClientProfile(
    "everything",
    {
        "protocolVersion": 1,
        "clientCapabilities": {
            "auth": {"terminal": True},
            "elicitation": {"form": {}},
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            "_meta": {
                "terminal_output": True,
                "muse/output": 1,
                "muse/steering": 1,
                "muse/asyncTasks": 1,
                "steering": True,
            },
        },
    },
)
NEVER = {"prompt.audio", "mcp.sse", "booleanOptions"}
SERVERS = {"mcpServers", "mcp.http"}
ONLY_SOME_HOSTS = {"session/fork", "session/delete", "additionalDirectories", "muse/output", *SERVERS}
CAPABLE = Abilities(frozenset({"session/fork", "session/delete"}), workspace_roots=True, list_filter=True)


def shaken(*granted: str) -> Handshake:
    return Handshake("a host", "1.2.1", "", frozenset(granted), True, None)


def able(**changes: Any) -> MuseFacts:
    """A host that can do everything, unless told otherwise."""
    told: dict[str, Any] = {
        "command": ("/srv/demo/muse",),
        "version": HostVersion("1.2.1", "1.2.1-R2847.1"),
        "handshake": shaken("sessionMcp"),
        "abilities": CAPABLE,
    }
    return MuseFacts(**{**told, **changes})


def choice(home: Path, muse: str | None = None, **environ: str) -> HostChoice:
    return HostChoice(environ, home, muse)


def offer(tmp_path: Path, facts: MuseFacts, profile: ClientProfile = EVERYTHING) -> Offer:
    return offers(choice(tmp_path, "/srv/demo/muse"), facts, [profile])[0]


def reasons(one: Offer) -> dict[str, str]:
    return {withheld.feature: withheld.reason for withheld in one.withheld}


def test_a_client_that_asks_for_everything_gets_all_there_is(tmp_path: Path) -> None:
    one = offer(tmp_path, able())
    assert one.client == "everything"
    assert set(reasons(one)) == NEVER


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize("facts", [able(), MuseFacts(problem="Muse was not found. Tried nothing.")], ids=["all", "no"])
def test_each_feature_is_offered_or_withheld_for_a_reason(
    tmp_path: Path, profile: ClientProfile, facts: MuseFacts
) -> None:
    one = offer(tmp_path, facts, profile)
    names = [feature.name for feature in FEATURES]
    assert len(set(names)) == len(names)
    assert [name for name in names if name in one.offered] == list(one.offered)
    assert [name for name in names if name not in one.offered] == list(reasons(one))
    for reason in reasons(one).values():
        assert reason.endswith(".") and reason[0].isupper() and "\n" not in reason, reason


def test_a_client_that_asks_for_nothing_is_told_what_to_ask_by(tmp_path: Path) -> None:
    told = reasons(offer(tmp_path, able(), BY_NAME["baseline"]))
    asked = {"login.terminal", "elicitation.form", "terminalCards", "compaction", "notices"}
    asked |= {"muse/output", "muse/steering", "steering", "muse/asyncTasks"}
    assert set(told) == asked | NEVER
    assert told["muse/output"] == 'The client did not send clientCapabilities._meta["muse/output"] = 1.'
    for name in asked:
        assert told[name].startswith("The client did not send clientCapabilities."), name


@pytest.mark.parametrize("told", [True, 1.0, "1", 2, None, {"version": 1}], ids=str)
def test_asking_in_another_form_is_not_asking(tmp_path: Path, told: Any) -> None:
    asked = ClientProfile("odd", {"protocolVersion": 1, "clientCapabilities": {"_meta": {"muse/output": told}}})
    assert "did not send" in reasons(offer(tmp_path, able(), asked))["muse/output"]


@pytest.mark.parametrize(
    ("changes", "feature", "reason"),
    [
        ({"abilities": Abilities(workspace_roots=True)}, "session/fork", "This host does not have session/fork."),
        ({"abilities": Abilities()}, "additionalDirectories", "This host does not have sessions in several folders."),
        (
            {"version": HostVersion("1.3.0", "1.3.0-R3401.1")},
            "muse/output",
            "Reading is verified on Muse 1.2.1 only, and this host is 1.3.0-R3401.1.",
        ),
        (
            {"version": HostVersion(raw="orchard"), "version_problem": "`muse --version` printed 'orchard'."},
            "muse/output",
            "`muse --version` printed 'orchard'.",
        ),
        (
            {"handshake": shaken()},
            "mcpServers",
            "This host takes none from a client: it did not grant sessionMcp. They can be set up in Muse.",
        ),
        (
            {"handshake": None, "abilities": None, "problem": "`muse serve` hangs."},
            "session/delete",
            "It is not known whether this host has session/delete: the host did not answer.",
        ),
        (
            {"handshake": None, "abilities": None, "problem": "`muse serve` hangs."},
            "mcpServers",
            "It is not known whether this host takes any from a client: the host did not answer.",
        ),
    ],
)
def test_what_a_host_lacks_is_withheld_for_that_reason(
    tmp_path: Path, changes: dict[str, Any], feature: str, reason: str
) -> None:
    told = reasons(offer(tmp_path, able(**changes)))
    assert told[feature] == reason
    assert set(told) <= NEVER | ONLY_SOME_HOSTS


def test_what_a_host_has_not_answered_is_not_known(tmp_path: Path) -> None:
    some = able(abilities=Abilities(frozenset({"task/stop"})), unanswered=frozenset({"session/fork", "session/list"}))
    told = reasons(offer(tmp_path, some))
    assert told["session/fork"] == "It is not known whether this host has session/fork: the host did not answer."
    assert told["additionalDirectories"].startswith("It is not known whether this host has sessions in several folders")
    assert told["session/delete"] == "This host does not have session/delete."


def test_servers_over_http_are_offered_where_servers_are(tmp_path: Path) -> None:
    told = reasons(offer(tmp_path, able(handshake=shaken())))
    assert told["mcp.http"] == f"The answer to initialize names it for every host. {told['mcpServers']}"
    assert set(offer(tmp_path, able()).offered) >= SERVERS


def test_without_muse_the_reasons_say_so(tmp_path: Path) -> None:
    told = reasons(offer(tmp_path, MuseFacts(problem="Muse was not found. Tried PATH: /srv/demo (missing).")))
    assert set(told) == NEVER | ONLY_SOME_HOSTS
    for name in ONLY_SOME_HOSTS:
        assert "no Muse was found" in told[name] or "No Muse was found" in told[name]


def test_a_recording_that_does_not_tell_what_its_host_could_do_is_no_host_that_cannot(tmp_path: Path) -> None:
    recorded = choice(tmp_path, "recorded:/srv/demo/pears")
    told = reasons(offers(recorded, able(abilities=None), [EVERYTHING])[0])
    assert told["session/fork"] == "It is not known whether this host has session/fork: the recording does not tell."
    assert set(reasons(offers(recorded, able(), [EVERYTHING])[0])) == NEVER


def test_what_is_remembered_counts_as_when_serving_and_nothing_more_is_remembered(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/bin/sh\n")
    muse.chmod(0o755)
    chosen = choice(tmp_path, str(muse))
    cache, identity = version_cache(chosen), identify([str(muse)], {})
    assert cache is not None and identity is not None
    facts = able(command=(str(muse),), version=HostVersion("1.3.0"), abilities=Abilities())

    told = reasons(offers(chosen, facts, [EVERYTHING])[0])
    assert set(told) == NEVER | ONLY_SOME_HOSTS - SERVERS
    assert not (tmp_path / ".cache").exists()

    cache.put(identity, parse_version("Muse Code 1.2.1", ""))
    cache.put_abilities(identity, CAPABLE)
    before = [path.read_bytes() for path in (tmp_path / ".cache").rglob("*.json")]
    assert set(reasons(offers(chosen, facts, [EVERYTHING])[0])) == NEVER
    assert [path.read_bytes() for path in (tmp_path / ".cache").rglob("*.json")] == before


def test_a_terminal_login_is_offered_with_the_muse_that_was_chosen(tmp_path: Path) -> None:
    assert "login.terminal" in offer(tmp_path, able(), BY_NAME["zed"]).offered
    assert "login.terminal" not in offer(tmp_path, able(), BY_NAME["acpx"]).offered


def test_who_asks_for_stored_output_gets_it(tmp_path: Path) -> None:
    got = [profile.name for profile in PROFILES if "muse/output" in offer(tmp_path, able(), profile).offered]
    assert got == ["muse/output"]
