"""What is kept of a conversation, when it is on disk, and what happens when it cannot be kept."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.recorded import Ended, load_script
from adapter.hosts.recorder import recording as module
from adapter.hosts.recorder.folder import Folder
from adapter.hosts.recorder.lines import LONGEST_LINE
from adapter.hosts.recorder.recording import PRELUDE_BYTES, Direction, Recording, entries_at_once
from adapter.hosts.recorder.redact import Redactor

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}\n'
WELCOME = b'{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"m","version":"1.2.1"}}}\n'
READY = b'{"jsonrpc":"2.0","method":"initialized"}\n'


class Kept:
    """A recording in a folder, and what it said to the person."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.said: list[str] = []
        self.recording = Recording(out, None, self.said.append)

    def take(self, *spoken: tuple[Direction, bytes]) -> Kept:
        for direction, data in spoken:
            self.recording.take(direction, data)
        return self

    def entries(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in (self.out / "transcript.ndjson").read_bytes().splitlines()]

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = orjson.loads((self.out / "manifest.json").read_bytes())
        return manifest


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "out")


def test_a_frame_is_on_disk_before_it_is_passed_on(kept: Kept) -> None:
    kept.take(("client", HELLO + READY[:9]))
    assert [entry["raw"].encode() + b"\n" for entry in kept.entries()] == [HELLO]
    kept.take(("server", WELCOME), ("client", READY[9:]))

    assert [(entry["dir"], entry["raw"].encode() + b"\n") for entry in kept.entries()] == [
        ("client", HELLO),
        ("server", WELCOME),
        ("client", READY),
    ]
    times = [entry["atMs"] for entry in kept.entries()]
    assert times[0] == 0 and times == sorted(times)


def test_the_manifest_is_there_from_the_first_frame_and_grows(kept: Kept) -> None:
    kept.take(("client", HELLO))
    first = kept.manifest()
    assert (first["protocol"], first["provenance"], first["redacted"]) == ("msp", "host-recorded", False)
    assert first["scenario"] == "out" and "host" not in first and "frames" not in first

    kept.take(("server", WELCOME))
    assert kept.manifest()["host"] == {"name": "m", "version": "1.2.1"}
    assert kept.recording.of_muse_host
    kept.recording.told_version("Muse Code 1.2.1 (1.2.1-R2847.1)")
    kept.recording.told_flags(["--model"])
    assert kept.manifest()["versionOutput"] == "Muse Code 1.2.1 (1.2.1-R2847.1)"
    assert kept.manifest()["serveFlags"] == ["--model"]

    kept.recording.close()
    assert kept.manifest()["frames"] == {"client": 1, "server": 1}
    script = load_script(kept.out)
    assert script.manifest.variables >= {"params.workspaceRoot", "params.capabilities"}
    assert script.manifest.server_config.frame_limit_bytes == 10 * 1024 * 1024


def test_an_acp_agent_has_the_limits_and_variables_of_its_protocol(kept: Kept) -> None:
    kept.take(("client", HELLO.replace(b'"clientInfo"', b'"protocolVersion":1,"clientInfo"'))).recording.close()

    manifest = load_script(kept.out).manifest
    assert (manifest.protocol, manifest.server_config.frame_limit_bytes) == ("acp", 32 * 1024 * 1024)
    assert "params.cwd" in manifest.variables


@pytest.mark.parametrize("said", [b"", b"Muse Code 1.2.1 (1.2.1-R2847.1)\n", WELCOME])
def test_nothing_is_left_of_a_run_without_a_frame_of_the_client(kept: Kept, said: bytes) -> None:
    kept.take(("client", b"y\n[]\n"), ("server", said))
    kept.recording.end_of("client")
    kept.recording.end_of("server")
    kept.recording.close()

    assert not kept.out.exists() and not kept.said


def test_what_came_before_the_first_frame_is_kept_in_its_place(kept: Kept) -> None:
    kept.take(("server", b"motd\n"), ("client", b"oops\n"), ("client", HELLO))

    assert [entry["raw"] for entry in kept.entries()[:2]] == ["motd", "oops"]


def test_of_much_that_comes_before_the_first_frame_the_end_is_kept_and_that_is_said(kept: Kept) -> None:
    count = PRELUDE_BYTES // 1000 + 10
    for number in range(count):
        kept.take(("server", b"%d" % number + b"x" * 1000 + b"\n"))
    assert sum(len(entry) for _, entry in kept.recording._prelude) <= PRELUDE_BYTES
    kept.take(("client", HELLO), ("server", WELCOME))
    kept.recording.close()

    *before, hello, _ = kept.entries()
    first = count - len(before)
    assert 0 < first < count and hello["dir"] == "client"
    assert [int(entry["raw"].rstrip("x")) for entry in before] == list(range(first, count))
    (said,) = kept.said
    assert said.startswith(f"{first} lines ")
    assert kept.manifest()["frames"] == {"client": 1, "server": len(before) + 1}


def test_the_manifest_is_there_before_the_first_line(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: Folder, _lines: bytes) -> None:
        assert kept.manifest()["redacted"] is False
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "append", full)
    kept.take(("client", HELLO))

    assert "No space" in kept.said[0] and kept.manifest()["protocol"] == "msp"


def test_without_a_manifest_there_is_no_recording(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_self: Folder, _about: dict[str, Any]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "write_manifest", full)
    kept.take(("client", HELLO), ("server", WELCOME))
    kept.recording.close()

    assert len(kept.said) == 1 and not list(kept.out.iterdir())


def test_a_redacted_manifest_has_nothing_that_a_redacted_frame_has_not(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "out", Redactor(), print)
    answer = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "serverInfo": {"name": "muse (hunter2)", "version": "1.2.1"},
            "schema": {"version": 1, "fingerprint": "sha256:(hunter2)"},
        },
    }
    recording.take("client", HELLO)
    recording.take("server", orjson.dumps(answer) + b"\n")
    recording.told_version("hunter2 (1.2.1)")
    recording.take("client", b'{"id":3,"method":"turn/start","params":{"hunter2":{"hunter2":"x"}}}\n')
    recording.close()

    manifest = (tmp_path / "out" / "manifest.json").read_bytes()
    assert b"hunter2" not in manifest and orjson.loads(manifest)["host"]["version"] == "1.2.1"


@pytest.mark.parametrize(("code", "ended"), [(3, Ended(exit_code=3)), (-9, Ended(signal=9)), (0, Ended(exit_code=0))])
def test_how_a_command_ended_by_itself_is_kept(kept: Kept, code: int, ended: Ended) -> None:
    kept.take(("client", HELLO)).recording.ended_by_itself(code)
    kept.recording.close()

    assert load_script(kept.out).manifest.ended == ended and ended.code == code


def test_lines_that_are_no_frames_are_kept_exactly(kept: Kept) -> None:
    kept.take(("client", HELLO), ("server", b"\xff\xfe\n{}\r\n\n \n"), ("server", "Grüße\u2028".encode()))
    kept.recording.end_of("server")

    _, bad, carriage, text = kept.entries()
    assert base64.b64decode(bad["base64"]) == b"\xff\xfe"
    assert (carriage["raw"], text["raw"]) == ("{}\r", "Grüße\u2028")
    lines = load_script(kept.out).lines
    assert [line.written() for line in lines[1:]] == [b"\xff\xfe", b"{}\r", "Grüße\u2028".encode()]


def test_a_line_that_is_too_long_is_kept_by_its_beginning(kept: Kept) -> None:
    kept.take(("client", HELLO))
    for _ in range(33):
        kept.take(("server", b"x" * (1 << 20)))
    kept.take(("server", b"\n" + WELCOME))

    _, cut, after = load_script(kept.out).lines
    assert cut.length == 33 << 20 > LONGEST_LINE
    assert 0 < len(cut.raw) < 10_000 and cut.frame is None
    assert after.frame is not None


def test_a_place_that_cannot_be_written_is_said_once_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "out")
    kept.take(("client", HELLO), ("server", WELCOME), ("client", READY))
    kept.recording.told_version("1.2.1")
    kept.recording.close()

    (said,) = kept.said
    assert "goes on" in said and str(tmp_path / "file") in said


def test_a_disk_that_is_full_ends_the_recording_with_the_last_whole_line(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.take(("client", HELLO), ("server", WELCOME))

    def full(_self: Folder, _lines: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Folder, "append", full)
    kept.take(("client", READY), ("client", READY))
    kept.recording.close()

    assert len(kept.said) == 1 and "No space left on device" in kept.said[0]
    assert len(load_script(kept.out).lines) == 2


def test_a_mistake_of_the_recorder_ends_the_recording_and_tells_no_text(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ValueError("hunter2")

    monkeypatch.setattr(module, "entries_at_once", broken)
    kept.take(("client", HELLO), ("server", WELCOME), ("server", WELCOME), ("server", WELCOME))

    (said,) = kept.said
    assert "ValueError" in said and "hunter2" not in said


FRAMES = st.dictionaries(
    st.sampled_from(["a", "ä\u2028", '"\\']), st.text() | st.none() | st.floats(allow_nan=False), max_size=3
)


@given(st.lists(FRAMES, min_size=1, max_size=5))
def test_many_lines_at_once_are_the_same_as_each_by_itself(frames: list[dict[str, Any]]) -> None:
    raws = [orjson.dumps(frame).decode() for frame in frames if "\ud800" not in str(frame)]
    entries = entries_at_once("server", "".join(raw + "\n" for raw in raws).encode(), 7)

    if entries is None:
        assert any("\U0010ffff" in raw for raw in raws)
    else:
        expected = [{"dir": "server", "raw": raw, "atMs": 7} for raw in raws]
        assert [orjson.loads(line) for line in entries.splitlines()] == expected


@pytest.mark.parametrize("block", [b"\n{}\n", b"{}\n\n{}\n", b"{}\nno\n", b"{}\n {}\n", b'{"\xff"}\n', b"\xff\n"])
def test_lines_that_need_a_look_are_not_done_at_once(block: bytes) -> None:
    assert entries_at_once("client", block, 0) is None
