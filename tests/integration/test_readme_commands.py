"""What a newcomer who knows nothing but the README is told to run, run as it stands there, and on the page it names."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.documents import README, ROOT, blocks, doc, section

ADAPTER: Final = Path(sys.executable).with_name("muse-adapter")
SECONDS: Final = 60.0

WAYS: Final = section(README.read_text("utf-8"), "Three ways in")


def line_with(name: str) -> str:
    """The one command line that has this word."""
    lines = [line for block in blocks(WAYS, "console") for line in block.splitlines()]
    (found,) = [line for line in lines if name in shlex.split(line)]
    return found.removeprefix("$ ")


def run(commands: str, home: Path) -> subprocess.CompletedProcess[str]:
    """What a shell makes of them in an empty home, with nothing else on PATH than the adapter and the system's own."""
    path = home / "bin"
    path.mkdir()
    (path / "muse-adapter").symlink_to(ADAPTER)
    (path / "python3").symlink_to(sys.executable)
    return subprocess.run(
        ["sh", "-e", "-c", commands],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=home,
        env={"HOME": str(home), "PATH": f"{path}:/usr/bin:/bin", "COLUMNS": "80"},
        check=False,
    )


def test_the_doctor_says_why_stored_output_is_not_offered(tmp_path: Path) -> None:
    done = run(line_with("doctor"), tmp_path)

    (shown,) = blocks(WAYS, "text")
    # What it says first depends on the machine: on one where tests run, hosts of other tests may have been left over.
    first, sentence = " ".join(shown.split()).split(". ", 1)
    assert first == "Everything works"
    assert done.returncode == 0, done.stdout + done.stderr
    assert " ".join(done.stdout.split()).endswith(sentence)
    assert "verified on 1.2.1 only" in sentence


def test_a_recorded_conversation_becomes_a_page(tmp_path: Path) -> None:
    line = line_with("inspect")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    done = run(line, tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    page = tmp_path / line.rpartition(" ~/")[2]
    assert "turn/start" in page.read_text("utf-8")


def test_an_output_is_fetched_without_an_editor(tmp_path: Path) -> None:
    trying = section(doc("output.md"), "Trying it")
    (script,) = blocks(trying, "python")
    (lines,) = blocks(trying, "console")
    (tmp_path / "prompt.py").write_text(script, "utf-8")
    done = run(lines.replace("$ ", ""), tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    names, *outputs = done.stdout.splitlines()
    assert names.split("\t")[0] == "item"
    assert len(outputs) == 1
    written = (tmp_path / "build.log").read_bytes()
    assert len(written) == 300_000
    assert written.startswith("000000000 Grüße".encode())


def test_what_the_simulated_host_keeps_is_for_its_user_alone(tmp_path: Path) -> None:
    (script,) = blocks(section(doc("output.md"), "Trying it"), "python")
    (tmp_path / "prompt.py").write_text(script, "utf-8")
    assert run("umask 022; python3 prompt.py", tmp_path).returncode == 0

    kept = [path for path in (tmp_path / ".local/share/muse-simulated").rglob("*") if path.is_file()]
    assert len(kept) >= 2
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
