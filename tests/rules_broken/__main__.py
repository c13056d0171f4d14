"""Break each rule of the design on purpose, and see that a test notices: `python -m tests.rules_broken [RULE …]`.

Everything is done in copies. The named tests must pass there first; then each row of the table is put in place, its
test must fail, and the code is put back. With `--write`, and without rules, `docs/reliability.md` gets what came of it.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.reliability import Figures
from tests.rules_broken.row import RULES, Broken
from tests.rules_broken.table import BROKEN

ROOT: Final = Path(__file__).resolve().parents[2]
SECONDS: Final = 300
"""For the tests of one row; far more than they take, and then nobody has noticed anything."""

SOUND_SECONDS: Final = 900
END_SECONDS: Final = 30
"""For tests that are ended to end what they have started."""

COPIES: Final = 2

PASSED, FAILED = 0, 1


class Copy:
    """A copy of the tree, in which tests are run."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "tree"
        self._junit = directory / "junit.xml"
        self._changes = 0
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)

    def write(self, name: str, text: str) -> None:
        """What is compiled is used again if the time and the size are those of the source: so the time is another."""
        self._changes += 1
        path = self.root / name
        seen = path.stat().st_mtime
        path.write_text(text, "utf-8")
        os.utime(path, (seen + self._changes, seen + self._changes))

    def run(self, tests: list[str], seconds: float, *how: str) -> int | None:
        """The exit code of pytest, None if it did not end in time."""
        self._junit.unlink(missing_ok=True)
        places = [f"tests/{test}" for test in tests]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=60"]
        # What the tests start imports the copy, too, wherever it is started.
        environ = os.environ | {"PYTHONPATH": str(self.root)}
        process = subprocess.Popen(
            [*command, *how, f"--junitxml={self._junit}", *places],
            cwd=self.root,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            # As by Ctrl-C, which tests clean up after.
            process.send_signal(signal.SIGINT)
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return None

    def failed(self) -> list[str]:
        """The tests of the last run that failed, by their names."""
        tests = ElementTree.parse(self._junit).iter("testcase") if self._junit.exists() else iter(())
        names = {test.get("name", "").partition("[")[0] for test in tests if test.find("failure") is not None}
        return sorted(names)


def noticed(copy: Copy, broken: Broken) -> str | None:
    """The test that fails when the rule is broken so, None if none does."""
    sound = (copy.root / broken.file).read_text("utf-8")
    assert sound.count(broken.text) == 1, f"{broken.file}: {broken.text!r}"
    copy.write(broken.file, sound.replace(broken.text, broken.instead))
    try:
        # One failure is enough, and many may each take as long as a test waits for an answer.
        code = copy.run([broken.test], SECONDS, "-x")
    finally:
        copy.write(broken.file, sound)
    return next(iter(copy.failed()), None) if code == FAILED else None


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "--write"]
    unknown = [word for word in words if word not in {str(row.rule) for row in BROKEN}]
    if unknown:
        print(f"no rule: {', '.join(unknown)}; there are {', '.join(map(str, sorted({row.rule for row in BROKEN})))}")
        return 2
    rows = [row for row in BROKEN if not words or str(row.rule) in words]
    tests = sorted({row.test for row in rows})
    idle: queue.SimpleQueue[Copy] = queue.SimpleQueue()

    def is_sound(some: list[str]) -> bool:
        copy = idle.get()
        passed = not some or copy.run(some, SOUND_SECONDS) == PASSED
        if not passed:
            print(f"without anything broken, {', '.join(copy.failed()) or 'the tests'} failed", flush=True)
        idle.put(copy)
        return passed

    def look(row: Broken) -> str | None:
        copy = idle.get()
        try:
            test = noticed(copy, row)
        finally:
            idle.put(copy)
        print(f"{row.rule:2} {row.told}: {test or 'NOBODY NOTICES'}", flush=True)
        return test

    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(COPIES) as pool:
        for number in range(COPIES):
            idle.put(Copy(Path(directory, str(number))))
        sound = all(list(pool.map(is_sound, [tests[number::COPIES] for number in range(COPIES)])))
        found = list(pool.map(look, rows))
    if None in found or not sound:
        return 1
    if "--write" in sys.argv[1:] and not words:
        figures([(row, test) for row, test in zip(rows, found, strict=True) if test is not None]).keep("rules")
    return 0


def figures(found: list[tuple[Broken, str]]) -> Figures:
    """What noticed what, for the page."""
    return Figures(
        title="Rules, broken on purpose",
        command="make rules",
        told=f"The {len(RULES)} rules of the design, broken in the code in {len(found)} ways, one at a time, in a "
        "copy. Each time a test failed that passes otherwise (`tests/rules_broken`).",
        columns=["rule", "broken so", "noticed by"],
        rows=[[f"{row.rule}: {RULES[row.rule]}", row.told, f"`{test}`"] for row, test in found],
    )


if __name__ == "__main__":
    sys.exit(main())
