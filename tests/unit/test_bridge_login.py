"""What is known of the login, and which requests it lets through."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from adapter.acp import errors
from adapter.acp.capabilities import ClientCapabilities
from adapter.bridge.hosts import logout
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.hosts.login import Login
from adapter.bridge.hosts.login_methods import login_methods
from adapter.bridge.hosts.logout import run_logout
from adapter.cli.options import wanted
from adapter.msp.turns import TurnError, TurnOutcome
from adapter.wire.envelope import RpcError

ACCEPTED = TurnOutcome("completed")
REJECTED = TurnOutcome("failed", TurnError("authRequired", "log in"))
OVER_QUOTA = TurnOutcome("failed", TurnError("quotaExceeded", "too much"))


class Hosts:
    """Counts how often hosts are to be replaced."""

    def __init__(self) -> None:
        self.renewed = 0

    def renew(self) -> None:
        self.renewed += 1


def login(hosts: Hosts | None = None, **environ: str) -> Login:
    return Login(environ, (hosts or Hosts()).renew)


def passes(known: Login, method: str = "new_session") -> bool:
    """Whether a request gets as far as the host, which then does what is asked."""
    try:
        with known.needed(method):
            return True
    except RpcError as error:
        assert error.code == -32000
        assert error.data is not None and "muse-adapter login" in error.data["details"]
        return False


def refuse(known: Login, error: RpcError) -> None:
    """A request that a host refuses."""
    with pytest.raises(RpcError) as caught, known.needed("new_session"):
        raise error
    assert caught.value is error


def test_nothing_is_refused_before_a_host_has_said_something() -> None:
    known = login()

    assert known.word == "unknown"
    assert passes(known) and passes(known, "list_sessions")


@pytest.mark.acp(38)
def test_after_a_turn_without_login_each_way_to_open_sessions_is_refused_once() -> None:
    known = login()
    known.turn_ended(REJECTED)

    assert not passes(known) and not passes(known, "load_session") and not passes(known, "list_sessions")
    assert passes(known) and passes(known, "load_session"), "a login made elsewhere shows only if it is tried"
    known.turn_ended(REJECTED)
    assert not passes(known)


def test_a_turn_without_a_host_that_says_so_itself_counts_as_well() -> None:
    known = login()
    known.turn_ended(TurnOutcome("failed", reason="authRequired"))

    assert known.word == "rejected"


def test_a_host_that_refuses_to_open_a_session_is_asked_again_each_time() -> None:
    hosts = Hosts()
    known = login(hosts)
    refuse(known, errors.auth_required("log in"))

    assert (known.word, hosts.renewed) == ("rejected", 1), "the next host reads the login anew"
    assert passes(known) and passes(known, "load_session")


def test_a_rejection_replaces_hosts_and_a_success_does_not() -> None:
    hosts = Hosts()
    known = login(hosts)
    known.turn_ended(ACCEPTED)
    assert (known.word, hosts.renewed) == ("accepted", 0)
    known.turn_ended(REJECTED)
    assert (known.word, hosts.renewed) == ("rejected", 1)


@pytest.mark.parametrize(
    "outcome", [OVER_QUOTA, TurnOutcome("cancelled"), TurnOutcome("failed"), TurnOutcome("unqueued")]
)
def test_o8_other_ends_say_nothing_of_the_login(outcome: TurnOutcome) -> None:
    for before, word in ((ACCEPTED, "accepted"), (REJECTED, "rejected")):
        known = login()
        known.turn_ended(before)
        known.turn_ended(outcome)
        assert known.word == word


def test_o9_other_errors_say_nothing_of_the_login() -> None:
    known = login()
    for error in (errors.session_unknown("s"), errors.session_busy("s", "busy"), errors.host_error("odd", "no")):
        refuse(known, error)

    assert known.word == "unknown" and passes(known)


def test_a_turn_that_went_through_lets_everything_through() -> None:
    known = login()
    known.turn_ended(REJECTED)
    known.turn_ended(ACCEPTED)

    assert passes(known)


@pytest.mark.acp(40)
def test_after_a_logout_everything_is_refused_until_somebody_logs_in() -> None:
    hosts = Hosts()
    known = login(hosts)
    known.log_out()

    assert not any(passes(known) for _ in range(3)) and not passes(known, "resume_session")
    known.try_anew()
    assert (known.word, hosts.renewed) == ("unknown", 2)
    assert passes(known)


def test_a_key_in_the_environment_is_a_login_also_after_a_logout() -> None:
    known = login(META_API_KEY="k")
    known.log_out()

    assert known.has_key and passes(known)
    assert not login(META_API_KEY="").has_key


def test_trying_anew_costs_nothing_while_all_is_well() -> None:
    hosts = Hosts()
    known = login(hosts)
    known.try_anew()
    known.turn_ended(ACCEPTED)
    known.try_anew()

    assert (known.word, hosts.renewed) == ("accepted", 0)


# -- the ways to log in


@pytest.mark.acp(35)
def test_a_terminal_is_offered_only_where_the_client_has_one() -> None:
    (agent,) = login_methods(ClientCapabilities(), None)
    assert "type" not in agent and {"id", "name"} <= set(agent)

    agent_too, terminal = login_methods(ClientCapabilities(auth_terminal=True), None)
    assert agent_too == agent
    assert (terminal["type"], terminal["args"]) == ("terminal", ["login"])


@pytest.mark.acp(39)
def test_both_conventions_run_the_login_of_the_muse_that_was_chosen() -> None:
    _, terminal = login_methods(ClientCapabilities(auth_terminal=True), "simulated:1.2.1")
    whole = terminal["_meta"]["terminal-auth"]

    assert whole["command"] == sys.executable and whole["label"]
    *_, module = whole["args"][: whole["args"].index("-m") + 2]
    assert module == "adapter.cli.entry"
    for arguments in (whole["args"][3:], ["--muse", "simulated:1.2.1", *terminal["args"]]):
        asked = wanted(arguments)
        assert asked is not None
        assert (asked[0], asked[1].muse) == ("login", "simulated:1.2.1")


# -- logging out


def choice(tmp_path: Path, script: str, token: str = "orchard-4711") -> HostChoice:
    if os.name != "posix":
        pytest.skip("the stand-ins are scripts")
    muse = tmp_path / "muse"
    muse.write_text(f"#!/bin/sh\n{script}\n")
    muse.chmod(0o700)
    return HostChoice(environ={"PATH": "/usr/bin:/bin", "DEMO_TOKEN": token}, home=tmp_path, muse=str(muse))


async def refused(wanted: HostChoice) -> dict[str, object]:
    with pytest.raises(RpcError) as caught:
        await run_logout(wanted)
    assert caught.value.code == -32603 and caught.value.data is not None
    return caught.value.data


@pytest.mark.anyio
async def test_logging_out_runs_the_command_of_muse(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    await run_logout(choice(tmp_path, f'echo "$* $DEMO_TOKEN" | tee {tmp_path}/asked'))

    assert (tmp_path / "asked").read_text() == "logout orchard-4711\n"
    assert "muse logout: logout [hidden]" in caplog.text


@pytest.mark.anyio
async def test_q2_a_key_of_several_lines_is_in_no_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    key = "orchard elm\nbirch alder\nrowan"
    await run_logout(choice(tmp_path, 'echo "forgot $DEMO_TOKEN"; echo "bye"; echo "$DEMO_TOKEN" >&2', key))

    assert "muse logout: forgot [hidden]" in caplog.text and "muse logout: bye" in caplog.text
    assert not [line for line in key.splitlines() if line in caplog.text]


@pytest.mark.anyio
async def test_a_logout_that_fails_is_an_error_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = await refused(choice(tmp_path, "echo orchard >&2; exit 3"))
    assert (data["reason"], data["retryable"]) == ("logoutFailed", False)
    assert "3" in str(data["details"]) and "orchard" not in str(data["details"])

    monkeypatch.setattr(logout, "LOGOUT_SECONDS", 0.2)
    data = await refused(choice(tmp_path, "sleep 30"))
    assert (data["reason"], data["retryable"]) == ("logoutFailed", True)


@pytest.mark.anyio
async def test_a_logout_without_muse_says_what_was_tried(tmp_path: Path) -> None:
    data = await refused(HostChoice(environ={}, home=tmp_path, muse=str(tmp_path / "none")))
    assert data["reason"] == "museNotFound" and str(tmp_path / "none") in str(data["details"])
