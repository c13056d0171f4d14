"""The ladder as a terminal shows it, and as a pipe gets it."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from rich.cells import cell_len

from adapter.cli.inspect.terminal import Screen
from tests.inspecting import OTHER, SESSION, TURN, Transcript

STYLES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = 'a\x1b[2Jb\x07c\u202ed\x9b31me\r\n"'


def shown(made: Transcript, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, errors: bool = False) -> str:
    recording, ladder = made.read(tmp_path / "trees")
    screen = Screen(recording, ladder, "trees")
    screen.head()
    screen.rungs(ladder.totals.failed if errors else ladder.entries)
    screen.summary()
    return capsys.readouterr().out


def with_a_turn() -> Transcript:
    made = Transcript()
    made.shake_hands()
    started = made.ask("turn/start", {"sessionId": SESSION, "input": [{"type": "text", "text": "count " * 30}]})
    made.answer(started, {"turnId": TURN, "disposition": "started"})
    made.item("completed", {"itemId": "i1", "kind": "toolCall", "tool": "bash", "status": "failed"})
    made.tell("turn/completed", {"sessionId": SESSION, "turnId": TURN, "terminal": "completed"})
    made.ask("model/list", {})
    return made


def test_a_pipe_gets_one_plain_line_for_each_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(with_a_turn(), tmp_path, capsys)
    lines = text.splitlines()

    assert lines[0] == "trees"
    assert "  frames     3 from the client" in text
    at = lines.index("          client host")
    assert lines[at + 1 : at + 3] == [
        "1 0.000   │─────▶│ initialize  tester 3",
        "2 0.010   │◀╌╌╌╌╌│ initialize  muse-session-server 1.2.1, grants sessionMcp  10 ms",
    ]
    assert lines[at + 3].startswith('3 0.020 ╭ │─────▶│ turn/start  "count count') and len(lines[at + 3]) > 150
    assert lines[at + 5] == "5 0.040 ├ │◀─────│ item/completed  bash: failed"
    assert lines[at + 6] == "6 0.050 ╰ │◀─────│ turn/completed  completed"
    assert lines[at + 7] == "7 0.060   │─────▶│ model/list  never answered"
    assert "\x1b" not in text
    assert not [line for line in lines if line != line.rstrip()]


def test_the_tables_name_what_people_look_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(with_a_turn(), tmp_path, capsys).splitlines()

    for title in ("Turns", "Failures", "Slowest answers", "Never answered"):
        assert title in lines
    assert lines[lines.index("Failures") + 2].split() == ["5", "item/completed", "bash:", "failed"]
    assert "Asked of the user" not in lines and "Reads of stored output" not in lines


def test_long_tables_are_cut_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Transcript()
    for _ in range(50):
        made.ask("model/list", {})

    assert "... and 30 more" in shown(made, tmp_path, capsys)


def test_with_several_sessions_each_row_tells_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Transcript()
    made.shake_hands()
    for session in (SESSION, OTHER):
        made.tell("session/statusChanged", {"sessionId": session, "status": "idle"})
    text = shown(made, tmp_path, capsys)

    assert "client host  in session" in text
    assert "│ - initialize" in text and "│ 1 session/statusChanged" in text and "│ 2 session/statusChanged" in text


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_on_a_terminal_no_line_is_wider_than_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    made = with_a_turn()
    made.item("completed", {"itemId": "i2", "kind": "agentMessage", "status": "completed", "text": "東京 " * 40})
    text = shown(made, tmp_path, capsys)
    lines = STYLES.sub("", text).splitlines()

    assert STYLES.search(text) and "\x1b" not in "".join(lines)
    assert max(cell_len(line) for line in lines) <= columns
    broken = [line for line in lines if ("│      │" if columns >= 60 else "│  │") in line]
    assert len(broken) > 2, "what does not fit goes on below, between the same two lines"


def test_a_narrow_terminal_gets_less_beside_each_other_and_words_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    made = with_a_turn()
    made.item(
        "started", {"itemId": "i2", "kind": "toolCall", "tool": "cat", "args": '{"path":"/farm/orchard/oak.txt"}'}
    )
    made.server("no frame")
    lines = STYLES.sub("", shown(made, tmp_path, capsys)).splitlines()

    at = lines.index("    client host")
    assert lines[at + 1] == "1   │─▶│ initialize  tester 3"
    assert lines[at + 2 : at + 4] == [
        "2   │◀╌│ initialize  muse-session-server",
        "    │  │ 1.2.1, grants sessionMcp  10 ms",
    ]
    assert lines[lines.index("Failures") + 1] == "5  item/completed  bash: failed"


def test_how_the_host_ended_stands_below_the_ladder_however_it_is_filtered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Transcript()
    made.shake_hands()
    recording, ladder = made.read(tmp_path, {"ended": {"signal": 9}})
    screen = Screen(recording, ladder, "trees")
    screen.rungs(ladder.entries)
    screen.rungs([])
    lines = capsys.readouterr().out.splitlines()

    assert lines[2].startswith("2 0.010 │◀╌╌╌╌╌│ initialize")
    assert lines[3:] == [
        "        the host ended by SIGKILL",
        "No frame fits what was asked for.",
        "the host ended by SIGKILL",
    ]


def test_no_colour_is_shown_to_who_wants_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = set(STYLES.findall(shown(with_a_turn(), tmp_path, capsys)))
    monkeypatch.setenv("NO_COLOR", "1")
    plain = set(STYLES.findall(shown(with_a_turn(), tmp_path, capsys)))

    assert any(re.search(r"\b3[0-9]", style) for style in coloured)
    assert not any(re.search(r"\b3[0-9]", style) for style in plain)


def test_nothing_that_was_recorded_acts_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Transcript()
    made.call("initialize", {"clientInfo": {"name": HOSTILE, "version": HOSTILE}}, {"serverInfo": {"name": HOSTILE}})
    made.tell(HOSTILE, {"sessionId": HOSTILE, "turnId": HOSTILE, "word": HOSTILE})
    made.tell("session/nameChanged", {"sessionId": HOSTILE, "name": HOSTILE})
    made.tell("turn/completed", {"sessionId": HOSTILE, "turnId": HOSTILE, "terminal": HOSTILE})
    made.item("started", {"itemId": "i", "kind": HOSTILE, "objective": HOSTILE, "status": HOSTILE})
    made.ask("item/readOutput", {"sessionId": HOSTILE, "outputRef": HOSTILE})
    made.tell("approval/requested", {"approvalId": "a", "toolName": HOSTILE, "availableChoices": [{"label": HOSTILE}]})
    made.refuse(99, -1, HOSTILE, {"reason": HOSTILE, "details": HOSTILE})
    made.server(HOSTILE)
    made.lines.append(HOSTILE.replace("\n", ""))
    recording, ladder = made.read(tmp_path / "r", {"scenario": HOSTILE, "description": HOSTILE, "provenance": HOSTILE})
    screen = Screen(recording, ladder, HOSTILE)
    screen.head()
    screen.rungs(ladder.entries)
    screen.summary()
    text = capsys.readouterr().out

    assert len(text) > 1000
    acting = {letter for letter in text if unicodedata.category(letter) == "Cc" or letter == "\u202e"} - {"\n"}
    assert acting == set()


def test_where_there_is_only_ascii_the_lines_are_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, "ascii"))
    made = with_a_turn()
    made.item("completed", {"itemId": "i2", "kind": "agentMessage", "status": "completed", "text": "Grüße"})
    recording, ladder = made.read(tmp_path)
    screen = Screen(recording, ladder, "trees")
    screen.rungs(ladder.entries)
    sys.stdout.flush()
    lines = written.getvalue().decode("ascii").splitlines()

    assert lines[1] == "1 0.000   |----->| initialize  tester 3"
    assert lines[2].startswith("2 0.010   |<- - -| initialize")
    assert lines[3].startswith("3 0.020 + |")
    assert 'Gr??e"' in lines[-1]


def test_a_ladder_of_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Transcript()
    made.shake_hands()

    assert "No frame fits what was asked for." in shown(made, tmp_path, capsys, errors=True)
