"""One session on disk: an append-only file of JSON lines, read back whole.

A record is an object with one member, named after what it is: `session` (the session's facts at its start), `event`
(`[number, method, params]`), `intake`, `outcome` and `withdrawn` (a command that came in, how it ended, that it was
not admitted after all), `output` (what a stored output holds), `prompt` (a turn that was admitted), `roots` (the
folders a turn put in force), `end` (the last cursor number a closing host gave out).

Each record is one `write`, so a killed host loses nothing it told anybody; a half-written last line is ignored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson


class Journal:
    """The file, open for appending; `path` None keeps nothing (`--no-session-log`)."""

    def __init__(self, path: Path | None) -> None:
        self._fd = -1
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(self, kind: str, value: Any) -> None:
        """Write one record."""
        if self._fd >= 0:
            os.write(self._fd, orjson.dumps({kind: value}, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def records(path: Path) -> list[tuple[str, Any]]:
    """Every whole record of a file, in order; an unreadable line is left out."""
    found: list[tuple[str, Any]] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            record = orjson.loads(line)
            found.extend(record.items())
        except (ValueError, AttributeError):
            continue
    return found
