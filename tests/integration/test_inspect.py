"""`muse-adapter inspect` on recordings: ours, the official ones, and one made just now."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.cli.inspect.run import Wanted, main
from tests.adapter_process import AdapterProcess
from tests.corpus import CORPUS, needs_corpus, scenarios
from tests.inspecting import SESSION, Transcript
from tests.unit.test_cli_options import muse_adapter

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RECORDINGS = sorted(path.parent for path in FIXTURES.rglob("transcript.ndjson"))
PROMPT_TURN = FIXTURES / "hosts" / "1.2.1" / "prompt-turn"

ENTRY = [sys.executable, "-m", "adapter.cli.entry"]


def inspected(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return muse_adapter("inspect", *(str(arg) for arg in args))


@pytest.mark.parametrize("directory", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_recording_of_ours_is_shown_whole(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(Wanted(directory))
    shown = capsys.readouterr()
    last = len((directory / "transcript.ndjson").read_text("utf-8").splitlines())

    assert (code, shown.err) == (0, "")
    first_words = {line.split()[0] for line in shown.out.splitlines() if line.split()}
    assert first_words & {str(last), f"{last - 1}-{last}"}
    assert "no frame" not in shown.out


@needs_corpus
@pytest.mark.parametrize("scenario", scenarios())
def test_each_official_transcript_is_shown(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(Wanted(CORPUS / scenario))
    shown = capsys.readouterr()

    assert (code, shown.err) == (0, "")
    assert "│ initialize  conformance 0.0.0" in shown.out
    assert "no frame" not in shown.out and "never answered" not in shown.out


def test_filters_choose_what_is_shown() -> None:
    turns, nothing = inspected(PROMPT_TURN, "--method", "TURN/"), inspected(PROMPT_TURN, "--errors")
    by_number, by_id = inspected(PROMPT_TURN, "--session", "1"), inspected(PROMPT_TURN, "--session", "0198f000")

    methods = [line.split("│ ")[1].split()[0] for line in turns.stdout.splitlines() if "│ " in line]
    assert set(methods) == {"turn/start", "turn/started", "turn/completed"}
    assert "No frame fits" in nothing.stdout and nothing.returncode == 0
    assert by_number.stdout == by_id.stdout
    assert "session/start" in by_number.stdout and "initialize" not in by_number.stdout


def test_one_frame_is_shown_as_it_was_sent_and_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    made = Transcript()
    made.client('{"jsonrpc":"2.0","id":1e0,"method":"\u202emodel/list\x7f\x9b","params":{"n":1.10,"b":"\\u00fc"}}')
    made.server("\x1b[31mno frame")
    made.write(tmp_path)
    done, wrong = inspected(tmp_path, "--frame", "1"), inspected(tmp_path, "--frame", "2")

    assert done.stdout.splitlines()[1:4] == [
        '  "jsonrpc": "2.0",',
        '  "id": 1e0,',
        '  "method": "\\u202emodel/list\\u007f\\u009b",',
    ]
    assert '"n": 1.10' in done.stdout and '"b": "\\u00fc"' in done.stdout
    assert wrong.stdout == "\\u001b[31mno frame\n"


@pytest.mark.parametrize("levels", [300, 2000, 5000])
def test_a_frame_that_is_nested_too_deep_to_be_laid_out_is_shown_as_it_is(tmp_path: Path, levels: int) -> None:
    made = Transcript()
    made.client('{"jsonrpc":"2.0","id":1,"method":"initialize"}')
    made.server("[" * levels + "]" * levels)
    made.write(tmp_path)
    done = inspected(tmp_path, "--frame", "2")

    assert (done.stdout, done.stderr) == ("[" * levels + "]" * levels + "\n", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["{empty}"], "has no transcript.ndjson, so there is no recording to show"),
        (["{empty}/nowhere"], "is no folder with a transcript.ndjson"),
        (["{recording}", "--frame", "999"], "no frame 999; the recording's last is 21"),
        (["{recording}", "--session", "7"], "no session '7'; the recording has 1"),
        (["{recording}", "--html", "{empty}"], "cannot be written"),
        (["{recording}", "--html", "{recording}/manifest.json"], "is something else than a page of a recording"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(tmp_path: Path, args: list[str], said: str) -> None:
    done = inspected(*(arg.format(empty=tmp_path, recording=PROMPT_TURN) for arg in args))

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert done.stderr.startswith("muse-adapter: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "args",
    [
        [],
        [".", "another"],
        [".", "--frame", "one"],
        [".", "--html", "x.html", "--errors"],
        [".", "--html", "x.html", "--frame", "1"],
        [".", "--frame", "1", "--method", "x"],
    ],
)
def test_a_wrong_command_line_shows_nothing(args: list[str]) -> None:
    done = inspected(*args)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Try `muse-adapter inspect --help`." in done.stderr
    assert not Path("x.html").exists()


def test_a_recording_torn_by_a_crash_is_shown_with_a_note(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    made.tell("session/nameChanged", {"sessionId": SESSION, "name": "Trees"})
    whole = made.write(tmp_path) / "transcript.ndjson"
    whole.write_bytes(whole.read_bytes()[:-20])
    done = inspected(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Line 3, the last one, is torn" in done.stdout
    assert "initialize  tester 3" in done.stdout


def test_a_page_is_written_and_nothing_is_said_on_stdout(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = inspected(PROMPT_TURN, "--html", target)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"muse-adapter: wrote {target}; open it in a browser\n"
    assert target.read_text("utf-8").startswith("<!doctype html>")
    assert inspected(PROMPT_TURN, "--html", target).returncode == 0


def test_a_reader_who_has_seen_enough_ends_it_quietly(tmp_path: Path) -> None:
    made = Transcript()
    for _ in range(5000):
        made.tell("session/statusChanged", {"sessionId": SESSION, "status": "idle"})
    made.write(tmp_path)
    with subprocess.Popen(
        [*ENTRY, "inspect", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)

    assert (code, said) == (141, b"")


def test_an_interrupt_ends_it_quietly(tmp_path: Path) -> None:
    made = Transcript()
    for _ in range(5000):
        made.tell("session/statusChanged", {"sessionId": SESSION, "status": "idle"})
    made.write(tmp_path)
    with subprocess.Popen(
        [*ENTRY, "inspect", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        # It waits for its reader then.
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        said = process.stderr.read()
        code = process.wait(60)

    assert (code, said) == (130, b"")


def test_a_conversation_recorded_on_both_sides_of_the_adapter_is_shown(tmp_path: Path) -> None:
    """An editor, the adapter and a host, with a recorder before and behind the adapter."""
    workspace, muse = tmp_path / "w", tmp_path / "muse"
    workspace.mkdir()
    python = f"{sys.executable} -m adapter.cli.entry"
    muse.write_text(f'#!/bin/sh\nexec {python} record {tmp_path}/msp -- {python} simulate "$@"\n')
    muse.chmod(0o700)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    command = [*ENTRY, "record", str(tmp_path / "acp"), "--", *ENTRY, "--muse", str(muse)]
    adapter = AdapterProcess([], environ | {"HOME": str(tmp_path)}, tmp_path, command)
    try:
        adapter.initialize()
        session = adapter.new_session(workspace)
        adapter.answer = lambda request: {"result": {"outcome": {"outcome": "selected", "optionId": "nothing offered"}}}
        adapter.prompt(session, "approve")
        assert adapter.finish() == 0
    finally:
        adapter.kill()
    editor, host = inspected(tmp_path / "acp"), inspected(tmp_path / "msp")

    assert (editor.returncode, host.returncode) == (0, 0)
    permitted = ("protocol    ACP", 'session/prompt  "approve"', "request_permission  may ", "Asked of the user")
    decided = ("protocol    MSP", 'turn/start  "approve"', "approval/decide  Reject", "Turns")
    for text, said in ((editor.stdout, permitted), (host.stdout, decided)):
        for words in said:
            assert words in text, text
    assert json.loads((tmp_path / "acp" / "manifest.json").read_text())["protocol"] == "acp"
