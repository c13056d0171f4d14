"""`python -m tests.fuzz.frames`: a million damaged frames from the client, then a million from a host, each time to one
adapter as it is started by an editor.

Every frame is answered as it deserves, once; the adapter does not crash, hang or complain about itself, and ends with
its input. `--seed` repeats a run, `--frames` is how many frames a side (1,000,000), `--side client` or `--side host`
runs one of them, `--seconds` ends each after so long, and `--write` keeps the figures of a whole run in which nothing
was found. Exits 1 if anything was.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.fuzz.driven import Report
from tests.fuzz.from_client import Client
from tests.fuzz.from_host import Editor
from tests.reliability import Figures

FRAMES: Final = 1_000_000
SIDES: Final[dict[str, type[Client | Editor]]] = {"client": Client, "host": Editor}


def run(side: str, frames: int, seed: int, directory: Path, seconds: float = math.inf) -> Report:
    """One side's frames to one adapter."""
    driver = SIDES[side](seed, directory)
    try:
        return driver.run(frames, seconds)
    except (OSError, TimeoutError) as error:
        driver.report.problem(f"{error}; the adapter's log ends: {_end_of(directory / 'adapter.log')}")
        return driver.report
    finally:
        driver.driven.kill()


def _end_of(log: Path) -> str:
    return log.read_bytes()[-2000:].decode("utf-8", "replace") if log.exists() else ""


def main(argv: Sequence[str]) -> int:
    """Both sides, or one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.frames")
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side", choices=sorted(SIDES), action="append")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(argv)
    seed = asked.seed or random.SystemRandom().randrange(1, 2**31)
    found = False
    for side in asked.side or SIDES:
        with tempfile.TemporaryDirectory(prefix="muse-adapter-fuzz-") as directory:
            report = run(side, asked.frames, seed, Path(directory), asked.seconds)
        found |= bool(report.problems)
        print(
            f"{'FOUND' if report.problems else 'ok':5} frames of a {side}: {report.frames:,} sent, "
            f"{report.answers:,} answers, {report.seconds:.0f} s, {report.settled_mib} then {report.peak_mib} MiB, "
            f"{report.questions:,} questions, --seed {seed}",
            flush=True,
        )
        for words in report.problems:
            print(f"  {words}", flush=True)
        if asked.write and not report.problems and report.frames >= FRAMES:
            _keep(report)
    return 1 if found else 0


def _keep(report: Report) -> None:
    Figures(
        title="A million damaged frames from each side",
        command="make fuzz",
        told=(
            "Sound messages with damaged bytes, members, types and order, from a client and from a host, each time to "
            "one adapter that lives through all of them. What deserves an answer is told by other code than the "
            "adapter's, and counted against what comes back, by the id and its type. A run fails if an answer is "
            "missing or doubled, if something was done that no answer to a question had allowed, if a prompt is not "
            "answered within two minutes, if the adapter ends by itself or its log has a fault of its own, or if "
            "anything of its environment is told."
        ),
        columns=["frames of a", "sent", "answers", "questions, allowed", "seconds", "MiB after a sixth, at most"],
        rows=[
            [
                report.side,
                f"{report.frames:,}",
                f"{report.answers:,}",
                f"{report.questions:,}, {report.allowed:,}",
                f"{report.seconds:.0f}",
                f"{report.settled_mib}, {report.peak_mib}",
            ]
        ],
    ).keep("frames", among=list(SIDES))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
