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
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from tests.processes import descendants

PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
backend, script, close_grace = sys.argv[1:]
module.TERM_GRACE = 0.2

async def main():
    for _ in range(3):
        process = HostProcess.spawn(HostCommand(["/bin/sh", "-c", script], os.environ))
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


ANSWER = """
import pathlib, sys, tempfile, threading, time
import anyio
from adapter.msp import process as module, sweep
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from adapter.msp.process_mark import with_mark
from host_probe.brief_run import run_briefly

flag = pathlib.Path(tempfile.mkdtemp()) / "flag"
looked_for, end_family = threading.Event(), module._end_family

def after_a_death(*args):
    looked_for.set()
    time.sleep(0.2)
    flag.touch()
    for _ in range(200):
        if sweep.dead_children():
            break
        time.sleep(0.01)
    end_family(*args)

module._end_family = after_a_death

async def ask():
    script = f"while [ ! -e {flag} ]; do sleep 0.01; done; exit 7"
    answer = await run_briefly(["/bin/sh", "-c", script], with_mark({}), 60)
    print(answer.exit_code, flush=True)

async def main():
    process = HostProcess.spawn(HostCommand(["/bin/sh", "-c", "exec cat"], {}))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(process.end)
        while not looked_for.is_set():
            await anyio.sleep(0.005)
        time.sleep(2)

anyio.run(main, backend=sys.argv[1])
"""
"""A program is asked something and ends while a host is being ended, and while the event loop is busy."""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_f5_the_exit_code_of_what_somebody_waits_for_is_theirs(backend: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, backend],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
