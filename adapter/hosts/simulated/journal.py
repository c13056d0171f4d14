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
    """The file, open for appending; `path` None keeps nothing (`--no-session-log`). A `held` journal keeps nothing on
    disk before `keep` is called, and then all of it."""

    def __init__(self, path: Path | None, held: bool = False) -> None:
        self._path = path
        self._fd = -1
        self._held: list[bytes] | None = [] if held else None
        if not held:
            self._open()

    @property
    def held(self) -> bool:
        """Whether nothing has been stored yet."""
        return self._held is not None

    def keep(self) -> None:
        """Store what has been held back."""
        held, self._held = self._held, None
        if held is not None:
            self._open()
            self._write(b"".join(held))

    def append(self, kind: str, value: Any) -> None:
        """Write one record."""
        record = orjson.dumps({kind: value}, option=orjson.OPT_APPEND_NEWLINE)
        if self._held is not None:
            self._held.append(record)
        else:
            self._write(record)

    def _open(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _write(self, data: bytes) -> None:
        if self._fd >= 0:
            os.write(self._fd, data)

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
