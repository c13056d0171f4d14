"""An exception that nobody expected ends a command with 1, and is told by its kind and its place: what it says may be
anybody's secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

CANARY: Final = "canary-0815"
SECONDS: Final = 60

COMMANDS: Final = {
    "serve": ("adapter.cli.serve", "_serve", ["--muse", "simulated"]),
    "doctor": ("adapter.cli.doctor.run", "_run", ["doctor", "--muse", "simulated"]),
    "output": ("adapter.cli.output", "_run", ["output", "ses-alder", "--muse", "simulated"]),
}
"""What each runs in its event loop."""

_BREAKS: Final = """\
import importlib, sys
from adapter.cli import entry

async def breaks(*_told):
    try:
        int(sys.argv[1])
    except ValueError as error:
        raise ExceptionGroup(sys.argv[1], [error, RuntimeError(sys.argv[1])]) from error

setattr(importlib.import_module(sys.argv[2]), sys.argv[3], breaks)
sys.argv[1:] = sys.argv[4:]
entry.main()
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_q2_a_fault_of_ours_is_told_without_its_words(tmp_path: Path, command: str) -> None:
    module, function, words = COMMANDS[command]
    done = subprocess.run(
        [sys.executable, "-c", _BREAKS, CANARY, module, function, *words],
        input=b"",
        capture_output=True,
        env=os.environ | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        timeout=SECONDS,
        check=False,
    )

    told = done.stderr.decode()
    assert (done.returncode, done.stdout) == (1, b"")
    assert CANARY not in told
    for kind in ("builtins.ExceptionGroup", "builtins.ValueError", "builtins.RuntimeError"):
        assert kind in told, told
    assert "in breaks" in told, "where it was raised"
