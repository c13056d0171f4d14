"""`python -m tests.dist`: the wheel and the sdist, built into `dist/`, looked into, installed where nothing else is,
and run from there.

Exit codes: 0 all checks passed, 1 some did not or the set-up failed, 75 the package registry did not answer, so that
not everything was run; what was run passed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.dist.content_checks import content_checks
from tests.dist.installed_checks import installed_checks
from tests.dist.packages import build, tracked_files
from tests.dist.toolchain import NotAvailable, SetUpFailed, install_alone, set_up
from tests.interop.checks import run_checks

ROOT: Final = Path(__file__).parents[2]
TOOLS_IN: Final = ROOT / ".dist"
BUILT_IN: Final = ROOT / "dist"

FAILED: Final = 1
NOT_RUN: Final = os.EX_TEMPFAIL


def main() -> int:
    """Set up, build, check, clean up."""
    place = Path(tempfile.mkdtemp(prefix="muse-adapter-dist-"))
    try:
        return _main(place)
    except NotAvailable as error:
        _say(f"dist was not run to its end: {error}")
        return NOT_RUN
    except SetUpFailed as error:
        _say(f"dist failed: {error}")
        return FAILED
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _main(place: Path) -> int:
    python = set_up(TOOLS_IN, ROOT)
    packages = build(python, ROOT, BUILT_IN, from_sdist=True)
    again = build(python, ROOT, place / "again", from_sdist=False)
    if run_checks(content_checks(python, packages, again, ROOT, tracked_files(ROOT)), _say):
        return FAILED
    environment = install_alone(place / "environment", packages.wheel)
    home, folder = place / "home", place / "folder"
    home.mkdir()
    folder.mkdir()
    return FAILED if run_checks(installed_checks(environment, home, folder, ROOT), _say) else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
