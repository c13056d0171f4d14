"""Starting a `muse serve`, on no event loop: what makes it a process is over before anything could wait."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

from adapter.msp.host_command import HostCommand
from adapter.msp.process_mark import Mark, marked, next_mark, now_runs
from adapter.wire.pipe_size import widen_pipe


class Launched(NamedTuple):
    """A process that has been started, for `HostProcess` to have; the descriptors are our ends of its pipes. `began` is
    when it did, in ticks since the machine was started, 0 where that cannot be seen."""

    command: HostCommand
    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int
    mark: Mark | None
    began: int


def launch(command: HostCommand) -> Launched:
    """Start the process in a group of its own, with a pipe for each standard stream, and marked as ours
    (`process_mark`).

    Raises:
        OSError: it cannot be executed; nothing is left behind.
        ValueError: nothing can be executed so, as with a zero byte in an argument; the same.
    """
    ours: list[int] = []
    theirs: list[int] = []
    mark = next_mark()
    environ = marked(command.environ, mark)
    try:
        for parent_end in (1, 0, 0):
            pair = os.pipe()
            ours.append(pair[parent_end])
            theirs.append(pair[1 - parent_end])
        widen_pipe(ours[1])
        process = subprocess.Popen(
            list(command.argv),
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            env=environ,
            start_new_session=sys.platform != "win32",
        )
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    return Launched(command, process, ours[0], ours[1], ours[2], mark, now_runs(process.pid))
