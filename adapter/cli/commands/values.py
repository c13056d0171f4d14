"""What a value on the command line must be, said in one way, whichever command takes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from adapter.cli.options import decimal, whole
from adapter.cli.record_line import recording_folder

_FOLDERS_END: Final = tuple(end for end in (os.sep, os.altsep) if end is not None)

_LONGEST: Final = 60
"""Characters of a wrong value that are repeated."""


class Reads(NamedTuple):
    """Stands in the annotation of a parameter: `read` makes its value of what is written, or raises `ValueError` with
    what that must be. `each`: it is given several words, each of which is read."""

    read: Callable[[str], Any]
    each: bool = False

    def taken(self, written: Any) -> Any:
        """The value, as typer asks for it; None if nothing was written.

        Raises:
            typer.BadParameter: it is not what it must be.
        """
        if written is None:
            return None
        if self.each:
            return type(written)(self._one(word) for word in written)
        return self._one(written)

    def _one(self, written: str) -> Any:
        try:
            return self.read(written)
        except ValueError as error:
            shown = written if len(written) <= _LONGEST else f"{written[:_LONGEST]}…"
            raise typer.BadParameter(f"{error}, not {shown!r}") from None


def wrong(name: str, sentence: str) -> typer.BadParameter:
    """The mistake of an option or an argument that does not go with the others, or of what is in its file."""
    return typer.BadParameter(sentence, param_hint=f"'{name}'")


def path(text: str) -> Path:
    """A file or a folder, there or not."""
    if not text:
        raise ValueError("must be a path")
    return Path(text)


def written_file(text: str) -> Path:
    """A file that is written, if it is there over it; a name that ends as those of folders do is none."""
    if not text or text.endswith(_FOLDERS_END):
        raise ValueError("must be the path of a file")
    return Path(text)


def new_folder(text: str) -> Path:
    """A folder that can be made; `.` and `..` are there always, and no other can have a number behind such a name."""
    found = recording_folder(text)
    if found is None:
        raise ValueError("must be a folder that can be made")
    return found


def some_text(text: str) -> str:
    """Anything that is not empty."""
    if not text:
        raise ValueError("must be some text")
    return text


def identifier(longest: int) -> Callable[[str], str]:
    """An id of this many characters at most."""

    def read(text: str) -> str:
        if not 1 <= len(text) <= longest:
            raise ValueError(f"must be an id of 1 to {longest} characters")
        return text

    return read


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """One of these words."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(f"must be one of {', '.join(names)}")
        return text

    return read


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """A number without a fraction."""
    wanted = f"a whole number, at least {least}" if most is None else f"a whole number from {least} to {most}"

    def read(text: str) -> int:
        value = whole(text)
        if value is None or value < least or (most is not None and value > most):
            raise ValueError(f"must be {wanted}")
        return value

    return read


def seconds(most: float) -> Callable[[str], float]:
    """A time that is waited."""

    def read(text: str) -> float:
        value = decimal(text)
        if not value or value > most:
            raise ValueError(f"must be a positive number of seconds, at most {most:g}")
        return value

    return read
