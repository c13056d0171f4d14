"""What the recorded host prints when it is asked for its version: beside the conversation, not in its way."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Final

VERSION_SECONDS: Final = 5.0
"""Seconds it may take; as long as the adapter gives it."""

VERSION_BYTES: Final = 4096

LAST_WAIT: Final = 1.0
"""Seconds it still has when the conversation has ended."""


def version_command(command: Sequence[str]) -> list[str] | None:
    """The command line that asks the host of this one for its version; None if this is not how hosts are started."""
    return [*command[: command.index("serve")], "--version"] if "serve" in command[1:] else None


class VersionQuestion:
    """Asked once, in a thread; `tell` gets the answer, if there is one."""

    def __init__(self, command: Sequence[str], tell: Callable[[str], None]) -> None:
        """Ask.

        Raises:
            OSError: the host cannot be started.
        """
        self._tell = tell
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Asked for its version, Muse must not replace what is running.
            env=os.environ | {"MUSE_NO_AUTO_UPDATE": "1"},
        )
        self._timer = threading.Timer(VERSION_SECONDS, self._process.kill)
        self._timer.daemon = True
        self._thread = threading.Thread(target=self._hear, daemon=True)
        self._timer.start()
        self._thread.start()

    def end(self) -> None:
        """Wait a moment for the answer, and for no more."""
        self._thread.join(LAST_WAIT)
        self._process.kill()
        self._thread.join(LAST_WAIT)

    def _hear(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, UnicodeDecodeError), self._process.stdout as output:
            said = output.read(VERSION_BYTES).decode().strip()
            if self._process.wait() == 0:
                self._tell(said)
        self._timer.cancel()
