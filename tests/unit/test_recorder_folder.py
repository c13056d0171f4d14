"""A recording has a folder of its own, which nobody else can read."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.recorder.folder import MANIFEST, TRANSCRIPT, Folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="looks at modes, links and names as POSIX has them")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_with_everything_above_it_and_only_for_its_owner(tmp_path: Path) -> None:
    folder = Folder.claim(tmp_path / "a" / "b")
    folder.append(b"{}\n")
    folder.write_manifest({"scenario": "b"})
    folder.close()

    assert folder.path == tmp_path / "a" / "b"
    assert (mode(tmp_path / "a"), mode(folder.path)) == (0o700, 0o700)
    assert (mode(folder.path / TRANSCRIPT), mode(folder.path / MANIFEST)) == (0o600, 0o600)
    assert {path.name for path in folder.path.iterdir()} == {TRANSCRIPT, MANIFEST}


def test_a_folder_that_is_there_is_taken_if_it_holds_no_recording(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    names = [Folder.claim(tmp_path).path.name for _ in range(3)]

    assert names == [tmp_path.name, f"{tmp_path.name}-2", f"{tmp_path.name}-3"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_those_who_come_at_once_get_one_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: Folder.claim(tmp_path / "out").path, range(40)))

    assert len(set(taken)) == 40
    assert {path.name for path in taken} == {"out", *(f"out-{number}" for number in range(2, 41))}


def test_a_link_in_the_place_of_the_transcript_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TRANSCRIPT).symlink_to(tmp_path / "elsewhere")

    assert Folder.claim(tmp_path / "out").path.name == "out-2"
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_in_its_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="Not a directory"):
        Folder.claim(tmp_path / "file")


def test_of_lines_that_do_not_fit_whole_ones_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder.claim(tmp_path / "out")
    folder.append(b"first\n")
    room = [11]

    def full(fd: int, data: Any) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return write(fd, data[: room.pop()])

    write = os.write
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        folder.append(b"second\nthird\nfourth\n")
    monkeypatch.undo()

    assert (folder.path / TRANSCRIPT).read_bytes() == b"first\nsecond\n"


def test_a_manifest_that_cannot_be_replaced_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder.claim(tmp_path / "out")
    folder.write_manifest({"n": 1})
    folder.write_manifest({"n": 2})

    def full(_self: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        folder.write_manifest({"n": 3})

    assert orjson.loads((folder.path / MANIFEST).read_bytes()) == {"n": 2}
    assert {path.name for path in folder.path.iterdir()} == {TRANSCRIPT, MANIFEST}


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = Folder.claim(tmp_path / os.fsdecode(b"out\xff"))
    folder.write_manifest({"scenario": folder.path.name})

    assert orjson.loads((folder.path / MANIFEST).read_bytes()) == {"scenario": "out?"}
