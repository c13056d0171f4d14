"""A folder for targets that read files, in memory where there is such a place."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
_FOLDER: Final = tempfile.TemporaryDirectory(
    prefix="muse-adapter-fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None, ignore_cleanup_errors=True
)


def folder(name: str) -> Path:
    """The folder of this name; it may be there from before."""
    path = Path(_FOLDER.name) / name
    path.mkdir(exist_ok=True)
    return path
