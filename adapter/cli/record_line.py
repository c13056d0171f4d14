"""`record OUT [--redact] -- COMMAND...` read without the library of the commands: it stands in the way of everything
that is started through it, several times for each session."""

from __future__ import annotations

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
        case ["record", out, "--", _, *_] if _is_folder(out):
            return RecordLine(Path(out), list(argv[3:]), redact=False)
        case ["record", out, "--redact", "--", _, *_] if _is_folder(out):
            return RecordLine(Path(out), list(argv[4:]), redact=True)
        case ["record", "--redact", out, "--", _, *_] if _is_folder(out):
            return RecordLine(Path(out), list(argv[4:]), redact=True)
        case _:
            return None


def _is_folder(word: str) -> bool:
    return not word.startswith("-") and Path(word).name not in ("", "..")
