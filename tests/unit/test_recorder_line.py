"""The usual command line of `record` is read at once, any other as all command lines are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adapter.cli.commands.values import new_folder
from adapter.cli.record_line import record_line

USUAL = [
    (["record", "out", "--", "muse", "serve"], False),
    (["record", "out", "--redact", "--", "muse", "serve"], True),
    (["record", "--redact", "out", "--", "muse", "serve"], True),
]


@pytest.mark.parametrize(("argv", "redact"), USUAL)
def test_the_usual_ones(argv: list[str], redact: bool) -> None:
    assert record_line(argv) == (Path("out"), ["muse", "serve"], redact)


def test_everything_behind_the_dashes_is_the_commands() -> None:
    line = record_line(["record", "out", "--", "sh", "--redact", "--", "--help"])
    assert line is not None and (line.command, line.redact) == (["sh", "--redact", "--", "--help"], False)


def test_a_home_folder_is_one_however_the_line_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    line = record_line(["record", "~/out", "--", "muse"])

    assert line is not None and line.out == tmp_path / "out" == new_folder("~/out")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["record"],
        ["record", "out"],
        ["record", "out", "--"],
        ["record", "out", "muse"],
        ["record", "--help"],
        ["record", "--help", "--", "muse"],
        ["record", "/", "--", "muse"],
        ["record", "x/..", "--", "muse"],
        ["record", "out", "--redakt", "--", "muse"],
        ["record", "out", "--muse", "x", "--", "muse"],
        ["serve", "out", "--", "muse"],
    ],
    ids=" ".join,
)
def test_any_other_one_is_left_to_the_library(argv: list[str]) -> None:
    assert record_line(argv) is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs a command `true`")
def test_recording_starts_without_that_library(tmp_path: Path) -> None:
    unwanted = {"typer", "click", "pydantic", "rich", "argparse", "asyncio", "adapter.cli.commands", "adapter.bridge"}
    program = (
        "import sys\nfrom adapter.hosts.recorder import relay\n"
        "relay.leave = lambda code: (print(sorted(sys.modules), file=sys.stderr), sys.exit(code))\n"
        f"sys.argv = ['muse-adapter', 'record', {str(tmp_path / 'out')!r}, '--', 'true']\n"
        "from adapter.cli.entry import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)

    assert "adapter.hosts.recorder.relay" in done.stderr
    assert not {name for name in unwanted if f"'{name}'" in done.stderr}
