"""The recorded command: started in a group of its own, and ended with everything it has started.

What happens to the recorder happens to it: a signal is passed on, and where the system can do that it is killed when
the recorder is. Its stderr is the recorder's own.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from adapter.wire.pipe_size import widen_pipe
from adapter.wire.pipes import READ_CHUNK

GROUP_GRACE: Final = 0.5
"""Seconds what a command left running in its group has between SIGTERM and SIGKILL."""

GROUP_POLL: Final = 0.02
"""Seconds between looks at whether anything is left in the group; nothing tells when a grandchild ends."""

KILL: Final[int] = getattr(signal, "SIGKILL", signal.SIGTERM)
"""What cannot be caught; on Windows nothing can."""

_PR_SET_PDEATHSIG: Final = 1


class Child:
    """A running command with a pipe to it and one from it."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            # What was opened for the command is the command's.
            close_fds=False,
            start_new_session=sys.platform != "win32",
            preexec_fn=_die_with_the_recorder(),
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self.stdin: Final = self._process.stdin.fileno()
        self.stdout: Final = self._process.stdout.fileno()
        for fd in (self.stdin, self.stdout):
            widen_pipe(fd)
        self._sending = threading.Lock()
        self.input_over = False
        """Whether it sees the end of its input, or will."""

    def wait(self) -> int:
        """Wait until it is reaped; its exit code, negative for a signal."""
        return self._process.wait()

    def signal(self, signum: int) -> None:
        """Send a signal to it and to what it has started, if the system can."""
        with contextlib.suppress(OSError, ValueError):
            if sys.platform == "win32":
                self._process.send_signal(signum)
            else:
                os.killpg(self._process.pid, signum)

    def send(self, data: bytes) -> None:
        """Write all of `data` to its stdin, however long it takes to read it.

        Raises:
            OSError: it reads no more, or its input was ended.
        """
        try:
            with self._sending:
                if self.input_over:
                    raise BrokenPipeError("its input was ended")
                write_all(self.stdin, data)
        finally:
            if self.input_over:
                self.end_input()

    def end_input(self) -> None:
        """Let it see the end of its input, at once or when it has read what is being sent. Never blocks."""
        self.input_over = True
        if self._sending.acquire(blocking=False):
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._sending.release()

    def close_stdout(self) -> None:
        """Let it see that nobody reads its output any more."""
        assert self._process.stdout is not None
        self._process.stdout.close()

    def end_group(self) -> None:
        """End what it has left running; it has ended itself."""
        if not self._group_lives():
            return
        self.signal(signal.SIGTERM)
        deadline = time.monotonic() + GROUP_GRACE
        while self._group_lives() and time.monotonic() < deadline:
            time.sleep(GROUP_POLL)
        self.signal(KILL)

    def _group_lives(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._process.pid, 0)
        except OSError:
            return False
        return True


def read_some(fd: int) -> bytes:
    """What has arrived, at least one byte; empty at the end."""
    while True:
        try:
            return os.read(fd, READ_CHUNK)
        except BlockingIOError:
            # Whoever shares the open file may have made it so.
            select.select([fd], [], [])


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])


def _die_with_the_recorder() -> Callable[[], object] | None:
    """What makes the kernel kill the command when the recorder dies, however that dies; None where it cannot.

    An editor that kills the command in its settings kills the recorder. What it meant was the other one.
    """
    if sys.platform != "linux":
        return None
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    recorder = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != recorder:
            os._exit(1)

    return arrange
