"""`record OUT [--redact] -- COMMAND...` read without the library of the commands: it stands in the way of everything
that is started through it, several times for each session."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class RecordLine(NamedTuple):
    """What is to be recorded, and where to."""

    out: Path
    command: list[str]
    redact: bool


def record_line(argv: Sequence[str]) -> RecordLine | None:
    """What a command line in the usual order asks to record; None if it is another one, which is read as all are."""
    match argv:
        case ["record", out, "--", _, *_] if _is_word(out):
            folder, command, redact = recording_folder(out), argv[3:], False
        case ["record", out, "--redact", "--", _, *_] | ["record", "--redact", out, "--", _, *_] if _is_word(out):
            folder, command, redact = recording_folder(out), argv[4:], True
        case _:
            return None
    return RecordLine(folder, list(command), redact) if folder is not None else None


def recording_folder(word: str) -> Path | None:
    """The folder that a word names: an editor passes `~` on as it is. None if no number could be put behind its
    name."""
    folder = Path(word)
    with contextlib.suppress(RuntimeError):
        # Of `~name` there may be nobody.
        folder = folder.expanduser()
    return None if folder.name in ("", "..") else folder


def _is_word(word: str) -> bool:
    return not word.startswith("-")
