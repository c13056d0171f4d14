"""Files as they are meant where one is named: a pipe could be waited for, and a device read, for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_FLAGS: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe that nobody writes to is opened as well, to see what it is."""


class NotRegular(OSError):
    """Something that can be opened, and is no regular file."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "it is no regular file")


def open_regular(path: Path) -> BinaryIO:
    """A regular file, to be read.

    Raises:
        OSError: it cannot be opened; `NotRegular` if it is something else.
    """
    file = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise NotRegular
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise
