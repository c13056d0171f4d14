"""Files of recordings, read as long as they are."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from adapter.wire.regular_files import open_regular


def content(path: Path, most: int) -> bytes:
    """What is in a file, as long as it is now: it may be written to meanwhile.

    Raises:
        OSError: it is no file, is too long, or cannot be read.
    """
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length > most:
            raise OSError(errno.EFBIG, f"it has {length:,} bytes, and no more than {most:,} can be shown")
        return file.read(length)
