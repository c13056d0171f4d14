"""Where the bytes of an output go: stdout, or a file that may hold a part of them already."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapter.cli.output_pieces import CHARACTER_REST, unfinished_character
from adapter.wire.pipes import FdWriter

STDOUT: Final = 1

BLOCK: Final = 1024 * 1024
"""Bytes of a kept part that are read at once."""


class Target:
    """Stdout if `path` is None. `open` it, `send` to it, `close` it; `kept` bytes of the file stay as they are."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.kept = 0
        self._writer: FdWriter | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether a person would see the bytes."""
        return self.path is None and os.isatty(STDOUT)

    @property
    def is_file(self) -> bool:
        """Whether what goes there stays there."""
        return self.path is not None and (self.path.is_file() or not self.path.exists())

    @property
    def opened(self) -> bool:
        """Whether it has been made ready to write."""
        return self._writer is not None

    def size(self) -> int:
        """How many bytes the file has; 0 if there is none.

        Raises:
            OSError: it cannot be looked at.
        """
        assert self.path is not None
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def keep(self, size: int, *, whole: bool) -> None:
        """Keep the first `size` bytes, and unless they are the `whole` of it no part of a character at their end.

        Raises:
            OSError: the file cannot be read.
        """
        assert self.path is not None
        self.kept = size
        if size and not whole:
            with self.path.open("rb") as file:
                file.seek(max(0, size - CHARACTER_REST))
                self.kept -= unfinished_character(file.read(min(CHARACTER_REST, size)))

    def kept_blocks(self) -> Iterator[bytes]:
        """The bytes that are kept.

        Raises:
            OSError: the file cannot be read.
        """
        left = self.kept
        if self.path is None or not left:
            return
        with self.path.open("rb") as file:
            while left and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                yield block

    def open(self) -> None:
        """Make ready to write, once; what a file has behind the kept bytes goes.

        Raises:
            OSError: it cannot be opened.
        """
        if self._writer is not None:
            return
        if self.path is None:
            self._writer = FdWriter(os.dup(STDOUT))
            return
        # Not to wait for a reader of a named pipe: a wait here could not be interrupted.
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        fd = os.open(self.path, flags if self.kept else flags | os.O_TRUNC, 0o666)
        if self.kept:
            os.ftruncate(fd, self.kept)
            os.lseek(fd, self.kept, os.SEEK_SET)
        self._writer = FdWriter(fd)

    async def send(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            OSError: it cannot be written; `BrokenPipeError` if nobody reads any more.
        """
        assert self._writer is not None
        await self._writer.send(data)

    def close(self) -> None:
        """Let go of it."""
        if self._writer is not None:
            self._writer.close()
