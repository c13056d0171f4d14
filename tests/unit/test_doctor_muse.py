"""The checks of which Muse there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output import negotiation
from adapter.cli.doctor import muse_checks
from adapter.cli.doctor.deciding import Decision
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.muse_checks import judge_surfaces, judge_version, look_for
from adapter.cli.doctor.report import Check
from host_probe import HostVersion, Probe

RECORDING = Path(__file__).parents[2] / "fixtures" / "hosts" / "1.2.1" / "prompt-turn"


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def choice(home: Path, muse: str | None = None, **environ: str) -> HostChoice:
    return HostChoice(environ=environ, home=home, muse=muse)


def looked_for(chosen: HostChoice) -> tuple[Check, tuple[str, str] | None]:
    finding = Finding("executable")
    found = look_for(finding, chosen)
    return finding.check(), None if found is None else (found[0][0], found[1])


# -- executable


def test_what_was_named_wins_and_what_comes_second_is_told(tmp_path: Path) -> None:
    named, second = executable(tmp_path / "named"), executable(tmp_path / "second")

    check, found = looked_for(choice(tmp_path, str(named), MUSE_EXECUTABLE=str(second)))

    assert found == (str(named), "--muse")
    assert check.status == "pass"
    assert "was named with --muse" in check.summary and "MUSE_EXECUTABLE is set as well" in check.summary


def test_a_link_is_told_with_where_it_leads(tmp_path: Path) -> None:
    real = executable(tmp_path / "versions" / "muse-1.2.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "muse").symlink_to(real)

    check, found = looked_for(choice(tmp_path, PATH=str(tmp_path / "bin")))

    assert found == (str(tmp_path / "bin" / "muse"), "PATH")
    assert f"It leads to {real}." in check.summary
    assert check.details["realPath"] == str(real)


def test_those_behind_the_first_on_path_are_named_and_a_warning(tmp_path: Path) -> None:
    first, other, usual = (executable(tmp_path / name / "muse") for name in ("a", "b", ".local/bin"))

    check, found = looked_for(choice(tmp_path, PATH=f"{tmp_path / 'a'}:{tmp_path / 'b'}"))

    assert found == (str(first), "PATH")
    assert check.status == "warn"
    assert check.details["others"][:2] == [str(other), str(usual)]
    assert str(other) in check.summary and str(usual) in check.summary
    assert check.fix is not None and "MUSE_EXECUTABLE" in check.fix


def test_others_are_no_warning_where_one_was_named(tmp_path: Path) -> None:
    named, other = executable(tmp_path / "named"), executable(tmp_path / "b" / "muse")

    check, _ = looked_for(choice(tmp_path, None, MUSE_EXECUTABLE=str(named), PATH=str(other.parent)))

    assert check.status == "pass"
    assert f"Not used: {other}" in check.summary


def test_nothing_found_tells_every_place_and_what_to_do(tmp_path: Path) -> None:
    check, found = looked_for(choice(tmp_path, str(tmp_path / "missing")))

    assert found is None
    assert check.status == "fail"
    assert check.details["tried"] == [{"source": "--muse", "place": str(tmp_path / "missing"), "why": "missing"}]
    assert str(tmp_path / "missing") in check.summary
    assert check.fix is not None and "--muse simulated" in check.fix


def test_of_many_places_the_sentence_names_some_and_the_facts_all(tmp_path: Path) -> None:
    folders = [str(tmp_path / f"folder{number}") for number in range(30)]

    check, found = looked_for(choice(tmp_path, "nothing-of-this-name", PATH=":".join(folders)))

    assert found is None
    assert "and 22 more" in check.summary
    assert [one["place"] for one in check.details["tried"]] == [f"{one}/nothing-of-this-name" for one in folders]


@pytest.mark.parametrize(("muse", "kind"), [("simulated:1.3.0", "simulated"), (f"recorded:{RECORDING}", "recorded")])
def test_a_stand_in_needs_no_muse(tmp_path: Path, muse: str, kind: str) -> None:
    check, found = looked_for(choice(tmp_path, muse))

    assert found is not None and found[1] == kind
    assert (check.status, check.details["standIn"]) == ("pass", kind)


def test_a_stand_in_that_does_not_exist_fails_with_those_that_do(tmp_path: Path) -> None:
    check, found = looked_for(choice(tmp_path, "simulated:9.9.9"))

    assert found is None
    assert check.status == "fail" and "1.4.13" in check.summary


def test_a_recording_that_cannot_be_played_fails(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "manifest.json").write_text('{"protocol": "acp"}')
    (agent / "transcript.ndjson").write_text('{"dir": "client", "raw": "{}"}\n')
    for folder, words in ((tmp_path / "nope", "cannot be read"), (agent, "is an agent")):
        check, found = looked_for(choice(tmp_path, f"recorded:{folder}"))
        assert (check.status, found) == ("fail", None)
        assert words in check.summary and check.summary.endswith(".") and check.fix


# -- version


def judged(probe: Probe, **environ: str) -> Check:
    finding = Finding("version")
    judge_version(finding, probe, choice(Path("/nobody"), **environ))
    return finding.check()


def test_a_version_is_told_with_its_build() -> None:
    check = judged(Probe(version=HostVersion("1.2.1", "1.2.1-R2847.1", "Muse Code 1.2.1 (…)"), elapsed_seconds=0.25))

    assert check.status == "pass"
    assert check.summary == "Muse 1.2.1-R2847.1 (said in 0.25 s)."
    assert (check.details["version"], check.details["build"]) == ("1.2.1", "1.2.1-R2847.1")


def test_a_version_from_the_future_is_a_warning() -> None:
    check = judged(Probe(version=HostVersion("99.1.0", None, "99.1.0")))
    assert check.status == "warn" and "newer" in check.summary


@pytest.mark.parametrize(("problem", "status"), [("timeout", "warn"), ("unreadable", "warn"), ("spawnFailed", "fail")])
def test_what_came_instead_of_a_version_is_told_without_secrets(problem: str, status: str) -> None:
    probe = Probe(
        version=HostVersion(raw="token canary-0815"),
        problem=problem,  # type: ignore[arg-type]
        details="`muse --version` printed 'token canary-0815' and no version (exit code 0).",
    )

    check = judged(probe, SOME_TOKEN="canary-0815")

    assert check.status == status
    assert "`muse --version` printed" in check.summary
    assert "canary-0815" not in str(check)


# -- surfaces


def surfaces(version: HostVersion, live: str | None = None, remembered: bool = False, **environ: str) -> Check:
    finding = Finding("surfaces")
    judge_surfaces(finding, Decision(negotiation.judged(version), version, remembered), live, environ)
    return finding.check()


def test_a_verified_version_is_told_with_its_evidence() -> None:
    check = surfaces(HostVersion("1.2.1", None, "1.2.1"))

    assert check.status == "pass"
    assert check.details["storedOutput"] == "verified"
    assert check.details["note"] in check.summary and check.summary.endswith(".")
    evidence = Path(__file__).parents[2] / check.details["evidence"]
    assert evidence.is_dir() and check.details["evidence"] in check.summary


def test_recordings_are_named_only_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(muse_checks, "_ROOT", tmp_path)
    check = surfaces(HostVersion("1.2.1", None, "1.2.1"))
    assert check.status == "pass" and "evidence" not in check.details
    assert "fixtures" not in check.summary


def test_a_running_host_that_is_not_verified_refuses_what_is_offered() -> None:
    check = surfaces(HostVersion("1.2.1", None, "1.2.1"), live="1.3.0", remembered=True)
    assert (check.status, check.details["readsRefused"], check.details["remembered"]) == ("warn", True, True)
    assert "remembered" in check.summary and "'1.3.0'" in check.summary


def test_a_version_that_only_a_running_host_says_does_not_count() -> None:
    check = surfaces(HostVersion(), live="1.2.1")
    assert (check.status, check.details["storedOutput"]) == ("warn", "versionUnknown")
    assert "'1.2.1' comes too late" in check.summary


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (HostVersion("1.3.0", "1.3.0-R3401.1", "1.3.0"), "releaseNotVerified"),
        (HostVersion(raw="canary-0815"), "versionUnknown"),
    ],
)
def test_a_version_that_is_not_verified_is_a_warning_that_says_why(version: HostVersion, reason: str) -> None:
    check = surfaces(version, MY_SECRET="canary-0815")

    assert check.status == "warn"
    assert check.details["storedOutput"] == reason
    assert check.fix is not None and "1.2.1" in check.fix
    assert "canary-0815" not in check.summary
