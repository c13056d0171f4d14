"""Reading a file as it is before a tool changes it."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Final

from adapter.bridge.tool_cards.file_changes import FILE_BYTES, Before

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def read_before(path: str, roots: Sequence[str], *, certain: bool = False) -> Before | None:
    """The text of the file, or that there is none; None if neither can be told.

    Only a regular file inside one of `roots`, links followed, of at most `FILE_BYTES` bytes of UTF-8 is read. Blocks;
    changes nothing.
    """
    try:
        real = os.path.realpath(path)
        if not any(_is_inside(real, os.path.realpath(root)) for root in roots):
            return None
        try:
            file = os.open(real, _FLAGS)
        except FileNotFoundError:
            # A link to nothing is no free place: what a write makes of it is not known.
            return None if os.path.lexists(path) else Before(None, certain)
        try:
            text = _text(file)
        finally:
            os.close(file)
    except (OSError, ValueError):
        return None
    return None if text is None else Before(text, certain)


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _text(file: int) -> str | None:
    """The text of an open file that stays as it is while it is read."""
    before = os.fstat(file)
    if not stat.S_ISREG(before.st_mode) or before.st_size > FILE_BYTES:
        return None
    data = b""
    while len(data) <= FILE_BYTES and (piece := os.read(file, FILE_BYTES + 1 - len(data))):
        data += piece
    after = os.fstat(file)
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
    if changed or len(data) != before.st_size or b"\0" in data:
        return None
    return data.decode("utf-8")
