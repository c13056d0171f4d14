"""`muse-adapter record` as a process, with a command behind it that a test has chosen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS = 30.0
"""How long anything may take before it counts as hung."""

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"a","version":"1"}}}\n'
WELCOME = b'{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"m","version":"1.2.1"}}}\n'

# In one process: the tests ask for nothing of the command line but this.
RECORD = (sys.executable, "-P", "-m", "adapter.cli.entry", "record")


def python(program: str, *arguments: str) -> list[str]:
    """A command that runs a program."""
    return [sys.executable, "-c", program, *arguments]


def record(out: Path, command: Sequence[str], stdin: bytes = b"", *flags: str) -> subprocess.CompletedProcess[bytes]:
    """Record one run to its end."""
    words = [*RECORD, str(out), *flags, "--", *command]
    return subprocess.run(words, input=stdin, capture_output=True, timeout=SECONDS, check=False)


@contextmanager
def recording(out: Path, command: Sequence[str], *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder that is gone afterwards, whatever happens."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*RECORD, str(out), *flags, "--", *command], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def read_exactly(fd: int, count: int) -> bytes:
    """So many bytes, or fewer at the end."""
    data = b""
    while len(data) < count and (more := os.read(fd, count - len(data))):
        data += more
    return data
