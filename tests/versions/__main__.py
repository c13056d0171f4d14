"""Run the whole suite on each Python from 3.11 on that is here (or that `PYTHONS` names), on asyncio and on trio.

Each pair has an environment of its own in `.versions`. On trio every process of the tests runs there: the adapter,
the stand-ins, the other commands (`on_trio.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from tests.reliability import ROOT, Figures, kept

WORK: Final = ROOT / ".versions"
NAMES: Final = ("python3.11", "python3.12", "python3.13", "python3.14")
BACKENDS: Final = ("asyncio", "trio")
SUITE_SECONDS: Final = 3600.0
INSTALL_SECONDS: Final = 900.0
ASK_SECONDS: Final = 20.0
WHOLE: Final = ["-n", "2"]
"""What pytest is told to run all of it."""

ASKED: Final = """
import anyio, sys
async def tell():
    print("trio" if "trio" in sys.modules else "asyncio")
anyio.run(tell)
"""
"""Neither of the two is imported before it is needed."""

COLUMNS: Final = ["Python and event loop", "passed", "failed", "skipped", "minutes"]


class Counts(NamedTuple):
    """What a run of the suite came to, and pytest's exit code."""

    passed: int
    failed: int
    skipped: int
    seconds: float
    exit_code: int

    @property
    def good(self) -> bool:
        return self.exit_code == 0 and self.failed == 0 and self.passed > 0

    def told(self) -> list[str]:
        return [f"{self.passed}", f"{self.failed}", f"{self.skipped}", f"{self.seconds / 60:.1f}"]


def pythons() -> Iterator[tuple[str, str]]:
    """Each Python to be used, with its version."""
    wanted = os.environ.get("PYTHONS", "").split()
    for name in wanted or NAMES:
        found = shutil.which(name)
        asked = found and subprocess.run(
            [found, "-c", "import platform; print(platform.python_version())"],
            capture_output=True,
            text=True,
            timeout=ASK_SECONDS,
        )
        if found and asked and asked.returncode == 0:
            yield found, asked.stdout.strip()
        elif wanted:
            sys.exit(f"there is no {name}")
        else:
            print(f"{name}: not here, left out", flush=True)


def environment(python: str, version: str, backend: str) -> Path:
    """The Python of an environment for the two, made if it is not there."""
    folder = WORK / f"{version}-{backend}"
    ours = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for command in (
            [python, "-m", "venv", str(folder)],
            [str(ours), "-m", "pip", "install", "--quiet", "-r", str(ROOT / "requirements-dev.lock")],
            [str(ours), "-m", "pip", "install", "--quiet", "--no-deps", "-e", str(ROOT)],
        ):
            subprocess.run(command, check=True, timeout=INSTALL_SECONDS)
        if backend == "trio":
            _put_on_trio(next((folder / "lib").glob("python3*/site-packages")))
        ready.touch()
    return ours


def _put_on_trio(packages: Path) -> None:
    shutil.copyfile(Path(__file__).with_name("on_trio.py"), packages / "on_trio.py")
    (packages / "on_trio.pth").write_text("import on_trio\n")


def suite(python: Path, arguments: list[str]) -> Counts | None:
    """Run the tests; None if they did not come to an end."""
    report = python.parents[1] / "report.xml"
    report.unlink(missing_ok=True)
    began = time.monotonic()
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
    try:
        exit_code = subprocess.run(command, cwd=ROOT, timeout=SUITE_SECONDS).returncode
        found = next(ElementTree.parse(report).iter("testsuite")).attrib
    except (subprocess.TimeoutExpired, OSError, ElementTree.ParseError, StopIteration):
        return None
    failed = int(found["failures"]) + int(found["errors"])
    skipped = int(found["skipped"])
    passed = int(found["tests"]) - failed - skipped
    return Counts(passed, failed, skipped, time.monotonic() - began, exit_code)


def backend_of(python: Path) -> str:
    """The event loop that programs of an environment get which ask for none."""
    return subprocess.run([python, "-c", ASKED], capture_output=True, text=True, timeout=ASK_SECONDS).stdout.strip()


def main(arguments: list[str]) -> int:
    rows: list[list[str]] = []
    good = True
    for python, version in pythons():
        for backend in os.environ.get("BACKENDS", "").split() or BACKENDS:
            print(f"=== Python {version} on {backend} ===", flush=True)
            ours = environment(python, version, backend)
            counts = suite(ours, arguments) if backend_of(ours) == backend else None
            good = good and counts is not None and counts.good
            rows.append([f"{version}, {backend}", *(counts.told() if counts else ["did not end", "", "", ""])])
    for row in rows:
        print("  ".join(row))
    # Only the whole suite is a figure.
    if rows and good and arguments == WHOLE:
        figures = Figures(
            title="Every Python, both event loops",
            command="make versions",
            told="The whole suite, with every process of it on the one or the other event loop. The adapter as it is "
            "installed runs on asyncio; that it runs on trio too shows that it leans on neither.",
            columns=COLUMNS,
            rows=rows,
        )
        earlier = kept("versions")
        figures.keep("versions", among=sorted({row[0] for row in [*rows, *(earlier.rows if earlier else [])]}))
    return 0 if rows and good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or WHOLE))
