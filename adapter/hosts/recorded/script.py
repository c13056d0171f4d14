"""A recording on disk: `transcript.ndjson`, one `{"dir","raw"}` object a line, and a `manifest.json` beside it.

This is the form of the official transcripts (`msp.md §31`). `raw` is the exact text of one frame without its LF.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from adapter.wire.framing import MSP_FRAME_CAP, decode_json

TRANSCRIPT = "transcript.ndjson"
MANIFEST = "manifest.json"
UNKNOWN_VERSION = "unknown"

Shape = Literal["request", "notification", "answer"]


class ScriptError(ValueError):
    """The directory holds no recording that can be played; the message says what is wrong with it."""


class ServerConfig(msgspec.Struct, frozen=True, rename="camel"):
    """How the recorded host was configured."""

    frame_limit_bytes: int = MSP_FRAME_CAP


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """What is known about a recording; members not listed here are for people.

    `variables` are paths in client frames (`params.workspaceRoot`) whose value is the player's client's own. What the
    host said with the recorded value, it then says with the client's.
    """

    provenance: Any = "unknown"
    description: str = ""
    protocol: Literal["msp", "acp"] = "msp"
    """What was spoken: `server` is a Muse host, or an ACP agent."""
    version_output: str | None = None
    """What `muse --version` printed; without it the handshake's version is printed."""
    server_config: ServerConfig = msgspec.field(default_factory=ServerConfig)
    variables: frozenset[str] = frozenset()


class Line(msgspec.Struct, frozen=True):
    """One line of a transcript; `frame` is None where a host wrote something that is no JSON object. `at_ms` is when it
    came, in milliseconds from the first line on, where the recording says so (`atMs`)."""

    number: int
    direction: Literal["client", "server"]
    raw: str
    frame: dict[str, Any] | None
    at_ms: int | None = None


class Script(msgspec.Struct, frozen=True):
    """A recording that can be played."""

    lines: tuple[Line, ...]
    manifest: Manifest = Manifest()

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
    """Read the recording in `directory`; the manifest may be missing.

    Raises:
        ScriptError: there is none, or it is damaged.
    """
    try:
        text = (directory / TRANSCRIPT).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"{TRANSCRIPT} in {directory} cannot be read: {error}") from None
    # Only LF ends a line: a frame may hold any other separator inside its strings.
    lines = tuple(_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    if not any(line.direction == "client" for line in lines):
        raise ScriptError(f"{TRANSCRIPT} in {directory} holds no client frame")
    return Script(lines, _manifest(directory))


def _line(number: int, text: str) -> Line:
    try:
        entry = decode_json(text.encode())
        direction, raw = entry["dir"], entry["raw"]
    except (ValueError, TypeError, KeyError):
        raise ScriptError(f'{TRANSCRIPT} line {number} is no {{"dir","raw"}} object') from None
    if direction not in ("client", "server") or not isinstance(raw, str):
        raise ScriptError(f'{TRANSCRIPT} line {number}: "dir" must be client or server, "raw" a string')
    frame = _frame(raw)
    if frame is None and direction == "client":
        raise ScriptError(f"{TRANSCRIPT} line {number}: the client's frame is no JSON object")
    at_ms = entry.get("atMs")
    return Line(number, direction, raw, frame, at_ms if type(at_ms) is int else None)


def _frame(raw: str) -> dict[str, Any] | None:
    try:
        value = decode_json(raw.removesuffix("\r").encode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _manifest(directory: Path) -> Manifest:
    path = directory / MANIFEST
    if not path.exists():
        return Manifest()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise ScriptError(f"{MANIFEST} in {directory} cannot be used: {error}") from None


def _at(value: Any, *path: str) -> Any:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
