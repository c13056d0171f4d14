"""Ctrl-C in the middle of `muse-adapter output -o FILE`, for somebody who sees it in a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.integration.test_cli_output_files import SIZE, FirstPieceOnly
from tests.output_command import SECONDS, ended, start
from tests.output_hosts import ITEM, SESSION, DeafHost, methods, stored
from tests.processes import wait_until
from tests.scripted_hosts import Placed, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals, signals and stand-ins that are scripts")

PART: Final = 1000


def environ(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    return {**kept, "HOME": str(home), "TERM": "xterm", "COLUMNS": "200"}


def interrupted(placed: Placed, *arguments: str, home: Path, when: Callable[[], bool]) -> tuple[int, list[str]]:
    """Run with a terminal as stderr, press Ctrl-C; gives the exit code and the lines that stay on the terminal."""
    ours, theirs = pty.openpty()
    command = ("--muse", placed.muse, "output", SESSION, ITEM, *arguments)
    process = start(*command, environ=environ(home), stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    wait_until(when)
    process.send_signal(signal.SIGINT)
    shown = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    return process.wait(SECONDS), [line.rpartition("\r")[2] for line in plain.split("\r\n") if "interrupted" in line]


def second_piece_asked_for(placed: Placed) -> Callable[[], bool]:
    return lambda: methods(placed).count("item/readOutput") == 2


def serving(placed: Placed) -> Callable[[], bool]:
    return lambda: bool(placed.pids("serve.pids"))


def told(file: Path, size: int) -> str:
    return f"interrupted; {file} has {size:,} bytes of it, and --resume goes on behind them"


def test_what_a_file_has_is_told_with_how_to_go_on(tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", FirstPieceOnly, size=SIZE)
    file = tmp_path / "file"

    code, said = interrupted(placed, "-o", str(file), home=tmp_path, when=second_piece_asked_for(placed))

    part = file.read_bytes()
    assert part and stored(SIZE).startswith(part)
    assert (code, said) == (
        130,
        [told(file, len(part))],
    )
    (placed.directory / "released").touch()
    again = start(
        "--muse", placed.muse, "output", SESSION, ITEM, "-o", str(file), "--resume", environ=environ(tmp_path)
    )
    assert ended(again).code == 0
    assert file.read_bytes() == stored(SIZE)


def test_a_part_is_told_that_was_there_before(tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", DeafHost)
    file = tmp_path / "file"
    file.write_bytes(stored(SIZE)[:PART])

    code, said = interrupted(placed, "-o", str(file), "--resume", home=tmp_path, when=serving(placed))

    assert (code, said) == (130, [told(file, PART)])


def test_a_file_that_was_not_touched_is_told(tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", DeafHost)
    file = tmp_path / "file"
    file.write_bytes(b"of something else")

    code, said = interrupted(placed, "-o", str(file), home=tmp_path, when=serving(placed))

    assert (code, said) == (130, [f"interrupted before anything came; {file} was not touched"])
    assert file.read_bytes() == b"of something else"


def test_nothing_is_told_of_what_is_no_file(tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", FirstPieceOnly, size=SIZE)

    assert interrupted(placed, home=tmp_path, when=second_piece_asked_for(placed)) == (130, [])
