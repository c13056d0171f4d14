"""What a host says of itself outside the conversation: its version, and the flags of its `serve`.

A client asks for them before it starts one, so a recording has to know the answers. They are asked for beside the
conversation, not in its way.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Final

SECONDS: Final = 5.0
"""Seconds one answer may take; as long as the adapter gives it."""

ANSWER_BYTES: Final = 64 * 1024

LAST_WAIT: Final = 1.0
"""Seconds the answers still have when the conversation has ended."""

_FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{1,60}")


def muse_of(command: Sequence[str]) -> list[str] | None:
    """The host in a command line that starts one with `serve`; None if this is not how hosts are started."""
    return list(command[: command.index("serve")]) if "serve" in command[1:] else None


class HostQuestions:
    """Asks both, once, in a thread of its own. `tell_version` gets the line that was printed, `tell_flags` the flags
    that are named in the help, each if there is an answer."""

    def __init__(
        self, muse: Sequence[str], tell_version: Callable[[str], None], tell_flags: Callable[[list[str]], None]
    ) -> None:
        self._muse = muse
        self._tell_version = tell_version
        self._tell_flags = tell_flags
        self._asked: subprocess.Popen[bytes] | None = None
        self._over = False
        self._thread = threading.Thread(target=self._ask_both, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait a moment for the answers, and for no more."""
        self._thread.join(LAST_WAIT)
        self._over = True
        if self._asked is not None:
            self._asked.kill()
        self._thread.join(LAST_WAIT)

    def _ask_both(self) -> None:
        version = self._ask("--version")
        if version is not None:
            self._tell_version(version.strip())
        text = self._ask("serve", "--help")
        if text is not None:
            self._tell_flags(sorted(set(_FLAG.findall(text))))

    def _ask(self, *words: str) -> str | None:
        if self._over:
            return None
        with contextlib.suppress(OSError, UnicodeDecodeError):
            self._asked = subprocess.Popen(
                [*self._muse, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Asked for something, Muse must not replace what is running.
                env=os.environ | {"MUSE_NO_AUTO_UPDATE": "1"},
            )
            timer = threading.Timer(SECONDS, self._asked.kill)
            timer.daemon = True
            timer.start()
            assert self._asked.stdout is not None
            with self._asked.stdout as output:
                said = output.read(ANSWER_BYTES).decode()
            code = self._asked.wait()
            timer.cancel()
            if code == 0:
                return said
        return None
