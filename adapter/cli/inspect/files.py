"""Files as they are meant here: a pipe could be waited for, and a device read, for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_FLAGS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe that nobody writes to is opened as well, to see what it is."""


def open_file(path: Path) -> BinaryIO:
    """A regular file, to be read.

    Raises:
        OSError: it is something else, or cannot be opened.
    """
    file = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def content(path: Path, most: int) -> bytes:
    """What is in a file, as long as it is now: it may be written to meanwhile.

    Raises:
        OSError: it is no file, is too long, or cannot be read.
    """
    with open_file(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length > most:
            raise OSError(errno.EFBIG, f"it has {length:,} bytes, and no more than {most:,} can be shown")
        return file.read(length)
