"""Who ends what this process has started if this process is killed (`design.md`, rule 14).

A process of its own, in a session of its own, that waits on a pipe until its other end is closed. Then it ends
everything that carries our mark or is in a session of what it was told of, and itself. It is started with the first
process of Muse, and is ended when all that was ended in order. It waits as a shell, which takes a tenth of the memory
that Python does; without one, as Python.

A signal for the death of the parent, as Linux has, would be no replacement: it reaches children only, not what those
have started, and leaves a host no moment to record what it was doing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Set as AbstractSet
from typing import Final

from adapter.msp import sweep

log = logging.getLogger("adapter.msp")

SHELL: Final = "/bin/sh"

_WAIT: Final = """
trap '' HUP INT TERM
told=' '
while read -r word; do
    one=+${word#?}
    case $word in
    +*) told="$told$one " ;;
    -*) case $told in *" $one "*) told="${told%%" $one "*} ${told#*" $one "}" ;; esac ;;
    esac
done
exec "$@" $told
"""
"""Remembers what it is told of, as `sweep.main` does."""

NAME: Final = "muse-adapter-guardian"

FAREWELL_SECONDS: Final = 1.0
"""Seconds the guardian may take to be gone when it is ended, so that nobody else has to reap it."""

TERM_GRACE: Final = 0.5
"""Seconds between SIGTERM and SIGKILL to what is still there when this process ends in order."""

KILL_SECONDS: Final = 1.0

_INHERITED: Final = frozenset({"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"})
"""Variables without which there may be programs that do not start; no others, and above all no mark."""


class Guardian:
    """The one of this process. `mark` is what this process marks others with, empty where marks cannot be read."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None
        self._running: dict[int, int] = {}
        self._told: dict[int, int] = {}

    @property
    def running(self) -> AbstractSet[int]:
        """What this process has started and not yet ended."""
        return self._running.keys()

    @property
    def watches(self) -> bool:
        """Whether it is there. One that somebody has ended is reaped by this."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, if it is not there. Never fails: without it everything else works."""
        # All that the first process of a container has started is ended with it.
        if sys.platform == "win32" or os.getpid() == 1 or self.watches:
            return
        self._let_go()
        program = [sys.executable, "-I", "-S", sweep.__file__, self.mark]
        for argv in ([SHELL, "-c", _WAIT, NAME, *program], program):
            try:
                theirs, ours = os.pipe()
            except OSError as error:
                log.debug("no guardian could be started: %s", error)
                return
            try:
                self._process = subprocess.Popen(
                    argv,
                    stdin=theirs,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: value for name, value in os.environ.items() if name in _INHERITED},
                    # No folder should be in use only because of it.
                    cwd="/",
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                log.debug("%s could not be started as guardian: %s", argv[0], error)
                os.close(ours)
            else:
                os.set_blocking(ours, False)
                self._pipe = ours
                self._told = {}
                self._tell()
                return
            finally:
                os.close(theirs)

    def started(self, pid: int, began: int) -> None:
        """A process leads a session or a group of its own now. By that, all that is in there is found also when it has
        cleared its environment."""
        self._running[pid] = began
        self._tell()

    def ended(self, pid: int) -> None:
        """It has ended, and so has all that it left."""
        self._running.pop(pid, None)
        if self._running:
            self.start()
        self._tell()

    def leave(self) -> None:
        """End what is still there of all that was started, and the guardian; what does not end is left to it."""
        those = sweep.started_by(self.mark, self._running)
        gone = sweep.end(those, grace=0.0, term_grace=TERM_GRACE, kill_seconds=KILL_SECONDS)
        if self._process is not None and sys.platform != "win32":
            # Somebody may have stopped it.
            self._process.send_signal(signal.SIGKILL if gone else signal.SIGCONT)
        self._let_go()
        if gone and self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL_SECONDS)

    def _tell(self) -> None:
        """Tell it what it does not know. Where the pipe is full, which it is only if the guardian was stopped, that is
        told with the next word; until then what is new is found by its mark alone."""
        if self._pipe is None:
            return
        with contextlib.suppress(OSError):
            for pid, began in self._told.items() - self._running.items():
                os.write(self._pipe, b"-%d:%d\n" % (pid, began))
                del self._told[pid]
            for pid, began in self._running.items() - self._told.items():
                os.write(self._pipe, b"+%d:%d\n" % (pid, began))
                self._told[pid] = began

    def _let_go(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
