"""A host is asked for its version and its flags beside the conversation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adapter.hosts.recorder import questions
from adapter.hosts.recorder.questions import HostQuestions, muse_of


@pytest.mark.parametrize(
    ("command", "muse"),
    [
        (["muse", "serve", "--model", "x"], ["muse"]),
        (["ssh", "there", "muse", "serve"], ["ssh", "there", "muse"]),
        (["muse-adapter"], None),
        (["serve"], None),
        ([], None),
    ],
)
def test_the_host_is_what_stands_before_serve(command: list[str], muse: list[str] | None) -> None:
    assert muse_of(command) == muse


def asked(tmp_path: Path, program: str) -> list[object]:
    (tmp_path / "muse.py").write_text(program)
    told: list[object] = []
    both = HostQuestions([sys.executable, str(tmp_path / "muse.py")], told.append, told.append)
    both._thread.join(30)
    both.end()
    return told


def test_both_are_told(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "if sys.argv[1:] == ['--version']: print('Muse Code 1.2.1', os.environ['MUSE_NO_AUTO_UPDATE'])\n"
        "if sys.argv[1:] == ['serve', '--help']: print('usage: [--model M] --disable-write, --model; a--b')"
    )
    assert asked(tmp_path, program) == ["Muse Code 1.2.1 1", ["--disable-write", "--model"]]


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "import os; os.write(1, b'\\xff')"])
def test_what_is_no_answer_is_not_told(tmp_path: Path, program: str) -> None:
    assert asked(tmp_path, program) == []


def test_a_host_that_cannot_be_started_is_not_told() -> None:
    told: list[object] = []
    HostQuestions(["/nowhere/muse"], told.append, told.append).end()
    assert told == []


def test_a_host_that_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "SECONDS", 0.2)
    assert asked(tmp_path, "import time; time.sleep(600)") == []
