"""What the doctor says of what is remembered of Muse. It writes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.cli.doctor.cache_check import judge_cache
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.report import Check
from host_probe import HostVersion, VersionCache, identify

SAID = HostVersion("1.2.1", "1.2.1-R2847.1", "Muse Code 1.2.1 (1.2.1-R2847.1)")


@pytest.fixture
def muse(tmp_path: Path) -> str:
    path = tmp_path / "muse"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".cache" / "muse-adapter" / "versions.json"


def judged(place: Path, muse: str | None, said: HostVersion = SAID, chosen: str | None = None) -> Check:
    finding = Finding("probeCache")
    choice = HostChoice(environ={}, home=place.parents[2], muse=chosen or muse)
    before = snapshot(place.parents[3])
    judge_cache(finding, choice, None if muse is None else [muse], said)
    assert snapshot(place.parents[3]) == before, "nothing is written"
    return finding.check()


def snapshot(directory: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in directory.rglob("*")}


def remember(place: Path, muse: str, version: HostVersion = SAID) -> None:
    identity = identify([muse], {})
    assert identity is not None
    VersionCache(place.parent).put(identity, version)


def test_nothing_remembered_yet_is_as_it_should_be(place: Path, muse: str) -> None:
    check = judged(place, muse)
    assert (check.status, check.details["writable"]) == ("pass", True)
    assert "Nothing is remembered" in check.summary and str(place) in check.summary


def test_a_binary_that_is_known_is_told_with_its_version(place: Path, muse: str) -> None:
    remember(place, muse)
    check = judged(place, muse)
    assert (check.status, check.details["entry"]) == ("pass", "current")
    assert "1.2.1-R2847.1" in check.summary


def test_an_earlier_binary_is_no_warning(place: Path, muse: str) -> None:
    remember(place, muse)
    Path(muse).write_text("#!/bin/sh\n# newer\n")
    check = judged(place, muse)
    assert (check.status, check.details["entry"]) == ("pass", "outdated")


def test_a_launcher_that_starts_another_version_than_is_remembered_is_a_warning(place: Path, muse: str) -> None:
    remember(place, muse)
    check = judged(place, muse, HostVersion("1.3.0", "1.3.0-R3401.1", "1.3.0"))
    assert (check.status, check.details["entry"]) == ("warn", "wrong")
    assert "1.2.1-R2847.1" in check.summary and "1.3.0-R3401.1" in check.summary
    assert check.fix is not None and str(place) in check.fix


@pytest.mark.parametrize("damage", [b"", b"nonsense", b'{"entries": [], "format": 1}'])
def test_a_damaged_file_is_a_warning_and_left_alone(place: Path, muse: str, damage: bytes) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(damage)
    check = judged(place, muse)
    assert check.status == "warn" and "is not used: it is damaged" in check.summary
    assert check.fix is not None and "writes it anew" in check.fix
    assert place.read_bytes() == damage


def test_a_folder_in_its_place_has_to_be_moved_away(place: Path, muse: str) -> None:
    place.mkdir(parents=True)
    check = judged(place, muse)
    assert "is not used: it is not a regular file." in check.summary
    assert check.fix == f"Move {place} away: it is a folder, and nothing can be remembered while it is there."


def test_what_cannot_be_read_is_told_in_words(place: Path, muse: str) -> None:
    place.parent.mkdir(parents=True)
    place.symlink_to(place)
    check = judged(place, muse)
    assert check.status == "warn"
    assert "it cannot be read (" in check.summary and "Errno" not in check.summary


def test_advice_does_not_promise_what_a_folder_that_cannot_be_written_keeps_from_happening(
    place: Path, muse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(b"nonsense")
    monkeypatch.setattr(os, "access", lambda *_: False)
    check = judged(place, None)
    assert check.fix is not None and "anew" not in check.fix and "XDG_CACHE_HOME" in check.fix


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_a_warning(place: Path, muse: str) -> None:
    remember(place, muse)
    os.chown(place, 12345, 12345)
    check = judged(place, muse)
    assert check.status == "warn" and "another user" in check.summary


def test_a_place_that_is_no_folder_is_a_warning(place: Path, muse: str) -> None:
    place.parents[1].mkdir(parents=True)
    place.parent.write_text("in the way")
    check = judged(place, muse)
    assert (check.status, check.details["writable"]) == ("warn", False)
    assert "asked at every start" in check.summary
    assert check.fix is not None and str(place.parent) in check.fix


def test_without_a_muse_the_place_is_looked_at(place: Path) -> None:
    assert judged(place, None).status == "pass"


def test_of_a_stand_in_nothing_is_remembered(place: Path, muse: str) -> None:
    assert judged(place, muse, chosen="simulated").status == "skipped"
