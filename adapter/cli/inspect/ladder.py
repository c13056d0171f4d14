"""A recording as a ladder: who said what when, in order, and what it comes to. No I/O in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from adapter.acp.text import one_line
from adapter.cli.inspect import words
from adapter.cli.inspect.acp_reader import AcpReader
from adapter.cli.inspect.ending import Ending, ending_of
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.msp_reader import MspReader
from adapter.cli.inspect.recording import Recording
from adapter.cli.inspect.story import Asked, Direction, Frame, Kind, Read, Said, Session, Shape, Story, Turn
from adapter.hosts.recorded.script import Line, shape_of
from adapter.wire.envelope import usable_id

WORDS: Final = 400
"""Characters of what an entry says."""


class Entry(msgspec.Struct, frozen=True):
    """One row: a frame, or the pieces of a text that came one right after the other."""

    numbers: tuple[int, ...]
    """Of its lines in the transcript."""
    direction: Direction
    shape: Shape
    method: str
    kind: Kind
    words: str
    at_ms: int | None
    """Since the first frame."""
    session: int | None
    turn: int | None
    failed: bool
    lacking: bool
    """Refused because it is not there, which is no failure."""
    elapsed_ms: int | None
    """Of an answer: since its request."""
    partner: int | None
    """Of an answer the line of its request, of a request that of its answer."""

    @property
    def number(self) -> int:
        return self.numbers[0]


class Totals(msgspec.Struct, frozen=True):
    """What it comes to."""

    frames: dict[Direction, int]
    sizes: dict[Direction, int]
    """Bytes of the frames, without the ends of lines."""
    lasted_ms: int | None
    timed: bool
    """Whether each frame has its time. Else only the host's notifications have one, by its clock."""
    slowest: tuple[Entry, ...]
    """Answers, the slowest first."""
    unanswered: tuple[Entry, ...]
    failed: tuple[Entry, ...]
    lacking: tuple[Entry, ...]
    probes: int
    """Questions about a session that nobody has, by which a client learns what there is."""


class Ladder(msgspec.Struct, frozen=True):
    """A recording, read."""

    entries: tuple[Entry, ...]
    sessions: tuple[Session, ...]
    turns: tuple[Turn, ...]
    asked: tuple[Asked, ...]
    reads: tuple[Read, ...]
    totals: Totals
    ending: Ending | None


_BEGINNING: Final = 80
"""Characters that are shown of a text that came in pieces."""

SLOWEST: Final = 5
"""Answers that are listed as the slowest."""


def ladder_of(recording: Recording) -> Ladder:
    """Read the lines of a recording in their order."""
    story = Story()
    lines = recording.script.lines
    times = _times(lines)
    frames = _frames(recording, times)
    reader = AcpReader(story) if recording.protocol == "acp" else MspReader(story)
    rows = [(frame, reader.said(frame) if frame.shape != "unreadable" else _unreadable(line)) for frame, line in frames]
    answered = {frame.request: (frame.number, said) for frame, said in rows if frame.request is not None}
    rows = [(frame, _completed(said, answered.get(frame.number))) for frame, said in rows]
    answers = {request: number for request, (number, _) in answered.items()}
    for frame, said in rows:
        if said.turn:
            story.turns[said.turn].first = min(story.turns[said.turn].first, frame.number)
    entries = tuple(_entries(rows, story, answers))
    return Ladder(
        entries,
        tuple(story.sessions.values()),
        tuple(story.turns.values()),
        tuple(story.asked.values()),
        tuple(story.reads.values()),
        _totals(recording, entries, times),
        ending_of(recording.script.manifest.ended),
    )


def _times(lines: Sequence[Line]) -> dict[int, int]:
    """Milliseconds since the first time there is, by number of line: when a frame was recorded, else when its host
    says that it was sent (`msp.md §3`). Times that are all the same say nothing: they were made equal afterwards."""
    found = {line.number: line.at_ms for line in lines if line.at_ms is not None}
    if not found:
        sent = {line.number: Members(line.frame).number("emittedAtMs") for line in lines if line.frame is not None}
        found = {number: at for number, at in sent.items() if at is not None}
    if len(set(found.values())) < 2:
        return {}
    first = next(iter(found.values()))
    return {number: at - first for number, at in found.items()}


def _frames(recording: Recording, times: dict[int, int]) -> list[tuple[Frame, Line]]:
    """The frames, each answer with its request: the last one of the other side with that id (`msp.md §4`)."""
    pending: dict[tuple[str, type, Any], Frame] = {}
    frames = []
    for line in recording.script.lines:
        frame = _frame(line, recording, times, pending)
        if frame.shape == "request" and line.frame is not None:
            pending[_key(line.direction, line.frame)] = frame
        frames.append((frame, line))
    return frames


def _frame(line: Line, recording: Recording, times: dict[int, int], pending: dict[Any, Frame]) -> Frame:
    direction: Direction = "unknown" if line.number in recording.damaged else line.direction
    at_ms = times.get(line.number)
    nothing = Members({})
    if line.frame is None or not _is_valid(line.frame):
        return Frame(line.number, direction, "unreadable", "", nothing, nothing, nothing, at_ms)
    shape = shape_of(line.frame)
    if shape != "answer":
        method = line.frame["method"]
        return Frame(line.number, direction, shape, method, Members(line.frame.get("params")), nothing, nothing, at_ms)
    other = "server" if line.direction == "client" else "client"
    request = pending.pop(_key(other, line.frame), None)
    elapsed = None if request is None or request.at_ms is None or at_ms is None else at_ms - request.at_ms
    return Frame(
        line.number,
        direction,
        shape,
        "" if request is None else request.method,
        nothing if request is None else request.params,
        Members(line.frame.get("result")),
        _error(line.frame),
        at_ms,
        elapsed,
        None if request is None else request.number,
    )


def _is_valid(frame: dict[str, Any]) -> bool:
    """Whether an object is a message that either side may send (`msp.md §4`)."""
    if "method" not in frame:
        return "id" in frame and ("result" in frame or "error" in frame)
    called = isinstance(frame["method"], str) and frame.get("jsonrpc") == "2.0"
    return called and ("id" not in frame or usable_id(frame["id"]) is not None)


def _error(frame: dict[str, Any]) -> Members:
    """The error of an answer; one that is no object is still an error."""
    error = frame.get("error")
    if error is None or isinstance(error, dict):
        return Members(error)
    return Members({"message": str(error)})


def _key(direction: str, frame: dict[str, Any]) -> tuple[str, type, Any]:
    """By which an answer finds its request: `1` and `"1"` are different ids."""
    request_id = frame.get("id")
    return direction, type(request_id), request_id if isinstance(request_id, (str, int)) else None


def _completed(said: Said, answer: tuple[int, Said] | None) -> Said:
    """A request that opens a session or a turn belongs to what its answer names."""
    if answer is None:
        return said
    named = answer[1]
    return msgspec.structs.replace(said, session=said.session or named.session, turn=said.turn or named.turn)


def _unreadable(line: Line) -> Said:
    if line.frame is not None:
        return Said(f"no valid frame: {words.quoted(line.raw)}", "other", failed=True)
    if line.length is None:
        return Said(f"no frame: {words.quoted(line.raw)}", "other", failed=True)
    said = f"{words.size(line.length)}, of which the beginning was kept: {words.quoted(line.raw)}"
    return Said(said, "other", failed=True)


def _entries(rows: list[tuple[Frame, Said]], story: Story, answers: dict[int, int]) -> list[Entry]:
    """A row for each frame, pieces of one text right after each other in one row."""
    entries: list[Entry] = []
    gathered: list[tuple[Frame, Said]] = []
    for frame, said in rows:
        if gathered and said.piece_of and said.piece_of == gathered[-1][1].piece_of:
            gathered.append((frame, said))
            continue
        if gathered:
            entries.append(_entry(gathered, story, answers))
        gathered = [(frame, said)]
    if gathered:
        entries.append(_entry(gathered, story, answers))
    return entries


def _entry(gathered: list[tuple[Frame, Said]], story: Story, answers: dict[int, int]) -> Entry:
    frame, said = gathered[0]
    session, turn = story.sessions.get(said.session), story.turns.get(said.turn)
    return Entry(
        tuple(one.number for one, _ in gathered),
        frame.direction,
        frame.shape,
        one_line(frame.method, WORDS),
        said.kind,
        one_line(_text(gathered) if said.piece_of else said.words, WORDS),
        frame.at_ms,
        None if session is None else session.number,
        None if turn is None else turn.number,
        said.failed,
        said.lacking,
        frame.elapsed_ms,
        frame.request if frame.shape == "answer" else answers.get(frame.number),
    )


def _text(gathered: list[tuple[Frame, Said]]) -> str:
    """Pieces of a text: of what, how much, and how it begins."""
    text = "".join(said.piece for _, said in gathered)
    in_pieces = f" in {len(gathered):,} pieces" if len(gathered) > 1 else ""
    length = words.size(len(text.encode("utf-8", "replace")))
    return f"{gathered[0][1].words}: {words.quoted(text, _BEGINNING)}, {length}{in_pieces}"


def _totals(recording: Recording, entries: tuple[Entry, ...], times: dict[int, int]) -> Totals:
    frames: dict[Direction, int] = {"client": 0, "server": 0}
    sizes: dict[Direction, int] = {"client": 0, "server": 0}
    for line in recording.script.lines:
        if line.number not in recording.damaged:
            frames[line.direction] += 1
            sizes[line.direction] += len(line.written()) if line.length is None else line.length
    answers = [entry for entry in entries if entry.elapsed_ms is not None]
    return Totals(
        frames,
        sizes,
        max(times.values()) - min(times.values()) if times else None,
        any(line.at_ms is not None for line in recording.script.lines),
        tuple(sorted(answers, key=lambda entry: -(entry.elapsed_ms or 0))[:SLOWEST]),
        tuple(entry for entry in entries if entry.shape == "request" and entry.partner is None),
        tuple(entry for entry in entries if entry.failed),
        tuple(entry for entry in entries if entry.lacking),
        sum(1 for entry in entries if entry.kind == "probe" and entry.shape == "request"),
    )
