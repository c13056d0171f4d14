"""Programs run with a bound, in a group of their own that ends with them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

Done = subprocess.CompletedProcess[str]


def run(command: list[str], cwd: Path, env: dict[str, str], seconds: float, stdin: str = "") -> Done:
    """What a program said and how it ended.

    Raises:
        subprocess.TimeoutExpired: it took longer; it has been ended.
    """
    with started(command, cwd, env, subprocess.PIPE) as process:
        stdout, stderr = process.communicate(stdin, timeout=seconds)
        return Done(command, process.returncode, stdout, stderr)


@contextmanager
def started(
    command: list[str], cwd: Path, env: dict[str, str], stdout: int | IO[str]
) -> Iterator[subprocess.Popen[str]]:
    """A program that runs beside what follows, and is ended after it."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
