"""A release is verified together with recordings that prove it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.recorded import Script, load_script
from host_probe.surfaces import VERIFIED_SURFACES, VerifiedSurface
from host_probe.version import parse_server_version

ROOT = Path(__file__).resolve().parents[2]
READ = "item/readOutput"


def missing(entry: VerifiedSurface, root: Path = ROOT) -> list[str]:
    """What the evidence of an entry lacks: a read to the end, a read the host refused, a host of that release."""
    scripts = [load_script(path.parent) for path in sorted((root / entry.evidence).glob("*/transcript.ndjson"))]
    reading = [script for script in scripts if any(True for _ in reads(script))]
    lacking = [
        f"a host of {script.host_version()}, not {entry.release}"
        for script in reading
        if parse_server_version(script.host_version()).release != entry.release
    ]
    if not any(reads_to_the_end(script) for script in reading):
        lacking.append("no read to the end")
    if not any("error" in answer for script in reading for _, answer in reads(script)):
        lacking.append("no read the host refused")
    return lacking


def reads(script: Script) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The reads with their answers."""
    asked: dict[Any, dict[str, Any]] = {}
    for line in script.lines:
        frame = line.frame or {}
        if line.direction == "client" and frame.get("method") == READ:
            asked[frame["id"]] = frame["params"]
        elif line.direction == "server" and "method" not in frame and frame.get("id") in asked:
            yield asked.pop(frame["id"]), frame


def reads_to_the_end(script: Script) -> bool:
    """Whether the pages are one behind the other, as long as they say, from the first byte to the last."""
    end, eof = 0, False
    for params, answer in reads(script):
        page = answer.get("result")
        if page is None or params.get("offsetBytes", 0) != end or page["offsetBytes"] != end or page["byteLen"] < 1:
            return False
        if page["encoding"] == "utf8" and len(page["content"].encode()) != page["byteLen"]:
            return False
        end, eof = end + page["byteLen"], page["eof"]
    return eof


@pytest.mark.parametrize("entry", VERIFIED_SURFACES, ids=lambda entry: entry.release)
def test_the_evidence_holds_a_recorded_read_and_a_refused_one(entry: VerifiedSurface) -> None:
    assert missing(entry) == []


# -- the test itself


def proven(tmp_path: Path, release: str = "1.2.1", without: str = "") -> list[str]:
    """What is missing of a copy of the evidence for 1.2.1 that lacks some recordings, as evidence for a release."""
    for source in (ROOT / "fixtures/hosts/1.2.1").iterdir():
        if not without or not source.name.startswith(without):
            shutil.copytree(source, tmp_path / "evidence" / source.name)
    return missing(VerifiedSurface(release, "storedOutput", "evidence", "a copy"), tmp_path)


def test_a_release_without_recordings_is_refused(tmp_path: Path) -> None:
    nothing = VerifiedSurface("1.3.0", "storedOutput", "fixtures/hosts/1.3.0/", "no reads in it")

    assert missing(nothing) == missing(nothing, tmp_path) == ["no read to the end", "no read the host refused"]


@pytest.mark.parametrize(
    ("without", "lacking"), [("read-three", ["no read to the end"]), ("read-refused", ["no read the host refused"])]
)
def test_a_release_without_one_of_the_two_is_refused(tmp_path: Path, without: str, lacking: list[str]) -> None:
    assert proven(tmp_path, without=without) == lacking


def test_recordings_of_another_release_prove_nothing(tmp_path: Path) -> None:
    assert set(proven(tmp_path, "1.2.2")) == {"a host of 1.2.1, not 1.2.2"}


def test_a_read_that_stops_in_the_middle_proves_nothing(tmp_path: Path) -> None:
    assert proven(tmp_path) == []
    transcript = tmp_path / "evidence" / "read-three-pages" / "transcript.ndjson"
    lines = transcript.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if READ in orjson.loads(line)["raw"])
    transcript.write_bytes(b"".join(lines[:last]))

    assert missing(VerifiedSurface("1.2.1", "storedOutput", "evidence", "a copy"), tmp_path) == ["no read to the end"]
