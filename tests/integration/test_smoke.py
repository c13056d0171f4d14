"""The commands as `tests.smoke` tries them on systems for which the other tests of whole processes are not written."""

from __future__ import annotations

import subprocess
import sys

from adapter.cli.options import COMMANDS
from tests import smoke


def test_each_command_runs_as_a_user_runs_it() -> None:
    command = [sys.executable, "-m", "tests.smoke"]
    done = subprocess.run(command, cwd=smoke.ROOT, capture_output=True, text=True, timeout=100, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(COMMANDS) + 2} passed, 0 failed" in done.stdout
