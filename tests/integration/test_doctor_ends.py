"""`muse-adapter doctor` with hosts that hang, die or stay, and where it is interrupted."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from host_probe import HostVersion, VersionCache, identify
from tests.adapter_process import running_adapter
from tests.doctor_command import begin, checks, doctor, document
from tests.doctor_hosts import (
    DiesWhileListing,
    EndsAfterHandshake,
    EndsAtOnce,
    FallsSilent,
    LeavesADaemon,
    Patient,
    RefusesHandshake,
    Stays,
)
from tests.faults.hosts_odd_to_launch import OddVersion
from tests.output_command import ended
from tests.processes import assert_gone, end_guardian, running, wait_until
from tests.scripted_hosts import Placed, place

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are told by /proc")


def end_of(*placed: Placed) -> None:
    assert_gone(pid for host in placed for pid in host.pids())


@pytest.mark.parametrize("deaf", [False, True])
def test_a_host_that_never_answers_is_told_and_ended(tmp_path: Path, deaf: bool) -> None:
    placed = place(tmp_path / "host", Patient, stalls=True, deaf=deaf)

    found = document(tmp_path, "--wait", "0.5", muse=placed.muse)

    made = checks(found)
    assert (made["handshake"]["status"], made["handshake"]["details"]["reason"]) == ("warn", "hostStartTimeout")
    assert "--wait 120," in made["handshake"]["fix"]
    assert {made[name]["details"]["because"] for name in ("login", "sessionStore")} == {"handshake"}
    assert made["version"]["status"] == "pass", "what does not rest on it is told"
    assert any(one["reason"] for offer in found["negotiation"] for one in offer["withheld"])
    end_of(placed)


@pytest.mark.parametrize(
    ("arguments", "waited", "status"),
    [
        (["--startup-timeout", "0.3"], "0.3", "fail"),
        (["--startup-timeout", "0.3", "--wait", "0.6"], "0.6", "fail"),
        (["--startup-timeout", "9", "--wait", "0.6"], "0.6", "warn"),
    ],
)
def test_a_given_startup_timeout_is_the_wait_unless_another_is_given(
    tmp_path: Path, arguments: list[str], waited: str, status: str
) -> None:
    placed = place(tmp_path / "host", Patient, stalls=True)
    found = document(tmp_path, *arguments, muse=placed.muse)
    assert checks(found)["handshake"]["status"] == status
    assert f"within {waited} s." in checks(found)["handshake"]["summary"]
    end_of(placed)


def test_a_host_that_is_too_slow_for_serving_fails(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, slow=1.0)
    made = checks(document(tmp_path, "--startup-timeout", "0.5", "--wait", "30", muse=placed.muse))
    assert made["handshake"]["status"] == "fail" and "gives up after 0.5 s" in made["handshake"]["summary"]
    assert made["login"]["status"] == "skipped", "what it said is told all the same"


@pytest.mark.parametrize("floods", [False, True])
def test_a_host_that_says_nothing_after_the_handshake_is_not_said_to_work(tmp_path: Path, floods: bool) -> None:
    placed = place(tmp_path / "host", FallsSilent, floods=floods)
    done = doctor(tmp_path, muse=placed.muse)

    text = " ".join(done.stdout.decode().split())
    assert "nothing came within 4 s" in text
    assert "works." not in text and "It works" not in text and "Whether it works cannot be told" in text
    end_of(placed)


def test_a_host_that_ends_after_the_handshake_fails(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", EndsAfterHandshake)
    made = checks(document(tmp_path, muse=placed.muse))
    assert (made["handshake"]["status"], made["handshake"]["details"]["reason"]) == ("fail", "hostGone")
    assert made["sessionStore"]["details"]["because"] == "handshake"


def test_a_handshake_that_is_refused_for_lack_of_a_login_says_what_to_do(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", RefusesHandshake)
    assert "login" in checks(document(tmp_path, muse=placed.muse))["handshake"]["fix"]
    fix = checks(document(tmp_path, muse=placed.muse, META_API_KEY="canary-0815"))["handshake"]["fix"]
    assert "unset it" in fix and "canary-0815" not in fix


@pytest.mark.parametrize("times", [1, 5000])
def test_what_a_host_says_on_stdout_before_it_ends_is_told(tmp_path: Path, times: int) -> None:
    placed = place(tmp_path / "host", EndsAtOnce, output=1, times=times)
    summary = checks(document(tmp_path, muse=placed.muse))["handshake"]["summary"]
    assert "on stdout it said: " in summary and "settings.json, line 7" in summary
    assert "canary" not in summary and len(summary) < 2000


def test_a_slow_host_is_waited_for(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, slow=1.5)
    made = checks(document(tmp_path, muse=placed.muse))
    assert made["handshake"]["status"] == "pass"
    assert made["handshake"]["details"]["seconds"] >= 1.5


def test_a_list_that_comes_too_slowly_is_counted_as_far_as_it_came(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, stored=10**6, page_seconds=1.5)
    made = checks(document(tmp_path, muse=placed.muse))
    assert made["sessionStore"]["status"] == "warn"
    assert made["sessionStore"]["details"]["complete"] is False
    assert "took longer than 4 s" in made["sessionStore"]["summary"]
    end_of(placed)


def test_a_host_that_stays_after_its_input_is_ended(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, deaf=True)
    assert document(tmp_path, muse=placed.muse)["ok"] is True
    end_of(placed)


def test_a_binary_that_never_says_its_version_keeps_nothing_else_from_being_told(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, hangs_on_version=True)
    made = checks(document(tmp_path, muse=placed.muse))
    assert (made["version"]["status"], made["version"]["details"]["problem"]) == ("warn", "timeout")
    assert made["handshake"]["status"] == "pass"
    assert made["surfaces"]["details"]["storedOutput"] == "versionUnknown"
    end_of(placed)


@pytest.mark.parametrize(
    ("remembered", "running", "said", "offered", "sentence"),
    [
        (None, "1.2.1", "no version", False, "because `--version` does not tell the version of this host;"),
        ("1.2.1", "1.2.1", "no version", True, "Stored output is offered to clients that ask for muse/output."),
        ("1.2.1", "1.3.0", "Muse Code 1.3.0", True, "but every read is refused"),
        ("1.3.0", "1.2.1", "Muse Code 1.2.1", False, "because 1.3.0 is what is remembered of this Muse;"),
        (None, "1.2.1", "Muse Code 1.2.1", True, "Stored output is offered to clients that ask for muse/output."),
    ],
)
def test_the_last_sentence_says_of_stored_output_what_clients_are_offered(
    tmp_path: Path, remembered: str | None, running: str, said: str, offered: bool, sentence: str
) -> None:
    placed = place(tmp_path / "host", Patient, version=running, said=said)
    if remembered is not None:
        identity = identify([placed.muse], {})
        assert identity is not None
        VersionCache(tmp_path / ".cache" / "muse-adapter").put(identity, HostVersion(remembered))
    found = document(tmp_path, "--client", "muse/output", muse=placed.muse)

    assert ("muse/output" in found["negotiation"][0]["offered"]) is offered
    assert (checks(found)["surfaces"]["details"]["storedOutput"] == "verified") is offered
    text = " ".join(doctor(tmp_path, muse=placed.muse).stdout.decode().split())
    assert sentence in text
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        answer = adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        assert ("muse/output" in answer.get("_meta", {})) is offered, "as the adapter answers"


@pytest.mark.parametrize(("code", "words"), [(3, "configuration"), (5, "session protocol"), (139, "crashed")])
def test_a_host_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path, code: int, words: str) -> None:
    placed = place(tmp_path / "host", EndsAtOnce, code=code)
    made = checks(document(tmp_path, muse=placed.muse))
    assert made["handshake"]["status"] == "fail"
    assert "settings.json, line 7" in made["handshake"]["summary"] and words in made["handshake"]["summary"]
    assert made["handshake"]["details"]["exitCode"] == code


def test_a_host_that_dies_meanwhile_is_told(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", DiesWhileListing)
    made = checks(document(tmp_path, muse=placed.muse))
    assert (made["handshake"]["status"], made["sessionStore"]["status"]) == ("fail", "skipped")
    assert "exit 9" in made["handshake"]["summary"]


def test_a_file_that_cannot_be_started_fails(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/no/such/interpreter\n")
    muse.chmod(0o755)
    made = checks(document(tmp_path, muse=str(muse)))
    assert {made[name]["status"] for name in ("version", "handshake")} == {"fail"}


def test_a_program_that_floods_its_version_is_bounded(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", OddVersion, bytes=5_000_000)
    made = checks(document(tmp_path, muse=placed.muse))
    assert made["version"]["status"] == "warn"
    assert len(made["version"]["summary"]) < 3000


# -- interrupted


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_quiet_and_leaves_nothing(tmp_path: Path, signum: int) -> None:
    placed = place(tmp_path / "host", Patient, stalls=True)
    process = begin(tmp_path, muse=placed.muse)
    wait_until(lambda: bool(placed.pids("serve.pids")))

    process.send_signal(signum)

    done = ended(process)
    assert (done.code, done.stdout, done.stderr) == (130, b"", "")
    end_of(placed)


# -- leftovers


def leftovers(tmp_path: Path) -> dict[int, str]:
    """Every process that the doctor takes for one, with the status of the check."""
    check = checks(document(tmp_path))["leftovers"]
    assert check["status"] in ("pass", "warn")
    return {pid: check["fix"] or "" for host in check["details"]["hosts"] for pid in host["pids"]}


def test_a_host_whose_adapter_was_killed_is_left_over_and_one_that_is_served_is_not(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Stays)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        (host,) = placed.pids("serve.pids")
        try:
            assert host not in leftovers(tmp_path), "its adapter lives"
            end_guardian(adapter.process.pid)
            os.kill(adapter.process.pid, signal.SIGKILL)
            adapter.process.wait(20)

            found = leftovers(tmp_path)

            assert host in found
            assert str(host) in found[host], "the advice names it"
        finally:
            os.kill(host, signal.SIGKILL)
    assert_gone([host])
    assert host not in leftovers(tmp_path)


def test_what_a_killed_doctor_left_hanging_is_found(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, hangs_on_version=True)
    process = begin(tmp_path, muse=placed.muse)
    wait_until(lambda: bool(placed.pids("version.pids")))
    end_guardian(process.pid)
    process.kill()
    ended(process)
    (asked,) = placed.pids("version.pids")
    try:
        assert asked in leftovers(tmp_path)
    finally:
        os.kill(asked, signal.SIGKILL)


def test_what_a_host_put_into_the_background_is_ended_with_it_or_told_and_is_no_host(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", LeavesADaemon)
    document(tmp_path, muse=placed.muse)
    assert not running(placed.pids("daemon.pids"))
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        (daemon,) = placed.pids("daemon.pids")
        end_guardian(adapter.process.pid)
        adapter.process.kill()
        adapter.process.wait(20)
    assert_gone(placed.pids("serve.pids"))
    try:
        check = checks(document(tmp_path))["leftovers"]
        assert daemon in check["details"]["strays"]
        assert all(daemon not in host["pids"] for host in check["details"]["hosts"])
        assert f"kill {daemon}" not in (check["fix"] or "")
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_an_answer_that_is_longer_than_allowed_is_told_as_that(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, stored=150)
    store = checks(document(tmp_path, "--msp-frame-cap", "1024", muse=placed.muse))["sessionStore"]
    assert (store["status"], store["details"]["refusal"]) == ("warn", "tooLong")
    assert "longer than 1024 bytes" in store["summary"] and "--msp-frame-cap" in store["fix"]
