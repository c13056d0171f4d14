"""`muse-adapter inspect`: read a recording, show it."""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import typer

from adapter.cli.inspect.ladder import Entry, Ladder, ladder_of
from adapter.cli.inspect.page import NoPage, write_page
from adapter.cli.inspect.recording import NoRecording, Recording, read_recording
from adapter.cli.inspect.terminal import Screen
from adapter.cli.stdout import require_stdout
from adapter.wire.framing import DEEPEST

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1

_NOT_SHOWN: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal acts on, or what turns the direction of a text, but for ends of lines."""

_TEXT_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{}]')


class Wanted(msgspec.Struct, frozen=True):
    """What of a recording to show, and where."""

    directory: Path
    page: Path | None = None
    frame: int | None = None
    method: str | None = None
    session: str | None = None
    errors: bool = False

    @property
    def filtered(self) -> bool:
        return self.errors or self.method is not None or self.session is not None


class NotThere(ValueError):
    """The recording does not have what was asked for; the message says so."""


def main(wanted: Wanted) -> int:
    """Do it; the exit code tells how it went, a line on stderr why it did not.

    Raises:
        Unwritable: stdout cannot be written to.
    """
    if wanted.page is None:
        require_stdout()
    collecting = gc.isenabled()
    # Millions of objects stay until the end, and looking through them again and again takes longer than reading them.
    gc.disable()
    try:
        recording = read_recording(wanted.directory)
        if wanted.frame is not None:
            typer.echo(_frame(recording, wanted.frame).encode("utf-8", "replace"))
            return EXIT_OK
        _show(wanted, recording, ladder_of(recording))
    except (NoRecording, NoPage, NotThere) as error:
        typer.echo(f"muse-adapter: {error}", err=True)
        return EXIT_FAILED
    finally:
        if collecting:
            gc.enable()
    return EXIT_OK


def _show(wanted: Wanted, recording: Recording, ladder: Ladder) -> None:
    name = wanted.directory.resolve().name
    if wanted.page is not None:
        write_page(wanted.page, recording, ladder, name)
        typer.echo(f"muse-adapter: wrote {wanted.page}; open it in a browser", err=True)
        return
    entries = _fitting(wanted, ladder)
    screen = Screen(recording, ladder, name)
    screen.head()
    screen.rungs(entries)
    if not wanted.filtered:
        screen.summary()


def _fitting(wanted: Wanted, ladder: Ladder) -> Sequence[Entry]:
    """The rows that were asked for."""
    sessions = None if wanted.session is None else _sessions(wanted.session, ladder)
    return [
        entry
        for entry in ladder.entries
        if (sessions is None or entry.session in sessions)
        and (wanted.method is None or wanted.method.lower() in entry.method.lower())
        and (not wanted.errors or entry.failed)
    ]


def _sessions(named: str, ladder: Ladder) -> set[int]:
    """A session is named by its number here, or by its id or the beginning of that."""
    found = {one.number for one in ladder.sessions if str(one.number) == named or one.id.startswith(named)}
    if not found:
        raise NotThere(f"no session {named!r}; the recording has {len(ladder.sessions)}, named in its head")
    return found


def _frame(recording: Recording, number: int) -> str:
    """One frame as it was sent, laid out; nothing in it can act on a terminal."""
    line = next((line for line in recording.script.lines if line.number == number), None)
    if line is None:
        raise NotThere(f"no frame {number}; the recording's last is {recording.script.lines[-1].number}")
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", _laid_out(line.raw))


def _laid_out(text: str) -> str:
    """The text as lines, each level further in, if it is JSON and nested no deeper than what anybody says: otherwise it
    would be far longer than it is."""
    if _levels(text) > DEEPEST:
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return text


def _levels(text: str) -> int:
    """How deep it is nested, also where no parser would take it: each has a limit of its own, on each Python."""
    level = deepest = 0
    for part in _TEXT_OR_BRACKET.findall(text):
        if part in ("{", "["):
            level += 1
            deepest = max(deepest, level)
        elif part in ("}", "]"):
            level -= 1
    return deepest
