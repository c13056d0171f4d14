"""The adapter as a child process, for runs of a million frames: nothing that has passed is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from tests.fuzz.environment import ROOT

CANARY: Final = "canary-b81c2e5d07"
"""Is in a variable like that of a key; nobody may ever be told."""

PATIENCE: Final = 120.0
"""Seconds without an answer after which the adapter hangs; far more than anything takes."""


class Report:
    """What came of one side's frames."""

    def __init__(self, side: str) -> None:
        self.side = side
        self.frames = 0
        self.answers = 0
        self.duplicates = 0
        """Refused, because a request with the same id was open."""
        self.questions = 0
        """Asked by the adapter, and answered with damage."""
        self.allowed = 0
        """Of them those whose answer allowed something."""
        self.seconds = 0.0
        self.settled_mib = 0
        """Its peak memory after a sixth of the frames, when everything that is remembered has its full size."""
        self.peak_mib = 0
        self.problems: list[str] = []

    def problem(self, words: str) -> None:
        """Something that must not be."""
        if len(self.problems) < 20:
            self.problems.append(words)


def unseen(frame: dict[str, Any]) -> None:
    """A frame that is not looked at any closer."""


class Driven:
    """One running adapter. `take` is called with each frame it writes, in a thread of its own."""

    def __init__(self, directory: Path, muse: str, take: Callable[[dict[str, Any]], None]) -> None:
        self._take = take
        self._log = (directory / "adapter.log").open("wb")
        home = Path(tempfile.mkdtemp(dir=directory))
        env = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
        env["ORCHARD_API_KEY"] = CANARY
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adapter.cli.entry", "--muse", muse],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=env,
            cwd=directory,
            start_new_session=True,
        )
        self._failure = ""
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def write(self, data: bytes) -> None:
        """Bytes to its stdin; what it still asks when that is closed is not answered."""
        assert self.process.stdin is not None
        with self._writing:
            if not self.process.stdin.closed:
                self.process.stdin.write(data)
                self.process.stdin.flush()

    def wait(self, done: Callable[[], bool], what: str) -> None:
        """Until it is done.

        Raises:
            TimeoutError: it hangs, or has ended.
        """
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end or not self._reader.is_alive():
                raise TimeoutError(f"{what} did not come; {self._failure or 'the adapter is there'}")
            time.sleep(0.001)

    def end(self, report: Report) -> None:
        """Close its stdin, and see how it ends."""
        assert self.process.stdin is not None
        report.peak_mib = self.peak_mib()
        with self._writing:
            self.process.stdin.close()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            report.problem("it did not end with its input")
            return
        self._reader.join(PATIENCE)
        self._log.close()
        if self._failure:
            report.problem(self._failure)
        if code != 0:
            report.problem(f"exit code {code}")
        for words in complaints(Path(self._log.name))[:5]:
            report.problem(words)

    def peak_mib(self) -> int:
        """The most memory it had so far."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        rows = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return int(rows.get("VmHWM", "0 kB").split()[0]) // 1024

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                if CANARY.encode() in line:
                    raise ValueError("something of the environment is told")
                self._take(orjson.loads(line))
        except Exception as error:
            # Not only what cannot be read: whoever looks at a frame says so by raising.
            self._failure = f"a line of the adapter is not as it must be: {error!r}: {line[:1000]!r}"


def complaints(path: Path) -> list[str]:
    """What in a log is a fault of the adapter: a traceback with what stands before it."""
    lines = path.read_bytes().splitlines()
    found = ["something of the environment is in the log"] if any(CANARY.encode() in line for line in lines) else []
    for at, line in enumerate(lines):
        if b"Traceback (most recent call last)" in line:
            found.append(b"\n".join(lines[max(0, at - 1) : at + 60]).decode("utf-8", "replace"))
    return found
