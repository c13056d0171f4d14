"""What a newcomer who knows nothing but the README is told to run, run as it stands there."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.documents import README, ROOT, blocks, section

ADAPTER: Final = Path(sys.executable).with_name("muse-adapter")
SECONDS: Final = 60.0

WAYS: Final = section(README.read_text("utf-8"), "Three ways in")


def commands(name: str) -> list[str]:
    """The arguments of the one command line that has this word."""
    lines = [line for block in blocks(WAYS, "console") for line in block.splitlines()]
    (found,) = [words for words in map(shlex.split, lines) if name in words]
    assert found[:2] == ["$", "muse-adapter"]
    return found[2:]


def run(arguments: list[str], home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ADAPTER, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
        check=False,
    )


def test_the_doctor_says_why_stored_output_is_not_offered(tmp_path: Path) -> None:
    done = run(commands("doctor"), tmp_path, tmp_path)

    (shown,) = blocks(WAYS, "text")
    # What it says first depends on the machine: on one where tests run, hosts of other tests may have been left over.
    first, sentence = " ".join(shown.split()).split(". ", 1)
    assert first == "Everything works"
    assert done.returncode == 0, done.stdout + done.stderr
    assert " ".join(done.stdout.split()).endswith(sentence)
    assert "verified on 1.2.1 only" in sentence


def test_a_recorded_conversation_becomes_a_page(tmp_path: Path) -> None:
    command, recording, option, page = commands("inspect")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    done = run([command, recording, option, page], tmp_path, tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "turn/start" in (tmp_path / page).read_text("utf-8")
