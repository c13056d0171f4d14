"""What is on disk, however damaged, can be looked at; where there is no recording, that is said."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adapter.cli.inspect import recording as module
from adapter.cli.inspect.ladder import ladder_of
from adapter.cli.inspect.recording import NoRecording, read_recording
from tests.inspecting import Transcript, rows


def transcript(directory: Path, data: bytes) -> Path:
    (directory / "transcript.ndjson").write_bytes(data)
    return directory


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def hands_shaken() -> bytes:
    made = Transcript()
    made.shake_hands()
    return "".join(f"{line}\n" for line in made.lines).encode()


def test_a_torn_last_line_is_noted_and_the_rest_is_shown(tmp_path: Path) -> None:
    found = read_recording(transcript(tmp_path, hands_shaken() + b'{"dir":"server","raw":"{\\"jso'))

    assert found.notes == ("Line 3, the last one, is torn: the recording was ended in the middle of it.",)
    assert [line.number for line in found.script.lines] == [1, 2, 3]
    assert rows(ladder_of(found))[2].startswith("?  no frame: ")


def test_a_last_line_that_is_whole_needs_no_end(tmp_path: Path) -> None:
    found = read_recording(transcript(tmp_path, hands_shaken().rstrip(b"\n")))

    assert found.notes == () and len(found.script.lines) == 2


def test_lines_that_are_none_of_a_recording_are_named_and_shown(tmp_path: Path) -> None:
    damage = b'nonsense\n{"dir":"moon","raw":"{}"}\n\xff\xfe\n{"dir":"client"}\n'
    found = read_recording(transcript(tmp_path, hands_shaken() + damage))

    assert found.notes == ("Lines 3, 4, 5, 6 are not of the form of a recording, and shown as found.",)
    assert found.damaged == {3, 4, 5, 6}
    assert rows(ladder_of(found))[2] == '?  no frame: "nonsense"'


def test_many_damaged_lines_are_not_all_named(tmp_path: Path) -> None:
    found = read_recording(transcript(tmp_path, b"x\n" * 30))

    assert "10, ... are not" in found.notes[0]


def test_what_somebody_wrote_that_is_no_frame_is_shown_as_theirs(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    made.server("panicked at src/main.rs")
    made.client("[1, 2]")
    _, ladder = made.read(tmp_path)

    assert rows(ladder)[2:] == ['<  no frame: "panicked at src/main.rs"', '>  no frame: "[1, 2]"']
    assert [entry.shape for entry in ladder.totals.failed] == ["unreadable"] * 2


def test_of_a_line_too_long_to_be_kept_its_length_counts(tmp_path: Path) -> None:
    cut = json.dumps({"dir": "server", "raw": '{"jsonrpc":"2.0","me', "bytes": 40_000_000, "atMs": 5})
    found = read_recording(transcript(tmp_path, hands_shaken() + cut.encode() + b"\n"))
    ladder = ladder_of(found)

    assert ladder.totals.sizes["server"] > 40_000_000
    assert rows(ladder)[2].startswith("<  38.1 MiB, of which the beginning was kept")


def test_a_manifest_is_not_needed(tmp_path: Path) -> None:
    found = read_recording(transcript(tmp_path, hands_shaken()))

    assert found.notes == () and found.protocol == "msp" and not found.about


@pytest.mark.parametrize(
    "manifest",
    [
        *("{", "[]", '{"protocol":"smoke signals"}', '{"variables":5}'),
        pytest.param('{"provenance":' + "[" * 100_000 + "]" * 100_000 + "}", id="deep"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_noted(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    found = read_recording(transcript(tmp_path, hands_shaken()))

    assert len(found.notes) == 1 and found.notes[0].startswith("manifest.json cannot be used: ")


@pytest.mark.parametrize(("manifest", "protocol"), [(None, "acp"), ({}, "acp"), ({"protocol": "msp"}, "msp")])
def test_what_is_spoken_is_told_by_the_manifest_else_by_how_it_was_opened(
    tmp_path: Path, manifest: dict[str, str] | None, protocol: str
) -> None:
    made = Transcript()
    made.ask("initialize", {"protocolVersion": 1})

    assert made.read(tmp_path, manifest)[0].protocol == protocol


def test_a_folder_without_a_recording_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match=r"has no transcript\.ndjson, so there is no recording to show"):
        read_recording(tmp_path)
    with pytest.raises(NoRecording, match=r"is no folder with a transcript\.ndjson"):
        read_recording(tmp_path / "nowhere")


@pytest.mark.parametrize("data", [b"", b"\n\n  \n"])
def test_an_empty_transcript_is_no_recording(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(NoRecording, match="is empty"):
        read_recording(transcript(tmp_path, data))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "transcript.ndjson").mkdir()

    with pytest.raises(NoRecording, match=r"transcript\.ndjson cannot be read: "):
        read_recording(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name and devices are POSIX's")
@pytest.mark.parametrize("create", [make_pipe, make_device])
def test_what_is_no_file_is_not_read(tmp_path: Path, create: Callable[[Path], None]) -> None:
    """Whoever opened a pipe would wait for its writer, and `/dev/zero` never ends."""
    made = Transcript()
    made.shake_hands()
    manifest, transcript = (made.write(tmp_path, {}) / name for name in ("manifest.json", "transcript.ndjson"))
    manifest.unlink()
    create(manifest)
    assert read_recording(tmp_path).notes == ("manifest.json cannot be used: it is no regular file",)

    transcript.unlink()
    create(transcript)
    with pytest.raises(NoRecording, match=r"transcript\.ndjson cannot be read: it is no regular file"):
        read_recording(tmp_path)


def test_a_transcript_has_a_longest_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)

    with pytest.raises(NoRecording, match="no more than 100 can be shown"):
        read_recording(transcript(tmp_path, hands_shaken()))
