"""stdin and stdout taken out of everybody else's reach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, subprocess, sys, warnings
import anyio
from adapter.wire.pipes import FdReader, FdWriter
from adapter.wire.stdio import claim_stdio

sys.stdout.write("before")

stdin, stdout = claim_stdio()
source, sink = FdReader(stdin), FdWriter(stdout)

async def main():
    print("from print", flush=True)
    sys.__stdout__.write("from __stdout__"); sys.__stdout__.flush()
    os.write(1, b"from fd 1")
    subprocess.run(["echo", "from a child"])
    subprocess.run(["cat"], timeout=5)
    assert sys.stdin.read() == ""
    await sink.send(b"frame:" + await source.receive())
    sink.close()
    print("after the end")

anyio.run(main)
"""


def run(program: str, shell_suffix: str = "") -> subprocess.CompletedProcess[bytes]:
    command = ["sh", "-c", f'exec "$0" -c "$1" {shell_suffix}', sys.executable, program]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, input=b"{}\n", env=buffered, capture_output=True, timeout=30, check=False)


@pytest.mark.acp(1)
def test_only_the_writer_reaches_stdout() -> None:
    done = run(PROGRAM)
    assert done.stdout == b"frame:{}\n"
    for stray in (b"before", b"from print", b"from __stdout__", b"from fd 1", b"from a child", b"after the end"):
        assert stray in done.stderr
    assert done.returncode == 0, done.stderr


@pytest.mark.acp(1, 4)
def test_a_closed_stderr_leaves_stdout_clean() -> None:
    done = run(PROGRAM, "2>&-")
    assert (done.stdout, done.returncode) == (b"frame:{}\n", 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_stdin_or_stdout_there_is_an_error(closed: str) -> None:
    program = """
from adapter.wire.stdio import claim_stdio
try:
    claim_stdio()
except OSError:
    raise SystemExit(3)
"""
    assert run(program, closed).returncode == 3


OCCUPIED = """
import os, subprocess, sys
from adapter.wire.stdio import claim_stdio, is_usable, occupy_stdio

occupy_stdio()
ours = os.open(os.devnull, os.O_RDWR)
told = f"{is_usable(0)} {is_usable(1)} {ours > 2}"
told += subprocess.run(["sh", "-c", "echo ' and a child' >&2"], stderr=subprocess.PIPE, text=True).stderr
os.write(2, b"lost if it is closed")
with open(sys.argv[1], "w") as file:
    file.write(told)
try:
    claim_stdio()
except OSError:
    raise SystemExit(3)
"""


@pytest.mark.skipif(os.name != "posix", reason="what a descriptor is open for cannot be asked elsewhere")
@pytest.mark.parametrize(
    ("closed", "told", "code"),
    [
        ("", "True True True", 0),
        ("<&-", "False True True", 3),
        (">&-", "True False True", 3),
        ("2>&-", "True True True", 0),
        ("<&- >&- 2>&-", "False False True", 3),
    ],
)
def test_a_closed_descriptor_is_occupied_and_still_of_no_use(tmp_path: Path, closed: str, told: str, code: int) -> None:
    done = run(OCCUPIED, f"{tmp_path}/told {closed}")

    assert (tmp_path / "told").read_text() == f"{told} and a child\n"
    assert done.returncode == code
