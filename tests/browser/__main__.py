"""`python -m tests.browser`: see that there is a Chromium, and look at pages with it.

Exit codes: 0 all is as it should be, 1 something is not, 75 nothing was looked at because there is no Chromium and none
could be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.browser.chromium import find_chromium

NOT_RUN: Final = 75

SECONDS: Final = 600.0
"""A browser is a big package."""


def main() -> int:
    """Get a browser if need be, then run the tests."""
    problem = None if find_chromium() else _install()
    if problem is not None:
        print(f"browser: nothing was looked at: {problem}", flush=True)
        return NOT_RUN
    return int(pytest.main([str(Path(__file__).parent)]))


def _install() -> str | None:
    """Get Debian's Chromium. Without the right to, and elsewhere, says how."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return (
            "there is no Chromium. Install one (Debian: `apt-get install chromium`), or name its program in CHROMIUM."
        )
    environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "chromium"]):
        try:
            done = subprocess.run(
                command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"`{' '.join(command)}` took more than {SECONDS:g} s"
        if done.returncode != 0:
            return f"`{' '.join(command)}` failed: {' '.join(done.stderr.split()[-40:])}"
    return None if find_chromium() else "the package chromium brings no program of that name"


if __name__ == "__main__":
    sys.exit(main())
