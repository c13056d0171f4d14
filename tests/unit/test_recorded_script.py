"""Reading a recording from disk, and what is said about one that cannot be played."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.hosts.recorded import Ended, Manifest, ScriptError, load_script
from adapter.hosts.recorded import script as module
from adapter.wire.framing import MSP_FRAME_CAP

HELLO = r'{"dir":"client","raw":"{\"id\":1,\"method\":\"initialize\"}\r"}'
WELCOME = r'{"dir":"server","raw":"{\"id\":1,\"result\":{\"serverInfo\":{\"version\":\"1.2.1\"}}}"}'


def recording(directory: Path, transcript: str, manifest: str | None = None) -> Path:
    (directory / "transcript.ndjson").write_text(transcript, "utf-8")
    if manifest is not None:
        (directory / "manifest.json").write_text(manifest, "utf-8")
    return directory


def test_a_recording_without_manifest(tmp_path: Path) -> None:
    script = load_script(recording(tmp_path, f"{HELLO}\n{WELCOME}\n"))
    assert script.manifest == Manifest()
    assert script.manifest.server_config.frame_limit_bytes == MSP_FRAME_CAP
    assert [line.number for line in script.lines] == [1, 2]
    assert script.lines[0].frame == {"id": 1, "method": "initialize"}
    assert script.host_version() == "1.2.1"


def test_a_manifest_may_hold_more_than_the_player_needs(tmp_path: Path) -> None:
    manifest = (
        '{"provenance":{"by":"hand"},"serverConfig":{"frameLimitBytes":99,"more":1},"seeds":[],'
        '"variables":["params.workspaceRoot"],"versionOutput":"Muse Code 1.2.1 (1.2.1-R1)"}'
    )
    script = load_script(recording(tmp_path, f"{HELLO}\n", manifest))
    assert script.manifest.server_config.frame_limit_bytes == 99
    assert script.manifest.variables == {"params.workspaceRoot"}
    assert script.manifest.version_output == "Muse Code 1.2.1 (1.2.1-R1)"
    assert script.host_version() == "unknown"


@pytest.mark.parametrize("raw", ["thread panicked", "[1]", "{", "\\u2028", "\\ud800"])
def test_a_host_may_have_written_anything(tmp_path: Path, raw: str) -> None:
    script = load_script(recording(tmp_path, f'{HELLO}\n{{"dir":"server","raw":"{raw}"}}'))
    assert script.lines[1].frame is None


@pytest.mark.parametrize(
    ("transcript", "problem"),
    [
        ("", "no client frame"),
        (WELCOME, "no client frame"),
        (f"{HELLO}\nnonsense\n", "line 2"),
        (f"{HELLO}\n[]\n", "line 2"),
        (f'{HELLO}\n{{"dir":"client"}}\n', "line 2"),
        ('{"dir":"both","raw":"{}"}', "line 1"),
        ('{"dir":"client","raw":{}}', "line 1"),
        ('{"dir":"client","raw":"[]"}', "no client frame"),
        (f'{HELLO}\n{{"dir":"server","raw":"?","base64":"?"}}', "line 2"),
    ],
)
def test_a_damaged_transcript(tmp_path: Path, transcript: str, problem: str) -> None:
    with pytest.raises(ScriptError, match=problem):
        load_script(recording(tmp_path, transcript))


@pytest.mark.parametrize(
    "manifest",
    [
        *("", "[]", '{"variables":"all"}', '{"serverConfig":{"frameLimitBytes":"ten"}}'),
        pytest.param('{"provenance":' + "[" * 100_000 + "]" * 100_000 + "}", id="deep"),
    ],
)
def test_a_damaged_manifest(tmp_path: Path, manifest: str) -> None:
    with pytest.raises(ScriptError, match=r"manifest\.json"):
        load_script(recording(tmp_path, HELLO, manifest))


def test_no_recording_at_all(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"transcript\.ndjson"):
        load_script(tmp_path / "nowhere")


def test_a_client_may_have_written_anything_too(tmp_path: Path) -> None:
    script = load_script(recording(tmp_path, f'{HELLO}\n{{"dir":"client","raw":"hello"}}\n{WELCOME}\n'))
    assert [line.frame is None for line in script.lines] == [False, True, False]
    assert script.lines[1].written() == b"hello"


@pytest.mark.parametrize("torn", ['{"dir":"server","raw":"{\\"id', '{"dir":"server",', "{", '{"dir":"server","raw":"ä'])
def test_a_torn_last_line_is_left_out_and_noted(tmp_path: Path, torn: str) -> None:
    script = load_script(recording(tmp_path, f"{HELLO}\n{WELCOME}\n{torn}"))
    assert [line.number for line in script.lines] == [1, 2]
    assert script.note is not None and "line 3" in script.note
    # As it is when it is whole, or when it is not the last.
    assert load_script(recording(tmp_path, f"{HELLO}\n{WELCOME}")).note is None
    with pytest.raises(ScriptError, match="line 2"):
        load_script(recording(tmp_path, f"{HELLO}\n{torn}\n{WELCOME}\n"))


def test_a_line_torn_inside_a_character_is_noted_too(tmp_path: Path) -> None:
    whole = recording(tmp_path, f"{HELLO}\n{WELCOME}\n") / "transcript.ndjson"
    whole.write_bytes(whole.read_bytes() + '{"dir":"client","raw":"ä'.encode()[:-1])
    assert load_script(tmp_path).note is not None


def test_what_is_more_than_text(tmp_path: Path) -> None:
    exact = '{"dir":"server","raw":"\\ufffd!","base64":"/yE=","atMs":12}'
    cut = '{"dir":"server","raw":"{}","bytes":99999999,"atMs":"soon"}'
    marked = '{"dir":"client","raw":"\\ufeff{}"}'
    _, first, second, third = load_script(recording(tmp_path, f"{HELLO}\n{exact}\n{cut}\n{marked}\n")).lines
    assert (first.written(), first.frame, first.at_ms) == (b"\xff!", None, 12)
    assert (second.length, second.frame, second.at_ms) == (99999999, None, None)
    assert third.frame == {}


@pytest.mark.parametrize("name", ["TRANSCRIPT_BYTES", "MANIFEST_BYTES"])
def test_what_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    recording(tmp_path, f"{HELLO}\n", f"{{}}{' ' * len(HELLO)}")
    monkeypatch.setattr(module, name, len(HELLO) + 1)
    if name == "TRANSCRIPT_BYTES":
        assert load_script(tmp_path).lines
    monkeypatch.setattr(module, name, len(HELLO))
    with pytest.raises(ScriptError, match="is longer than"):
        load_script(tmp_path)


def test_how_a_command_ended(tmp_path: Path) -> None:
    assert load_script(recording(tmp_path, HELLO, '{"ended":{"signal":9}}')).manifest.ended == Ended(signal=9)
    assert load_script(recording(tmp_path, HELLO, "{}")).manifest.ended is None
    with pytest.raises(ScriptError):
        load_script(recording(tmp_path, HELLO, '{"ended":"badly"}'))
