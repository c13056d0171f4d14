"""What the host that was started has shown: handshake, login, stored sessions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.host_checks import MANY_SESSIONS, judge_handshake, judge_login, judge_session_store
from adapter.cli.doctor.report import Check
from adapter.cli.doctor.trial import Refusal, SessionCount, Trial
from adapter.msp.errors import HostClosed
from adapter.msp.handshake import Handshake
from adapter.msp.host import HostStartError
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
FULL = SessionCount(3, 1, complete=True, seconds=0.01)
TRIAL = Trial(
    command="muse serve --disable-write", flags=("--disable-write",), seconds=0.5, handshake=SHAKEN, sessions=FULL
)


def trial(**changes: Any) -> Trial:
    return msgspec.structs.replace(TRIAL, **changes)


def shaken(said: HostVersion = SAID, seconds: float = 0.5, **changes: Any) -> Check:
    finding = Finding("handshake")
    judge_handshake(finding, trial(handshake=msgspec.structs.replace(SHAKEN, **changes), seconds=seconds), said)
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
    assert check.status == "warn" and "keeps no sessions" in check.summary


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
        (HostStartError("hostStartTimeout", "muse did not answer the handshake within 10 s"), "hostStartTimeout", "60"),
        (HostStartError("hostStartFailed", "muse did not start: exit 3", 3), "hostStartFailed", "muse serve"),
        (HostClosed("the Muse host crashed"), "hostGone", "muse serve"),
    ],
)
def test_a_host_that_did_not_start_fails_with_why(failure: Exception, reason: str, fix: str) -> None:
    finding = Finding("handshake")
    judge_handshake(finding, trial(handshake=None, failure=failure, limit=10.0), SAID)
    check = finding.check()

    assert check.status == "fail"
    assert str(failure) in check.summary
    assert check.details["reason"] == reason
    assert check.fix is not None and fix in check.fix


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
        (SessionCount(400, 2, seconds=4.0), "At least 400 stored sessions, counting was stopped after 4.0 s;"),
    ],
)
def test_few_sessions_are_counted(sessions: SessionCount, words: str) -> None:
    check = store(sessions)
    assert (check.status, check.details["count"]) == ("pass", sessions.count)
    assert check.summary.startswith(words)


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
    assert (check.status, check.summary.split(";")[0]) == ("pass", "At least 200 stored sessions, it broke")
