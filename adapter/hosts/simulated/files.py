"""The files that scripts change for real; what they may touch has been decided before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from adapter.hosts.simulated.steps import Touch, Touched

MAX_BYTES: Final = 4 * 1024 * 1024
"""Files above this are left alone: what they held is part of the patch."""


def touch(step: Touch) -> Touched:
    """Carry it out; a file that cannot be changed stays as it is."""
    path = Path(step.path)
    try:
        before = _text_of(path)
        if step.operation == "delete":
            path.unlink()
            return Touched(before, None)
        if step.operation == "replace" and (before is None or step.old not in before):
            return Touched(before, before, f"the text to replace is not in {path.name}")
        after = step.new if step.operation == "write" else str(before).replace(step.old, step.new, 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(after.encode())
    except (OSError, ValueError) as error:
        return Touched(None, None, f"{path.name} cannot be changed: {type(error).__name__}")
    return Touched(before, after)


def _text_of(path: Path) -> str | None:
    """What a file holds, None if there is none.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no text, no plain file, or too large.
    """
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise ValueError(path.name)
    return path.read_bytes().decode()
