"""What the host that was started has shown: handshake, login, stored sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.host_checks import MANY_SESSIONS, judge_handshake, judge_login, judge_session_store
from adapter.cli.doctor.report import Check
from adapter.cli.doctor.trial import Refusal, SessionCount, Trial
from adapter.msp.errors import HostClosed, HostStartError
from adapter.msp.handshake import Handshake
from host_probe import HostVersion

FINGERPRINT = "sha256:c7ff6c5d1e89cd42f803aea1f05b8e72082f2099685802473eb726903484713b"
SHAKEN = Handshake(
    server_name="muse-session-server",
    server_version="1.2.1",
    fingerprint=FINGERPRINT,
    granted=frozenset({"sessionMcp"}),
    durable=True,
    sandbox_problem=None,
)
SAID = HostVersion("1.2.1", "1.2.1-R2847.1", "Muse Code 1.2.1 (1.2.1-R2847.1)")
CHOICE = HostChoice(environ={}, home=Path("/home/pear"))
FULL = SessionCount(3, 1, complete=True, seconds=0.01)
TRIAL = Trial(
    command="muse serve --disable-write", flags=("--disable-write",), seconds=0.5, handshake=SHAKEN, sessions=FULL
)


def trial(**changes: Any) -> Trial:
    return msgspec.structs.replace(TRIAL, **changes)


def shaken(said: HostVersion = SAID, seconds: float = 0.5, **changes: Any) -> Check:
    return handshake(trial(handshake=msgspec.structs.replace(SHAKEN, **changes), seconds=seconds), said)


def handshake(made: Trial, said: HostVersion = SAID, **choices: Any) -> Check:
    finding = Finding("handshake")
    judge_handshake(finding, made, said, msgspec.structs.replace(CHOICE, **choices))
    return finding.check()


# -- handshake


def test_a_host_that_is_as_it_says_passes_with_everything_it_said() -> None:
    check = shaken()

    assert check.status == "pass"
    for word in ("0.50 s", "--disable-write", "muse-session-server 1.2.1", "that of Muse 1.2.1", "sessionMcp"):
        assert word in check.summary
    assert check.details["granted"] == ["sessionMcp"]
    assert check.details["durable"] is True
    assert check.details["schema"] == "Muse 1.2.1"


def test_an_unknown_schema_is_told_and_is_no_warning() -> None:
    check = shaken(fingerprint="sha256:0")
    assert (check.status, check.details["schema"]) == ("pass", None)
    assert "not known" in check.summary


@pytest.mark.parametrize("server_version", ["1.3.0", "1.2.1-R9999.1", "0.0.0-fixture", "", "nightly"])
def test_another_version_than_the_binary_says_is_a_warning(server_version: str) -> None:
    check = shaken(server_version=server_version)
    assert check.status == "warn"
    assert "1.2.1-R2847.1" in check.summary and check.fix is not None


@pytest.mark.parametrize(
    ("server_version", "said"),
    [("1.2.1-R2847.1", SAID), ("1.2.1", SAID), ("1.2.1-R1.1", HostVersion("1.2.1")), ("1.3.0", HostVersion())],
)
def test_a_build_that_only_one_of_the_two_names_is_no_difference(server_version: str, said: HostVersion) -> None:
    assert shaken(said, server_version=server_version).status == "pass"


def test_a_host_that_keeps_nothing_is_a_warning() -> None:
    check = shaken(durable=False)
    assert check.status == "warn" and "does not promise to keep sessions" in check.summary
    assert "keeps no sessions" in shaken(durable=False, durability="ephemeral").summary


@pytest.mark.parametrize(
    ("problem", "fix"),
    [
        ("bubblewrapUnavailable", "Install bubblewrap"),
        ("userNamespacesDenied", "user namespaces"),
        ("somethingNew", "sandbox"),
    ],
)
def test_a_host_that_cannot_sandbox_is_a_warning_with_its_reason(problem: str, fix: str) -> None:
    check = shaken(sandbox_problem=problem)
    assert check.status == "warn" and problem in check.summary
    assert check.fix is not None and fix in check.fix


@pytest.mark.parametrize(
    ("failure", "reason", "fix"),
    [
        (HostStartError("hostStartFailed", "muse did not start: exit 3", 3), "hostStartFailed", "muse serve"),
        (HostClosed("the Muse host crashed"), "hostGone", "muse serve"),
    ],
)
def test_a_host_that_did_not_start_fails_with_why(failure: Exception, reason: str, fix: str) -> None:
    check = handshake(trial(handshake=None, failure=failure))

    assert check.status == "fail"
    assert str(failure) in check.summary
    assert check.details["reason"] == reason
    assert check.fix is not None and fix in check.fix


SILENT = HostStartError("hostStartTimeout", "muse did not answer the handshake in time")


@pytest.mark.parametrize(
    ("waited", "serving", "status", "advice"),
    [
        (10.0, 120.0, "warn", "--wait 120,"),
        (10.0, 7000.0, "warn", "--wait 600,"),
        (10.0, 10.0, "fail", "--startup-timeout to 30,"),
        (300.0, 300.0, "fail", "--startup-timeout to 600,"),
        (0.5, 0.25, "fail", "--startup-timeout to 10,"),
        (600.0, 600.0, "fail", "Run `muse serve"),
    ],
)
def test_one_that_lives_and_says_nothing_fails_only_if_serving_waits_no_longer(
    waited: float, serving: float, status: str, advice: str
) -> None:
    check = handshake(trial(handshake=None, failure=SILENT, limit=waited), startup_timeout=serving)

    assert (check.status, check.details["unanswered"]) == (status, "initialize")
    assert check.fix is not None and advice in check.fix and "Run `muse serve" in check.fix.replace("run", "Run")


def test_one_that_is_ready_too_late_for_serving_fails() -> None:
    check = handshake(trial(seconds=25.0), startup_timeout=20.0)
    assert check.status == "fail" and "gives up after 20 s" in check.summary
    assert check.fix is not None and "--startup-timeout to 80," in check.fix


def test_one_that_ends_after_the_handshake_fails() -> None:
    check = handshake(trial(gone=HostClosed("the Muse host crashed (exit 9)")))
    assert (check.status, check.details["reason"]) == ("fail", "hostGone")
    assert "ended by itself after that: the Muse host crashed (exit 9)." in check.summary


@pytest.mark.parametrize(
    ("environ", "advice"),
    [({}, "Run `muse-adapter login`."), ({"META_API_KEY": "canary-0815"}, "renew it, or unset it")],
)
def test_a_handshake_that_is_refused_for_lack_of_a_login_says_what_to_do(environ: dict[str, str], advice: str) -> None:
    failure = HostStartError("hostStartFailed", "muse refused the handshake: not logged in", kind="authRequired")
    check = handshake(trial(handshake=None, failure=failure), environ=environ)
    assert check.status == "fail" and check.fix is not None and advice in check.fix


# -- login


def login(sessions: SessionCount = FULL, **environ: str) -> Check:
    finding = Finding("login")
    judge_login(finding, trial(sessions=sessions), environ)
    return finding.check()


def refused(kind: str, sentence: str = "no", count: int = 0, **more: bool) -> SessionCount:
    return SessionCount(count, 0, refusal=Refusal(kind, sentence, **more))


def test_without_a_word_of_the_host_nothing_is_known() -> None:
    check = login()
    assert check.status == "skipped"
    assert check.fix is not None and "muse-adapter login" in check.fix


def test_a_key_is_told_and_never_shown() -> None:
    check = login(META_API_KEY="canary-0815")
    assert check.status == "pass" and "META_API_KEY is set" in check.summary
    assert "canary-0815" not in str(check)


@pytest.mark.parametrize("environ", [{}, {"META_API_KEY": "canary-0815"}])
def test_a_host_that_refuses_for_lack_of_a_login_fails(environ: dict[str, str]) -> None:
    check = login(refused("authRequired"), **environ)
    assert check.status == "fail" and "lack of a login" in check.summary
    assert check.fix is not None and "muse-adapter login" in check.fix
    assert ("unset it" in check.fix) == bool(environ), "a key counts before a stored login"
    assert "canary-0815" not in str(check)


# -- sessionStore


def store(sessions: SessionCount, seconds: float = 0.5, **environ: str) -> Check:
    finding = Finding("sessionStore")
    judge_session_store(finding, trial(sessions=sessions, seconds=seconds), environ)
    return finding.check()


@pytest.mark.parametrize(
    ("sessions", "words"),
    [
        (FULL, "3 stored sessions;"),
        (SessionCount(1, 1, complete=True), "1 stored session;"),
    ],
)
def test_few_sessions_are_counted(sessions: SessionCount, words: str) -> None:
    check = store(sessions)
    assert (check.status, check.details["count"]) == ("pass", sessions.count)
    assert check.summary.startswith(words)


@pytest.mark.parametrize(
    ("sessions", "words"),
    [
        (SessionCount(400, 2, seconds=4.0), "At least 400 stored sessions: listing them took longer than 4 s;"),
        (SessionCount(10_000, 50, seconds=1.0), "At least 10,000 stored sessions: no more than 10,000 are counted;"),
    ],
)
def test_a_count_that_was_stopped_is_a_warning_that_names_the_limit(sessions: SessionCount, words: str) -> None:
    check = store(sessions)
    assert (check.status, check.details["complete"]) == ("warn", False)
    assert check.summary.startswith(words)


def test_a_list_that_never_comes_is_a_warning() -> None:
    check = store(refused("noAnswer", "nothing came within 4 s"))
    assert (check.status, check.details["unanswered"]) == ("warn", "session/list")


@pytest.mark.parametrize(("sessions", "seconds"), [(SessionCount(MANY_SESSIONS, 15, complete=True), 0.5), (FULL, 6.0)])
def test_many_sessions_or_a_slow_start_are_a_warning(sessions: SessionCount, seconds: float) -> None:
    check = store(sessions, seconds)
    assert check.status == "warn"
    assert check.fix is not None and "--startup-timeout" in check.fix


def test_what_a_recording_does_not_have_is_skipped() -> None:
    assert store(refused("internal", not_recorded=True)).status == "skipped"


def test_a_host_that_lists_nothing_is_a_warning_without_secrets() -> None:
    check = store(refused("internal", "it broke: token=canary-0815"), MY_TOKEN="canary-0815")
    assert check.status == "warn" and "it broke" in check.summary
    assert "canary-0815" not in str(check)


def test_a_list_that_breaks_off_is_counted_as_far_as_it_came() -> None:
    check = store(refused("internal", "it broke", count=200))
    assert check.status == "warn"
    assert check.summary.startswith("At least 200 stored sessions: the list broke off (it broke);")


def test_the_kind_of_a_refusal_is_told_without_secrets() -> None:
    check = store(refused("canary-0815", "it broke"), MY_TOKEN="canary-0815")
    assert "canary-0815" not in str(check)
