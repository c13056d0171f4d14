"""The limit beside a measurement: a bare blocking Python loop in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

from tests.benchmarks.client import LINE_BUFFER

END_SECONDS: Final = 15
"""How long a loop may take to end when its input has."""


class BareLoop(NamedTuple):
    """The pipes of a loop that runs, and its process."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    pid: int


@contextmanager
def bare_loop(program: str, *arguments: str) -> Iterator[BareLoop]:
    """A loop that runs until the end of the block; `program` is its text."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        bufsize=LINE_BUFFER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield BareLoop(process.stdin, process.stdout, process.pid)
    finally:
        process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
