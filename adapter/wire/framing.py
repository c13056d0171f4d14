"""Bytes to lines and frames to bytes: newline-delimited JSON without any I/O in it.

Rules (`msp.md §2, §24`, `acp.md §1`): UTF-8, one JSON value a line, split on the byte LF only. One CR before the LF
is tolerated on input and never written; blank lines and one leading byte order mark are ignored. A line over the cap
costs bounded memory: its bytes are dropped up to the next LF, and only a prefix is kept so that the peer can still be
told which request was too large.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec
import orjson

MSP_FRAME_CAP = 10 * 1024 * 1024
"""Bytes of one MSP line, both directions; the host's own default (`msp.md §24`)."""

ACP_FRAME_CAP = 32 * 1024 * 1024
"""Bytes of one ACP line we accept; the limit the reference TypeScript SDK has (`acp.md §1`)."""

ACP_OUTBOUND_CAP = 10 * 1024 * 1024
"""Bytes of one ACP line we write; the smallest reader in the field stops at 10 MiB (`acp.md §0`)."""

PREFIX_BYTES = 8 * 1024
"""How much of an over-cap line is kept to recover its `id` from."""

DEEPEST = 200
"""Levels of a value that is read; deeper ones are refused. What is read is told on a few levels further down, where
orjson writes 254, and everything that walks through a value would need a bound of its own."""

LONG_LINE = 256 * 1024
"""Bytes from which a line is not copied where that can be avoided."""

Line: TypeAlias = bytes | bytearray
"""A line without its LF; a `bytearray` if it is long."""

_BOM = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_WHOLE_CHARACTERS = re.compile(
    rb"(?:[^\\]++|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(?!u[dD][89a-fA-F][\da-fA-F]{2}).)*+",
    re.DOTALL,
)
_HALF = len(r"\ud800")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LEVELS_BELOW = 254 - DEEPEST


class Oversize(msgspec.Struct, frozen=True):
    """A line that was longer than the cap and has been thrown away; `prefix` holds its first bytes."""

    prefix: bytes
    cap: int


class FrameTooLarge(ValueError):
    """A frame we were about to write is above the peer's cap. Nothing has been written."""

    def __init__(self, size: int, cap: int) -> None:
        super().__init__(f"a frame of {size} bytes is above the limit of {cap} bytes")
        self.size = size
        self.cap = cap


class TooDeep(ValueError):
    """A value is nested deeper than `DEEPEST`. It has been read all the same, so that it can be told what it is."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"nested deeper than {DEEPEST} levels")
        self.value = value


class FrameDecoder:
    """Cuts a byte stream into lines, whatever the borders of the reads are.

    Feed it what arrived; each call gives the complete lines in order, without LF, trailing CR and leading byte order
    mark, or an `Oversize` in the place of a line above `cap` bytes. Never raises, never keeps more than `cap` bytes of
    an unfinished line, however small the pieces are that it arrives in.
    """

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._prefix_bytes = min(PREFIX_BYTES, cap)
        self._held = bytearray()
        self._at_start = True
        self.dropped = 0
        """Bytes thrown away so far of a line that is too long and has not ended yet; else 0."""

    def feed(self, data: bytes) -> list[Line | Oversize]:
        """The lines that `data` completes."""
        lines: list[Line | Oversize] = []
        if b"\n" not in data:
            self._hold(data)
            return lines
        pieces = data.split(b"\n")
        tail = pieces.pop()
        if self._held:
            self._hold(pieces[0])
            self._finish(lines)
            del pieces[0]
        if self._at_start or len(data) > self._cap or b"\r" in data:
            for piece in pieces:
                self._emit(piece, lines)
        else:
            # The common case, kept fast: nothing to strip, nothing can be too long.
            lines += [piece for piece in pieces if piece and not piece.isspace()]
        self._hold(tail)
        return lines

    def end(self) -> list[Line | Oversize]:
        """The last line, if the stream ended without an LF after it."""
        lines: list[Line | Oversize] = []
        if self._held:
            self._finish(lines)
        return lines

    def _hold(self, piece: bytes) -> None:
        if self.dropped:
            self.dropped += len(piece)
            return
        self._held += piece
        # Slack for what does not count as content: the CR of a CRLF, and the mark before the first line.
        if len(self._held) > self._cap + 1 + (len(_BOM) if self._at_start else 0):
            if self._at_start and self._held.startswith(_BOM):
                del self._held[: len(_BOM)]
            self.dropped = len(self._held) - self._prefix_bytes
            del self._held[self._prefix_bytes :]

    def _finish(self, lines: list[Line | Oversize]) -> None:
        line: Line
        if len(self._held) < LONG_LINE:
            line = bytes(self._held)
            self._held.clear()
        else:
            line, self._held = self._held, bytearray()
        if self.dropped:
            self.dropped = 0
            self._at_start = False
            lines.append(Oversize(bytes(line), self._cap))
        else:
            self._emit(line, lines)

    def _emit(self, line: Line, lines: list[Line | Oversize]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if line.endswith(b"\r"):
            line = line[:-1]
        if len(line) > self._cap:
            lines.append(Oversize(bytes(line[: self._prefix_bytes]), self._cap))
        elif line and not line.isspace():
            lines.append(line)


def decode_json(line: Line) -> Any:
    """The JSON value of one line.

    A lone surrogate escape becomes U+FFFD, since half a character must neither end a connection nor travel on.

    Raises:
        TooDeep: it is nested deeper than anything that is said.
        ValueError: not JSON, not UTF-8, or a number JSON does not have (`NaN`, `1e999`).
    """
    try:
        value = orjson.loads(line)
    except ValueError:
        if _SURROGATE_ESCAPE.search(line) is None:
            raise
        value = orjson.loads(_whole_characters(line))
    if _may_be_deep(line):
        _require_shallow(value)
    return value


def _whole_characters(line: Line) -> bytes:
    """The line with U+FFFD in the place of each escape that is half a character: orjson refuses those."""
    pieces: list[Line] = []
    at = 0
    while (whole := _WHOLE_CHARACTERS.match(line, at)) is not None and whole.end() + _HALF <= len(line):
        pieces += [line[at : whole.end()], rb"\ufffd"]
        at = whole.end() + _HALF
    return b"".join([*pieces, line[at:]])


def _may_be_deep(line: Line) -> bool:
    """Whether more is opened in a line than may be open at once. Searching is much faster than counting where little is
    found, as in a page of base64."""
    if len(line) < 2 * DEEPEST:
        return False
    left = DEEPEST
    for opening in (b"{", b"["):
        at = line.find(opening)
        while at >= 0:
            left -= 1
            if left < 0:
                return True
            at = line.find(opening, at + 1)
    return False


def _require_shallow(value: Any) -> None:
    below = value
    for _ in range(_LEVELS_BELOW):
        below = [below]
    try:
        orjson.dumps(below)
    except TypeError:
        raise TooDeep(value) from None


def encode_frame(frame: dict[str, Any], cap: int) -> bytes:
    """One line with its LF: compact, UTF-8 as it is, no NaN, no lone surrogate.

    Raises:
        FrameTooLarge: the line would be above `cap` bytes.
        TypeError: the frame holds something JSON cannot express, or is nested deeper than about 250 levels.
    """
    try:
        line = orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # orjson refuses lone surrogates; anything else it refuses is refused again.
        line = orjson.dumps(_writable(frame), option=orjson.OPT_APPEND_NEWLINE)
    if len(line) - 1 > cap:
        raise FrameTooLarge(len(line) - 1, cap)
    return line


def _writable(frame: dict[str, Any]) -> Any:
    try:
        return _without_surrogates(frame)
    except RecursionError:
        raise TypeError("nested too deep") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(member) for member in value]
    return value
