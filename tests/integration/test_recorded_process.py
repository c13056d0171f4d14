"""The recorded host as a process in the place of the `muse` binary: its output, its complaints, its exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests import corpus

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "a", "version": "1"}}}
READY = {"jsonrpc": "2.0", "method": "initialized"}
WELCOME = '{"jsonrpc":"2.0","id":1, "result":{"serverInfo":{"name":"m","version":"1.2.1"},"text":"häh\u2028"}}'


def entry(direction: str, raw: str) -> bytes:
    return orjson.dumps({"dir": direction, "raw": raw}, option=orjson.OPT_APPEND_NEWLINE)


def line(frame: object) -> bytes:
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    transcript = [entry("client", orjson.dumps(HELLO).decode()), entry("server", WELCOME)]
    transcript += [entry("client", orjson.dumps(READY).decode())]
    (tmp_path / "transcript.ndjson").write_bytes(b"".join(transcript))
    (tmp_path / "manifest.json").write_bytes(
        line({"provenance": "simulated", "serverConfig": {"frameLimitBytes": 400}})
    )
    return tmp_path


def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "adapter.hosts.recorded", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, check=False)


def test_it_says_what_version_was_recorded(recording: Path) -> None:
    shown = run(recording, "--version")
    assert (shown.returncode, shown.stdout) == (0, b"Muse Code 1.2.1\n")
    (recording / "manifest.json").write_text('{"versionOutput":"Muse Code 1.2.1 (1.2.1-R2847.1)"}')
    assert run(recording, "--version").stdout == b"Muse Code 1.2.1 (1.2.1-R2847.1)\n"


def test_it_plays_and_ends_well(recording: Path) -> None:
    played = run(recording, "serve", "--disable-write", "--model", "m", stdin=line(HELLO) + line(READY))
    assert (played.returncode, played.stdout) == (0, WELCOME.encode() + b"\n")
    assert b"provenance: simulated" in played.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["DIR", "--help"], ["DIR", "serve", "--help"]], ids=" ".join)
def test_help_goes_to_stdout(arguments: list[str]) -> None:
    shown = run(*arguments)
    assert shown.returncode == 0 and shown.stdout.startswith(b"usage:")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], b"a folder with a recording must be named"),
        (["--what"], b"a folder with a recording comes first, not '--what'"),
        (["DIR", "play"], b"--version or serve, not 'play'"),
        (["DIR", "--version", "serve"], b"nothing follows --version, not 'serve'"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str], problem: bytes) -> None:
    shown = run(*arguments)
    said, where = shown.stderr.splitlines()
    assert shown.returncode == 2 and not shown.stdout
    assert said.startswith(b"recording: ") and said.endswith(problem)
    assert where == b"Try `python -m adapter.hosts.recorded --help`."


@pytest.mark.parametrize("word", ["--version", "serve"])
def test_no_recording_is_a_configuration_error(tmp_path: Path, word: str) -> None:
    shown = run(tmp_path / "nowhere", word)
    assert shown.returncode == 3 and b"transcript.ndjson" in shown.stderr and not shown.stdout


def test_a_client_that_leaves_early_ends_it_with_66(recording: Path) -> None:
    played = run(recording, "serve", stdin=line(HELLO))
    assert played.returncode == 66
    assert b"line 3" in played.stderr and b"initialized" in played.stderr


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (line(HELLO | {"id": 2, "method": "session/list"}), -32603),
        (b"garbage\n", -32700),
        (b"[]\n", -32700),
        (line(HELLO | {"padding": "x" * 400}), -32700),
    ],
    ids=["request", "garbage", "batch", "too long"],
)
def test_a_client_off_script_is_told_and_ends_it_with_65(recording: Path, wrong: bytes, code: int) -> None:
    played = run(recording, "serve", stdin=wrong + line(HELLO) + line(READY))
    refusal, welcome = played.stdout.splitlines()
    assert orjson.loads(refusal)["error"]["code"] == code
    assert welcome == WELCOME.encode()
    assert played.returncode == 65
    assert b"Off script: line 1 was expected" in played.stderr


def test_a_notification_off_script_is_not_answered_and_ends_it_with_65(recording: Path) -> None:
    played = run(recording, "serve", stdin=line(HELLO) + line(READY) + line(READY))
    assert (played.returncode, played.stdout) == (65, WELCOME.encode() + b"\n")


def test_the_last_frame_needs_no_line_end(recording: Path) -> None:
    assert run(recording, "serve", stdin=line(HELLO) + line(READY)[:-1]).returncode == 0


@corpus.needs_corpus
@pytest.mark.parametrize("scenario", ["text-run-single-turn", "approval-round-trip", "framing-tolerance-cr-input"])
def test_it_plays_official_transcripts(scenario: str) -> None:
    spoken = corpus.frames(scenario)
    said = {who: "".join(f"{frame.raw}\n" for frame in spoken if frame.sender == who) for who in ("client", "server")}
    played = run(corpus.CORPUS / scenario, "serve", stdin=said["client"].encode())
    assert played.returncode == 0, played.stderr
    assert played.stdout == said["server"].encode()
