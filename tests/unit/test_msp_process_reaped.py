"""Hosts of an adapter that orphans are handed to, as PID 1 of a container is: none stays behind as a zombie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sub-reapers")

ROOT = Path(__file__).resolve().parents[2]

SECONDS = 60.0

PROGRAM = """
import ctypes, os, sys
import anyio
from adapter.msp import process as module
from adapter.msp.process import HostCommand, HostProcess
from tests.processes import descendants

PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
backend, script, close_grace = sys.argv[1:]
module.TERM_GRACE = 0.2

async def main():
    for _ in range(3):
        process = await HostProcess.spawn(HostCommand(["/bin/sh", "-c", script], os.environ))
        assert await process.stdout.receive() == b"ready\\n"
        await process.end(float(close_grace))
        process.close_pipes()

anyio.run(main, backend=backend)
print(descendants(os.getpid()))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("script", "close_grace"),
    [
        ("(sh -c : &); echo ready; exec cat", 30),
        ("(setsid sh -c : &); echo ready; exec cat", 30),
        ("(setsid sleep 600 &); echo ready; exec cat", 30),
        ("(trap '' TERM; exec setsid sleep 600) & echo ready; exit 0", 30),
        ("sleep 600 & echo ready; exit 0", 30),
        ("sleep 600 & echo ready; exec cat", 0),
        ("(trap '' TERM; exec sleep 600) & echo ready; exec cat", 30),
        ("trap '' TERM; sh -c 'sleep 600; true' & echo ready; sleep 600; true", 0),
    ],
    ids=[
        "dead before",
        "dead elsewhere",
        "elsewhere",
        "stubborn elsewhere",
        "orphaned",
        "polite",
        "stubborn",
        "all stubborn",
    ],
)
def test_f5_orphans_of_a_host_are_reaped(backend: str, script: str, close_grace: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, backend, script, str(close_grace)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
