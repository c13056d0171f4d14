"""The remembered versions: what makes an entry valid, and what becomes of a file that is not ours."""

import json
import logging
import os
import stat
from pathlib import Path

import msgspec
import pytest

from host_probe.abilities import Abilities
from host_probe.cache import FILE_NAME, MAX_BYTES, MAX_ENTRIES, VersionCache, default_directory
from host_probe.identity import BinaryIdentity, identify
from host_probe.version import HostVersion

VERSION = HostVersion("1.2.1", "1.2.1-R2847.1", "Muse Code 1.2.1 (1.2.1-R2847.1)")
OTHER = HostVersion("1.3.0", None, "1.3.0")
ABLE = Abilities(frozenset({"session/fork", "session/leave"}), workspace_roots=True, list_filter=True)
FLAGS = frozenset({"--disable-write"})


def identity(name: str = "muse", **changes: int | tuple[str, ...]) -> BinaryIdentity:
    plain = BinaryIdentity(real_path=f"/opt/{name}", size=10, mtime_ns=20, inode=30, arguments=())
    return msgspec.structs.replace(plain, **changes)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache"


def test_what_was_put_is_got_by_another_process(directory: Path) -> None:
    VersionCache(directory).put(identity(), VERSION)
    assert VersionCache(directory).get(identity()) == VERSION


@pytest.mark.parametrize(
    "other",
    [
        identity("other"),
        identity(size=11),
        identity(mtime_ns=21),
        identity(inode=31),
        identity(arguments=("-m", "adapter")),
    ],
    ids=["path", "size", "mtime", "inode", "arguments"],
)
def test_of_another_binary_nothing_is_known(directory: Path, other: BinaryIdentity) -> None:
    cache = VersionCache(directory)
    cache.put(identity(), VERSION)
    cache.put_abilities(identity(), ABLE)
    cache.put_flags(identity(), FLAGS)
    assert (cache.get(other), cache.abilities(other), cache.flags(other)) == (None, None, None)


def test_what_is_learnt_one_after_the_other_adds_up(directory: Path) -> None:
    VersionCache(directory).put_abilities(identity(), ABLE)
    VersionCache(directory).put_flags(identity(), FLAGS)
    VersionCache(directory).put(identity(), VERSION)
    VersionCache(directory).put_abilities(identity(), Abilities())
    cache = VersionCache(directory)
    assert (cache.get(identity()), cache.abilities(identity()), cache.flags(identity())) == (
        VERSION,
        Abilities(),
        FLAGS,
    )


def test_what_an_earlier_binary_could_do_is_forgotten_with_it(directory: Path) -> None:
    cache = VersionCache(directory)
    cache.put_abilities(identity(), ABLE)
    cache.put(identity(mtime_ns=21), OTHER)
    assert cache.abilities(identity(mtime_ns=21)) is None and cache.abilities(identity()) is None


def test_no_flags_at_all_is_no_answer(directory: Path) -> None:
    VersionCache(directory).put_flags(identity(), frozenset())
    assert not directory.exists()


def test_a_replaced_binary_replaces_its_entry(directory: Path) -> None:
    cache = VersionCache(directory)
    cache.put(identity(), VERSION)
    cache.put(identity(mtime_ns=21), OTHER)
    assert cache.get(identity()) is None
    assert cache.get(identity(mtime_ns=21)) == OTHER
    assert len(json.loads((directory / FILE_NAME).read_bytes())["entries"]) == 1


def test_one_program_with_several_arguments_has_several_entries(directory: Path) -> None:
    cache = VersionCache(directory)
    cache.put(identity(arguments=("a",)), VERSION)
    cache.put(identity(arguments=("b",)), OTHER)
    assert cache.get(identity(arguments=("a",))) == VERSION
    assert cache.get(identity(arguments=("b",))) == OTHER


def test_n8_an_unknown_version_is_not_remembered(directory: Path) -> None:
    VersionCache(directory).put(identity(), HostVersion(raw="sorry"))
    assert not directory.exists()


def test_the_oldest_entries_go_first(directory: Path) -> None:
    cache = VersionCache(directory)
    for number in range(MAX_ENTRIES + 2):
        cache.put(identity(f"muse{number}"), VERSION)
    kept = [number for number in range(MAX_ENTRIES + 2) if cache.get(identity(f"muse{number}"))]
    assert kept == list(range(2, MAX_ENTRIES + 2))


def test_a_written_file_never_outgrows_what_is_read(directory: Path) -> None:
    cache = VersionCache(directory)
    large = [identity(f"muse{number}", arguments=("x" * (MAX_BYTES // 3),)) for number in range(3)]
    for each in large:
        cache.put(each, VERSION)
    assert (directory / FILE_NAME).stat().st_size <= MAX_BYTES
    assert [cache.get(each) for each in large] == [None, VERSION, VERSION]


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_only_the_user_can_read_it_whatever_the_umask(directory: Path) -> None:
    before = os.umask(0)
    try:
        VersionCache(directory).put(identity(), VERSION)
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / FILE_NAME).stat().st_mode) == 0o600


def test_a_write_leaves_one_file(directory: Path) -> None:
    cache = VersionCache(directory)
    cache.put(identity(), VERSION)
    cache.put(identity("other"), VERSION)
    assert [path.name for path in directory.iterdir()] == [FILE_NAME]


def document(**changes: object) -> bytes:
    entry = {
        "identity": {"real_path": "/opt/muse", "size": 10, "mtime_ns": 20, "inode": 30, "arguments": []},
        "version": {"release": "1.2.1", "build": "1.2.1-R2847.1", "raw": ""},
    }
    return json.dumps({"format": 2, "entries": [{**entry, **changes}]}).encode()


def test_the_document_of_these_tests_is_read_if_nothing_is_wrong_with_it(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / FILE_NAME).write_bytes(document())
    found = VersionCache(directory).get(identity())
    assert found is not None
    assert found.release == "1.2.1"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(document()[:-5], id="cut"),
        pytest.param(b"\xff\x00\xfe", id="binary"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[1, 2]", id="another shape"),
        pytest.param(document().replace(b'"format": 2', b'"format": 1'), id="another format"),
        pytest.param(document(more=1), id="a member we do not write"),
        pytest.param(document(abilities={"methods": "all"}), id="abilities of another shape"),
        pytest.param(document(version={"release": None, "build": None, "raw": ""}), id="no version"),
        pytest.param(document(version={"release": "1.2.1x", "build": None, "raw": ""}), id="not a version"),
        pytest.param(document(version={"release": "1.2.1", "build": "1.3.0-R1", "raw": ""}), id="two versions"),
        pytest.param(document() + b" " * MAX_BYTES, id="oversized"),
    ],
)
def test_a_damaged_or_foreign_file_is_ignored_and_written_anew(directory: Path, content: bytes) -> None:
    directory.mkdir(parents=True)
    (directory / FILE_NAME).write_bytes(content)
    cache = VersionCache(directory)
    assert cache.get(identity()) is None
    cache.put(identity(), OTHER)
    assert cache.get(identity()) == OTHER


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_its_place_does_not_hang(directory: Path) -> None:
    directory.mkdir(parents=True)
    os.mkfifo(directory / FILE_NAME)
    cache = VersionCache(directory)
    assert cache.get(identity()) is None
    cache.put(identity(), VERSION)
    assert cache.get(identity()) == VERSION


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs user ids")
def test_another_users_file_is_ignored(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VersionCache(directory)
    cache.put(identity(), VERSION)
    user = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: user)
    assert cache.get(identity()) is None


def test_a_write_that_fails_is_only_logged_and_leaves_nothing(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (directory / FILE_NAME).mkdir(parents=True)  # a folder cannot be replaced by a file
    with caplog.at_level(logging.WARNING, "host_probe"):
        VersionCache(directory).put(identity(), VERSION)
    assert [record.name for record in caplog.records] == ["host_probe"]
    assert [path.name for path in directory.iterdir()] == [FILE_NAME]


def test_a_folder_that_cannot_be_made_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    cache = VersionCache(tmp_path / "file" / "cache")
    cache.put(identity(), VERSION)
    assert "is not remembered" in caplog.text
    assert cache.get(identity()) is None


def test_a_path_that_is_not_unicode_is_only_logged(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    VersionCache(directory).put(identity("muse\udcff"), VERSION)
    assert "is not remembered" in caplog.text


def test_the_folder_follows_the_platform(tmp_path: Path) -> None:
    xdg, local = str(tmp_path / "xdg"), str(tmp_path / "local")
    environ = {"XDG_CACHE_HOME": xdg, "LOCALAPPDATA": local}
    assert default_directory(environ, tmp_path, windows=False) == Path(xdg, "muse-adapter")
    assert default_directory(environ, tmp_path, windows=True) == Path(local, "muse-adapter")
    assert default_directory({}, tmp_path, windows=False) == tmp_path / ".cache" / "muse-adapter"
    assert default_directory({"XDG_CACHE_HOME": "relative"}, tmp_path, windows=False) == (
        tmp_path / ".cache" / "muse-adapter"
    )
    assert default_directory({}, tmp_path, windows=True) == tmp_path / "AppData" / "Local" / "muse-adapter"


@pytest.mark.skipif(os.name != "posix", reason="programs are told by their modes")
def test_an_identity_is_the_files_behind_all_links(tmp_path: Path) -> None:
    target, link = tmp_path / "muse-1.2.1", tmp_path / "muse"
    target.write_text("#!/bin/sh\n")
    target.chmod(0o755)
    link.symlink_to(target)
    by_link = identify([str(link), "serve"], {})
    assert by_link is not None
    assert by_link.real_path == str(target.resolve())
    assert by_link.arguments == ("serve",)
    assert identify(["muse", "serve"], {"PATH": str(tmp_path)}) == by_link


@pytest.mark.skipif(os.name != "posix", reason="programs are told by their modes")
def test_rewriting_or_replacing_a_binary_changes_its_identity(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/bin/sh\n")
    muse.chmod(0o755)
    seen = [identify([str(muse)], {})]
    os.utime(muse, ns=(1, 1))
    seen.append(identify([str(muse)], {}))
    update = tmp_path / "update"
    update.write_text("#!/bin/sh\n")
    update.chmod(0o755)
    os.utime(update, ns=(1, 1))
    update.replace(muse)
    seen.append(identify([str(muse)], {}))
    assert None not in seen
    assert len(set(seen)) == 3


def test_no_binary_has_no_identity(tmp_path: Path) -> None:
    assert identify([str(tmp_path / "gone")], {}) is None
    assert identify(["gone"], {"PATH": str(tmp_path)}) is None


def test_a_cache_that_is_not_there_or_is_whole_has_no_problem(directory: Path) -> None:
    cache = VersionCache(directory)
    assert cache.problem() is None
    assert not directory.exists(), "asking writes nothing"
    cache.put(identity(), VERSION)
    assert cache.problem() is None


@pytest.mark.parametrize("damage", [b"", b"{", b'{"entries": [], "format": 1}', b" " * (MAX_BYTES + 1)])
def test_the_problem_of_a_damaged_cache_is_told_and_the_file_left_alone(directory: Path, damage: bytes) -> None:
    directory.mkdir(parents=True)
    (directory / FILE_NAME).write_bytes(damage)
    assert VersionCache(directory).problem()
    assert (directory / FILE_NAME).read_bytes() == damage


def test_what_is_known_of_an_earlier_binary_is_outdated(directory: Path) -> None:
    cache = VersionCache(directory)
    assert not cache.is_outdated(identity())
    cache.put(identity(), VERSION)
    assert not cache.is_outdated(identity())
    assert cache.is_outdated(identity(size=11))
    assert not cache.is_outdated(identity(arguments=("-m",))), "another command"
