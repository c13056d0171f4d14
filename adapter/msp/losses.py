"""Messages of a host that could not be read: what they told is lost, and has to be asked for like what a host itself
left out (`msp.md §11.4`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import anyio

PAUSE_SECONDS: Final = 1.0
"""The shortest time between two losses that are told of: each may cost reading pages."""

MAX_SESSIONS: Final = 64
"""Sessions that are remembered for the end of a pause; of more than that, all count."""

HEAD_BYTES: Final = 4096
"""Where the name of a session is looked for."""

_SESSION: Final = re.compile(rb'"sessionId"\s*:\s*"([\x20-\x21\x23-\x5b\x5d-\x7e]{1,200})"')


class Losses:
    """Those of one host. `tell` is called with the session that one was about, and with None if it may be any.

    `run` it in a task of its own.
    """

    def __init__(self, tell: Callable[[str | None], None]) -> None:
        self._tell = tell
        self._pausing = False
        self._told = anyio.Event()
        self._waiting: set[str | None] = set()

    def note(self, line: bytes) -> None:
        """A line, or its beginning, that is no frame; only what begins like one can have been a message."""
        head = line[:HEAD_BYTES].lstrip()
        if not head.startswith(b"{"):
            return
        named = _SESSION.search(head)
        session = named[1].decode() if named else None
        if not self._pausing:
            self._pausing = True
            self._told.set()
            self._tell(session)
        elif None not in self._waiting:
            self._waiting.add(session)
            if session is None or len(self._waiting) > MAX_SESSIONS:
                self._waiting = {None}

    async def run(self) -> None:
        """Tell what was lost during a pause when that is over."""
        while True:
            await self._told.wait()
            await anyio.sleep(PAUSE_SECONDS)
            waiting, self._waiting = self._waiting, set()
            if not waiting:
                self._told = anyio.Event()
                self._pausing = False
            for session in waiting:
                self._tell(session)
