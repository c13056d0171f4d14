"""Where a recording goes: a folder that belongs to one recorder alone, and to nobody else to read.

What is in it is somebody's prompts, so files are 0600 and folders 0700. Whoever makes the transcript has the folder:
an editor starts its agent again and again, and an adapter several hosts at once.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from pathlib import Path
from typing import Any, Final

TRANSCRIPT: Final = "transcript.ndjson"
MANIFEST: Final = "manifest.json"

MOST_RECORDINGS: Final = 10_000
"""Recordings beside each other, `OUT` to `OUT-10000`: looking for a free name must end."""

_PRIVATE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700


class Folder:
    """A claimed folder with its transcript open."""

    def __init__(self, path: Path, transcript: int) -> None:
        self.path = path
        self._transcript = transcript
        self._size = 0

    @classmethod
    def claim(cls, out: Path) -> Folder:
        """`out`, or with a number behind its name the first that holds no recording yet.

        Raises:
            OSError: none can be made.
        """
        for number in itertools.count(1):
            path = out if number == 1 else out.with_name(f"{out.name}-{number}")
            _make(path)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                return cls(path, os.open(path / TRANSCRIPT, flags, _PRIVATE))
            except FileExistsError:
                if number == MOST_RECORDINGS:
                    raise
        raise AssertionError("counting does not end")

    def append(self, lines: bytes) -> None:
        """Write whole lines behind the others, at once: there is no buffer that could be lost.

        Raises:
            OSError: they could not all be written; those that are there are whole.
        """
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[os.write(self._transcript, rest) :]
        except OSError:
            # A full disk takes a part of a line.
            whole = lines.rfind(b"\n", 0, len(lines) - len(rest)) + 1
            with contextlib.suppress(OSError):
                os.ftruncate(self._transcript, self._size + whole)
            raise
        self._size += len(lines)

    def write_manifest(self, about: dict[str, Any]) -> None:
        """Replace the manifest; whoever reads meanwhile sees the old one or the new one.

        Raises:
            OSError: it could not be written; the old one is still there.
        """
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        # The folder's own name may be no text.
        data = text.encode("utf-8", "replace")
        beside = self.path / f".{MANIFEST}.{os.getpid()}"
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "wb") as file:
                file.write(data)
            beside.replace(self.path / MANIFEST)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise

    def abandon(self) -> None:
        """It is no recording after all: no line has been written."""
        with contextlib.suppress(OSError):
            (self.path / TRANSCRIPT).unlink()

    def close(self) -> None:
        """Nothing is written any more."""
        os.close(self._transcript)


def _make(path: Path) -> None:
    """The folder and those above it; told to, `mkdir` would give those the mode of everything."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            with contextlib.suppress(FileExistsError):
                folder.mkdir(_PRIVATE_FOLDER)
