"""Who ends what this process has started if this process is killed (`design.md`, rule 14).

A process of its own, in a session of its own, that waits on a pipe until its other end is closed. Then it ends
everything that carries our mark, and itself. Told that all was ended in order, it ends at once. It is started with the
first process of Muse. It waits as a shell, which takes a tenth of the memory that Python does; without one, as Python.

A signal for the death of the parent, as Linux has, would be no replacement: it reaches children only, not what those
have started, and leaves a host no moment to record what it was doing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from typing import Final

from adapter.msp import sweep

log = logging.getLogger("adapter.msp")

SHELL: Final = "/bin/sh"

_WAIT: Final = (
    f'trap \'\' HUP INT TERM; while read -r word; do if [ "$word" = {sweep.OVER} ]; then exit; fi; done; exec "$@"'
)

NAME: Final = "muse-adapter-guardian"

FAREWELL_SECONDS: Final = 1.0
"""Seconds the guardian may take to end when all is over, so that nobody else has to reap it."""

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

    @property
    def watches(self) -> bool:
        """Whether it is there. One that somebody has ended is reaped by this."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, if it is not there. Never fails: without it everything else works."""
        if sys.platform == "win32" or self.watches:
            return
        self._let_go()
        program = [sys.executable, "-I", "-S", sweep.__file__, self.mark]
        waits = [SHELL, "-c", _WAIT, NAME, *program]
        # The shell does not remember groups.
        for argv in [waits, program] if self.mark else [program]:
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
                return
            finally:
                os.close(theirs)

    def tell(self, word: str) -> None:
        """One word of those that `sweep.main` knows; lost if it does not listen."""
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe, word.encode() + b"\n")

    def leave(self) -> None:
        """End what is still there of all that was started, and the guardian; what does not end is left to it."""
        gone = not self.mark or sweep.end(
            sweep.Family(self.mark), grace=0.0, term_grace=TERM_GRACE, kill_seconds=KILL_SECONDS
        )
        if gone and self.mark:
            self.tell(sweep.OVER)
        self._let_go()
        if gone and self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL_SECONDS)

    def _let_go(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
