"""Runs of the engine: a target each, so many at a time, and what came of them."""

from __future__ import annotations

import re
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from tests.fuzz.environment import ROOT

WORK: Final = ROOT / ".fuzz"
"""What earlier runs found interesting, by target, and what broke a promise."""

CORPUS: Final = ROOT / "tests" / "fuzz" / "corpus"

LONGEST: Final = 16 * 1024
ONE_SECONDS: Final = 10
"""How long one execution may take: far more than any does, so that only what is not linear meets it."""

MEMORY_MIB: Final = 1024
END_SECONDS: Final = 120.0
"""How much longer than asked for a run may take: reading the corpus, the last execution, the end."""

_COVERAGE: Final = re.compile(r"\bcov: (\d+) .*?corp: (\d+)/")
_EXECUTED: Final = re.compile(r"stat::number_of_executed_units:\s*(\d+)")


class Outcome(NamedTuple):
    """What came of fuzzing one target. `edges` are places in the code it has reached, `problem` what it broke."""

    target: str
    executions: int
    seconds: float
    edges: int
    kept: int
    problem: str = ""


class _Run:
    def __init__(self, python: Path, target: str, seconds: int, seed: int) -> None:
        self.target = target
        self.limit = seconds + END_SECONDS
        self.log = WORK / f"{target}.log"
        self.crashes = WORK / "crashes" / target
        grown = WORK / target
        for directory in (grown, self.crashes):
            directory.mkdir(parents=True, exist_ok=True)
        options = {
            "max_total_time": seconds,
            "max_len": LONGEST,
            "timeout": ONE_SECONDS,
            "rss_limit_mb": MEMORY_MIB,
            "print_final_stats": 1,
            "seed": seed,
            "artifact_prefix": f"{self.crashes}/",
        }
        flags = [f"-{name}={value}" for name, value in options.items()]
        command = [str(python), "-m", "tests.fuzz.engine", target, *flags, str(grown), str(CORPUS / target)]
        self.began = time.monotonic()
        self._said: IO[bytes] = self.log.open("wb")
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=self._said, stderr=subprocess.STDOUT)

    def outcome(self) -> Outcome | None:
        """What came of it, None while it runs."""
        seconds = time.monotonic() - self.began
        code = self.process.poll()
        late = code is None and seconds > self.limit
        if late:
            self.process.kill()
            code = self.process.wait()
        if code is None:
            return None
        self._said.close()
        text = self.log.read_text("utf-8", "replace")
        found = _COVERAGE.findall(text)
        edges, kept = found[-1] if found else (0, 0)
        executed = _EXECUTED.search(text)
        problem = "" if code == 0 else f"{'hung' if late else f'exit {code}'}, see {self.log.relative_to(ROOT)}"
        return Outcome(self.target, int(executed[1]) if executed else 0, round(seconds), int(edges), int(kept), problem)


def fuzz(
    python: Path,
    targets: Sequence[str],
    seconds: int,
    at_once: int,
    seed: int,
    tell: Callable[[Outcome], None],
) -> list[Outcome]:
    """Fuzz each target for so many seconds."""
    waiting = deque(targets)
    running: list[_Run] = []
    outcomes: list[Outcome] = []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(_Run(python, waiting.popleft(), seconds, seed))
            time.sleep(0.2)
            for run in list(running):
                if (outcome := run.outcome()) is not None:
                    running.remove(run)
                    outcomes.append(outcome)
                    tell(outcome)
    finally:
        for run in running:
            run.process.kill()
            run.process.wait()
    return outcomes
