"""A recording on disk: `transcript.ndjson`, one `{"dir","raw"}` object a line, and a `manifest.json` beside it.

This is the form of the official transcripts (`msp.md §31`). `raw` is the exact text of one frame without its LF. Our
recorder adds members for what is more than that: `atMs`, and for lines that are no frame `base64`, the exact bytes of
a line that is not UTF-8, and `bytes`, the length of a line of which only the beginning was kept.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Literal

import msgspec

from adapter.wire.framing import MSP_FRAME_CAP, decode_json
from adapter.wire.regular_files import NotRegular, open_regular

TRANSCRIPT = "transcript.ndjson"
MANIFEST = "manifest.json"
UNKNOWN_VERSION = "unknown"

TRANSCRIPT_BYTES = 512 * 1024 * 1024
MANIFEST_BYTES = 16 * 1024 * 1024
"""The longest that are read: all of it is in memory while it plays."""

Shape = Literal["request", "notification", "answer"]


class ScriptError(ValueError):
    """The directory holds no recording that can be played; the message says what is wrong with it."""


class ServerConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How the recorded host was configured."""

    frame_limit_bytes: int = MSP_FRAME_CAP


class Ended(msgspec.Struct, frozen=True, rename="camel"):
    """How a command ended that ended by itself, before its input did: with a code, or by a signal."""

    exit_code: int | None = None
    signal: int | None = None

    @property
    def code(self) -> int:
        """As `subprocess` has it: negative for a signal."""
        return -self.signal if self.signal else self.exit_code or 0


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """What is known about a recording; members not listed here are for people.

    `variables` are paths in client frames (`params.workspaceRoot`, `params.input[*].text`) whose value is the player's
    client's own. What the host said with the recorded value, it then says with the client's.
    """

    provenance: Any = "unknown"
    description: str = ""
    protocol: Literal["msp", "acp"] = "msp"
    """What was spoken: `server` is a Muse host, or an ACP agent."""
    version_output: str | None = None
    """What `muse --version` printed; without it the handshake's version is printed."""
    serve_flags: tuple[str, ...] = ()
    """What the recorded host's `serve` could be started with."""
    server_config: ServerConfig = msgspec.field(default_factory=ServerConfig)
    variables: frozenset[str] = frozenset()
    ended: Ended | None = None
    """None if it ended because its input did, or if that is not known."""


class Line(msgspec.Struct, frozen=True):
    """One line of a transcript; `frame` is None where somebody wrote something that is no JSON object.

    `at_ms` is when it came, in milliseconds from the first line on, where the recording says so. `data` are its exact
    bytes where `raw` cannot hold them, and `length` those it had where only its beginning is there.
    """

    number: int
    direction: Literal["client", "server"]
    raw: str
    frame: dict[str, Any] | None
    at_ms: int | None = None
    data: bytes | None = None
    length: int | None = None

    def written(self) -> bytes:
        """The bytes that were written, without LF."""
        return self.raw.encode("utf-8", "replace") if self.data is None else self.data


class Script(msgspec.Struct, frozen=True):
    """A recording that can be played. `note` says what is missing of it, None if nothing is."""

    lines: tuple[Line, ...]
    manifest: Manifest = Manifest()
    note: str | None = None

    def host_version(self) -> str:
        """What the host said about itself in the handshake: `serverInfo.version`."""
        for line in self.lines:
            if line.direction == "server" and line.frame is not None:
                version = _at(line.frame, "result", "serverInfo", "version")
                if isinstance(version, str):
                    return version
        return UNKNOWN_VERSION


def shape_of(frame: dict[str, Any]) -> Shape:
    """Which of the three a frame is; an error response is an answer too."""
    if "method" not in frame:
        return "answer"
    return "request" if "id" in frame else "notification"


def load_script(directory: Path) -> Script:
    """Read the recording in `directory`; the manifest may be missing, and the last line torn: that is how a recorder
    leaves it that was killed while it wrote.

    Raises:
        ScriptError: there is none, or it is damaged.
    """
    data = read_whole(directory / TRANSCRIPT, TRANSCRIPT_BYTES)
    # Only LF ends a line: a frame may hold any other separator inside its strings.
    texts = data.split(b"\n")
    note = None
    if texts[-1].strip() and not _is_json(texts[-1]):
        note = f"{TRANSCRIPT} ends in the middle of line {len(texts)}, which is left out"
        del texts[-1]
    lines = tuple(read_line(number, text) for number, text in enumerate(texts, 1) if text.strip())
    if not any(line.direction == "client" and line.frame is not None for line in lines):
        raise ScriptError(f"{TRANSCRIPT} in {directory} holds no client frame")
    return Script(lines, _manifest(directory), note)


def read_whole(path: Path, most: int) -> bytes:
    """A file of `most` bytes at most. Anything else that can be opened might never end, or never begin.

    Raises:
        ScriptError: it cannot be read, or is none.
    """
    try:
        with open_regular(path) as file:
            # It may grow while it is read.
            data = file.read(most + 1)
    except NotRegular:
        raise ScriptError(f"{path.name} in {path.parent} is no file") from None
    except OSError as error:
        raise ScriptError(f"{path.name} in {path.parent} cannot be read: {error.strerror or error}") from None
    if len(data) > most:
        raise ScriptError(f"{path.name} in {path.parent} is longer than {most >> 20} MiB")
    return data


def read_line(number: int, text: bytes) -> Line:
    """One line of a transcript.

    Raises:
        ScriptError: it is none.
    """
    try:
        entry = decode_json(text)
        direction, raw = entry["dir"], entry["raw"]
    except (ValueError, TypeError, KeyError):
        raise ScriptError(f'{TRANSCRIPT} line {number} is no {{"dir","raw"}} object') from None
    if direction not in ("client", "server") or not isinstance(raw, str):
        raise ScriptError(f'{TRANSCRIPT} line {number}: "dir" must be client or server, "raw" a string')
    at_ms, length = _integer(entry.get("atMs")), _integer(entry.get("bytes"))
    data = _bytes(number, entry.get("base64"))
    frame = _frame(raw) if data is None and length is None else None
    return Line(number, direction, raw, frame, at_ms, data, length)


def _integer(value: Any) -> int | None:
    return value if type(value) is int else None


def _bytes(number: int, value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        raise ScriptError(f'{TRANSCRIPT} line {number}: "base64" cannot be read') from None


def _is_json(text: bytes) -> bool:
    try:
        decode_json(text)
    except ValueError:
        return False
    return True


def _frame(raw: str) -> dict[str, Any] | None:
    try:
        # The mark may stand before the first line of a stream, and is no part of its frame.
        value = decode_json(raw.removeprefix("\ufeff").removesuffix("\r").encode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    if not path.exists():
        return Manifest()
    try:
        return msgspec.json.decode(read_whole(path, MANIFEST_BYTES), type=Manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ScriptError(f"{MANIFEST} in {directory} cannot be used: {error}") from None


def _at(value: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
