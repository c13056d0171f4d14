"""`python -m tests.interop`: clients that others wrote, set upon the adapter on the simulated host.

Exit codes: 0 all checks passed, 1 some did not or the set-up failed, 75 nothing was run because npm did not answer.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.interop.acpx import Acpx
from tests.interop.acpx_checks import acpx_checks
from tests.interop.checks import run_checks
from tests.interop.sdk_checks import sdk_checks
from tests.interop.toolchain import NotAvailable, SetUpFailed, set_up

INSTALLED_IN: Final = Path(__file__).parents[2] / ".interop"
ADAPTER: Final = Path(sys.executable).with_name("muse-adapter")

FAILED: Final = 1
NOT_RUN: Final = os.EX_TEMPFAIL


def main() -> int:
    """Set up, check, clean up."""
    if not ADAPTER.exists():
        print(f"interop failed: {ADAPTER.name} is not installed beside {Path(sys.executable).name}")
        return FAILED
    try:
        toolchain = set_up(INSTALLED_IN)
    except NotAvailable as error:
        print(f"interop was not run: {error}")
        return NOT_RUN
    except SetUpFailed as error:
        print(f"interop failed: {error}")
        return FAILED
    command = [str(ADAPTER), "--muse", "simulated"]
    root = Path(tempfile.mkdtemp(prefix="muse-adapter-interop-"))
    home, workspace = root / "home", root / "workspace"
    home.mkdir()
    workspace.mkdir()
    acpx = Acpx(toolchain, command, home, workspace)
    try:
        failed = run_checks([*sdk_checks(toolchain, command, home, workspace), *acpx_checks(acpx)], _say)
    finally:
        acpx.end()
        shutil.rmtree(root, ignore_errors=True)
    return FAILED if failed else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
