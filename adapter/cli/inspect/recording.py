"""A recording as it is on disk, however damaged: a line that makes no sense is shown, not a reason to give up."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from adapter.cli.inspect.files import content
from adapter.cli.inspect.members import Members
from adapter.hosts.recorded.script import MANIFEST, TRANSCRIPT, Line, Manifest, Script, ScriptError, read_line, shape_of
from adapter.wire.framing import decode_json

LONGEST: Final = 512 * 1024 * 1024
"""Bytes of a transcript. It is held in memory several times over; longer ones are cut before they are looked at."""

_LONGEST_MANIFEST: Final = 16 * 1024 * 1024

_NAMED: Final = 10
"""Numbers of damaged lines that are named."""

Protocol = Literal["msp", "acp"]


class NoRecording(ValueError):
    """There is nothing to show; the message says why."""


class Recording(msgspec.Struct, frozen=True):
    """What there is to show."""

    script: Script
    about: Members
    """All of the manifest, also what is only for people."""
    protocol: Protocol
    damaged: frozenset[int] = frozenset()
    """Numbers of lines that are no lines of a recording: who wrote them is not known."""
    notes: tuple[str, ...] = ()
    """What is wrong with it, each as a sentence."""


def read_recording(directory: Path) -> Recording:
    """The recording in `directory`.

    Raises:
        NoRecording: there is none.
    """
    data = _transcript(directory)
    lines, damaged = _lines(data)
    if not lines:
        raise NoRecording(f"{TRANSCRIPT} in {directory} is empty, so there is no recording to show")
    manifest, about, more = _manifest(directory)
    protocol = manifest.protocol if "protocol" in about.raw else _spoken(lines)
    torn = lines[-1].number if lines[-1].number in damaged and not data.endswith(b"\n") else None
    notes = (*_complaints(damaged, torn), *more)
    return Recording(Script(lines, manifest), about, protocol, frozenset(damaged), notes)


def _transcript(directory: Path) -> bytes:
    path = directory / TRANSCRIPT
    try:
        return content(path, LONGEST)
    except FileNotFoundError:
        found = "has no" if directory.is_dir() else "is no folder with a"
        raise NoRecording(f"{directory} {found} {TRANSCRIPT}, so there is no recording to show") from None
    except OSError as error:
        raise NoRecording(f"{path} cannot be read: {error.strerror or error}") from None


def _lines(data: bytes) -> tuple[tuple[Line, ...], list[int]]:
    """The lines, and the numbers of those that are none of a recording."""
    lines: list[Line] = []
    damaged: list[int] = []
    # Only LF ends a line: a frame may hold any other separator inside its strings.
    for number, piece in enumerate(data.split(b"\n"), 1):
        if not piece.strip():
            continue
        try:
            lines.append(read_line(number, piece))
        except ScriptError:
            damaged.append(number)
            lines.append(Line(number, "server", piece.decode("utf-8", "replace"), None))
    return tuple(lines), damaged


def _complaints(damaged: list[int], torn: int | None) -> list[str]:
    notes = []
    if torn is not None:
        damaged = damaged[:-1]
        notes.append(f"Line {torn}, the last one, is torn: the recording was ended in the middle of it.")
    if damaged:
        numbers = ", ".join(map(str, damaged[:_NAMED])) + (", ..." if len(damaged) > _NAMED else "")
        what = f"Line {numbers} is" if len(damaged) == 1 else f"Lines {numbers} are"
        notes.append(f"{what} not of the form of a recording, and shown as found.")
    return notes


def _manifest(directory: Path) -> tuple[Manifest, Members, list[str]]:
    path = directory / MANIFEST
    try:
        data = content(path, _LONGEST_MANIFEST)
        return msgspec.json.decode(data, type=Manifest), Members(decode_json(data)), []
    except FileNotFoundError:
        return Manifest(), Members({}), []
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        return Manifest(), Members({}), [f"{MANIFEST} cannot be used: {why or error}"]


def _spoken(lines: tuple[Line, ...]) -> Protocol:
    """Told from how the conversation was opened: only ACP names a `protocolVersion` there (`acp.md §2`)."""
    for line in lines:
        if line.direction == "client" and line.frame is not None and shape_of(line.frame) == "request":
            return "acp" if "protocolVersion" in Members(line.frame.get("params")).raw else "msp"
    return "msp"
