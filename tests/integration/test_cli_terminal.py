"""Serving on a terminal, where somebody may have expected something else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.output_command import SECONDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no pseudo terminals")

SERVE: Final = (sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated")

END: Final = b"\x04"
"""Ctrl-D."""


def test_somebody_on_a_terminal_is_told_what_is_waited_for(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        SERVE, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=os.environ | {"HOME": str(tmp_path)}
    )
    os.close(theirs)
    shown = b""
    while b"--help" not in shown:
        shown += os.read(ours, 1024)
    os.write(ours, END)
    assert process.stdout is not None
    written = process.stdout.read()
    process.stdout.close()

    assert process.wait(SECONDS) == 0
    os.close(ours)
    assert shown.startswith(b"muse-adapter: waiting for an editor")
    assert written == b""


def test_an_editor_is_told_nothing(tmp_path: Path) -> None:
    environ = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(SERVE, input=b"", capture_output=True, timeout=SECONDS, check=False, env=environ)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
