"""What the host was asked, for tests that must know: one JSON line a call, in the file `MUSE_SIMULATED_WITNESS` names.

`{"pid": 7, "flags": ["serve", "--disable-write"], "method": "session/read"}`; several hosts may share the file.
"""

from __future__ import annotations

import os
from typing import Final

import orjson

ENVIRONMENT: Final = "MUSE_SIMULATED_WITNESS"


class Witness:
    """Writes down every method that is received, requests and notifications alike."""

    def __init__(self, flags: list[str]) -> None:
        path = os.environ.get(ENVIRONMENT)
        self._flags = flags
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else -1

    def note(self, method: str) -> None:
        """A call has arrived."""
        if self._fd >= 0:
            line = {"pid": os.getpid(), "flags": self._flags, "method": method}
            os.write(self._fd, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
