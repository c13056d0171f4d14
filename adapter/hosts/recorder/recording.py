"""What is kept of a conversation as it goes by. Whatever happens to the recording, the conversation goes on.

A line is on disk before it is passed on: of what the other side has seen, a crash loses nothing, and the order is one
in which things can have happened. Nothing is kept of a run in which the client says no frame: that was no conversation
(`muse --version`).
"""

from __future__ import annotations

import base64
import contextlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVarTuple

import orjson

from adapter.hosts.recorder.folder import Folder
from adapter.hosts.recorder.handshake import FRAME_CAPS, Handshake, Protocol, json_object, plain
from adapter.hosts.recorder.lines import LineCutter, RawLine
from adapter.hosts.recorder.redact import Redactor
from adapter.wire.framing import MSP_FRAME_CAP

Direction: TypeAlias = Literal["client", "server"]
Arguments = TypeVarTuple("Arguments")

PROVENANCE: Final = "host-recorded"

PRELUDE_BYTES: Final = 1024 * 1024
"""How much of what goes by before the client's first frame is held back until then, because it may be no conversation.
If it is more, the last of it is."""

VARIABLES: Final[dict[Protocol, tuple[str, ...]]] = {
    "msp": ("params.capabilities", "params.workspaceRoot", "params.workspaceRoots[*]"),
    "acp": ("params.additionalDirectories[*]", "params.clientCapabilities", "params.cwd", "params.mcpServers"),
}
"""What another client says in its own way, so that the recording plays in another folder."""

VERSION: Final = re.compile(r"Muse Code \d[\w.+-]{0,40}(?: \(\d[\w.+-]{0,60}\))?", re.ASCII)
"""What Muse prints as its version; anything else is not kept if text is replaced."""

_BRACE: Final = ord("{")
_BORDER: Final = "\U0010ffff"


class Recording:
    """Takes the bytes of both directions, from any thread. Never raises; says on `say` once if it has to end."""

    def __init__(self, out: Path, redactor: Redactor | None, say: Callable[[str], None]) -> None:
        self._out = out
        self._redactor = redactor
        self._say = say
        self._lock = threading.Lock()
        self._over = False
        self._folder: Folder | None = None
        self._prelude: deque[tuple[Direction, bytes]] = deque()
        self._prelude_bytes = 0
        self._left_out = 0
        self._cutters = {"client": LineCutter(), "server": LineCutter()}
        self._handshake = Handshake()
        self._frames = {"client": 0, "server": 0}
        self._began: float | None = None
        self._at_ms = 0
        self._version_output: str | None = None
        self._serve_flags: list[str] | None = None
        self._described: dict[str, Any] = {}
        self._ended: dict[str, int] | None = None

    @property
    def of_muse_host(self) -> bool:
        """Whether the handshake has shown that a Muse host is recorded."""
        return self._handshake.protocol == "msp" and self._handshake.done

    def take(self, direction: Direction, data: bytes) -> None:
        """Keep what is about to be passed on."""
        self._safely(self._cut, direction, data)

    def end_of(self, direction: Direction) -> None:
        """This direction has ended: what came without LF was a line."""
        self._safely(self._keep, direction, self._cutters[direction].end())

    def told_version(self, output: str) -> None:
        """What the recorded host prints when it is asked for its version."""
        known = self._redactor is None or VERSION.fullmatch(output)
        self._version_output = plain(output) if known else None
        self._safely(self._describe)

    def told_flags(self, flags: list[str]) -> None:
        """What the `serve` of the recorded host can be started with."""
        self._serve_flags = flags
        self._safely(self._describe)

    def ended_by_itself(self, code: int) -> None:
        """How the command has ended, though its input had not; negative for a signal."""
        self._ended = {"exitCode": code} if code >= 0 else {"signal": -code}

    def close(self) -> None:
        """It is over; nothing that comes later is kept."""
        self._safely(self._describe, True)
        with self._lock:
            self._end()

    def _safely(self, work: Callable[[*Arguments], object], *arguments: *Arguments) -> None:
        with self._lock:
            if self._over:
                return
            try:
                work(*arguments)
            except OSError as error:
                self._give_up(f"{error.filename or self._out}: {error.strerror or error}")
            except Exception as error:
                # Its words might be somebody's.
                self._give_up(f"{type(error).__name__} in the recorder")

    def _give_up(self, problem: str) -> None:
        if self._folder is not None and not self._described:
            self._folder.abandon()
        self._end()
        self._say(f"the recording ends here, what is recorded goes on: {problem}")

    def _end(self) -> None:
        self._over = True
        self._prelude.clear()
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.close()
            self._folder = None

    # -- lines

    def _cut(self, direction: Direction, data: bytes) -> None:
        cutter = self._cutters[direction]
        begun, block = cutter.feed(data)
        self._keep(direction, begun)
        if not block:
            return
        if self._redactor is None and self._folder is not None and self._handshake.done:
            self._tell_time()
            entries = entries_at_once(direction, block, self._at_ms)
            if entries is not None:
                self._frames[direction] += block.count(b"\n")
                return self._folder.append(entries)
        self._keep(direction, cutter.lines_of(block))

    def _tell_time(self) -> None:
        now = time.monotonic()
        if self._began is None:
            self._began = now
        self._at_ms = int((now - self._began) * 1000)

    def _keep(self, direction: Direction, lines: list[RawLine]) -> None:
        if not lines:
            return
        self._tell_time()
        news = False
        entries = []
        for line in lines:
            entry, shown = self._entry(direction, line)
            # What may not be in the transcript may not be in the manifest.
            news |= self._handshake.notice(direction, shown)
            entries.append(entry)
        self._frames[direction] += len(lines)
        if self._folder is None:
            if direction != "client" or not any(json_object(line.data) for line in lines):
                return self._hold(direction, entries)
            self._folder = Folder.claim(self._out)
            news = True
            entries[:0] = [entry for _, entry in self._prelude]
            self._prelude.clear()
            if self._left_out:
                self._say(f"{self._left_out} lines from before the client's first frame are not in the recording")
        # First, because a recording without it would not be known to be redacted.
        if news or self._variables() != self._described.get("variables"):
            self._describe()
        self._folder.append(b"".join(entries))

    def _hold(self, direction: Direction, entries: list[bytes]) -> None:
        self._prelude.extend((direction, entry) for entry in entries)
        self._prelude_bytes += sum(map(len, entries))
        while self._prelude_bytes > PRELUDE_BYTES:
            by, entry = self._prelude.popleft()
            self._prelude_bytes -= len(entry)
            self._frames[by] -= 1
            self._left_out += 1

    def _entry(self, direction: Direction, line: RawLine) -> tuple[bytes, bytes]:
        """The line for the transcript, and in it the line itself."""
        try:
            text, exact = line.data.decode(), None
        except UnicodeDecodeError:
            text, exact = line.data.decode("utf-8", "replace"), line.data
        entry: dict[str, Any] = {"dir": direction, "raw": text}
        shown = line.data
        if self._redactor is not None:
            entry["raw"] = _redacted(self._redactor, direction, line, text)
            shown = entry["raw"].encode()
        elif exact is not None:
            entry["base64"] = base64.b64encode(exact).decode()
        if not line.whole:
            entry["bytes"] = line.length
        entry["atMs"] = self._at_ms
        return orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE), shown

    # -- manifest

    def _describe(self, ended: bool = False) -> None:
        if self._folder is None:
            return
        handshake, protocol = self._handshake, self._handshake.protocol
        what = {"msp": "a Muse host", "acp": "an ACP agent", None: "a conversation without a handshake"}[protocol]
        about: dict[str, Any] = {
            "scenario": self._folder.path.name,
            "description": f"Recorded by muse-adapter record: {what}.",
            "provenance": PROVENANCE,
            "redacted": self._redactor is not None,
            "recordedAt": date.today().isoformat(),
            "protocol": protocol or "msp",
            "host": handshake.host or None,
            "versionOutput": self._version_output,
            "serveFlags": self._serve_flags,
            "schema": handshake.schema,
            "serverConfig": {"frameLimitBytes": FRAME_CAPS[protocol] if protocol else MSP_FRAME_CAP},
            "variables": self._variables(),
        }
        if ended:
            about["ended"] = self._ended
            about["frames"] = self._frames
            about["durationMs"] = self._at_ms
        about = {name: value for name, value in about.items() if value is not None}
        self._folder.write_manifest(about)
        self._described = about

    def _variables(self) -> list[str]:
        variables = set(VARIABLES.get(self._handshake.protocol or "msp", ()))
        return sorted(variables if self._redactor is None else variables | self._redactor.variables)


def entries_at_once(direction: Direction, block: bytes, at_ms: int) -> bytes | None:
    """The entries of many lines, made from all of them at once: a stream must not wait for its recording. None if not
    every line is one that can be an object."""
    if block[0] != _BRACE or block.count(b"\n{") + 1 != block.count(b"\n"):
        return None
    try:
        text = block.decode()
    except UnicodeDecodeError:
        return None
    if _BORDER in text:
        return None
    # The border is a character that JSON writes as it is, so that it still is one between two strings.
    raws = orjson.dumps(text[:-1].replace("\n", _BORDER))[1:-1]
    before, after = b'{"dir":"%b","raw":"' % direction.encode(), b'","atMs":%d}\n' % at_ms
    return before + raws.replace(_BORDER.encode(), after + before) + after


def _redacted(redactor: Redactor, direction: Direction, line: RawLine, text: str) -> str:
    frame = json_object(line.data) if line.whole else None
    if frame is None:
        return redactor.line(text)
    try:
        return orjson.dumps(redactor.frame(frame, of_client=direction == "client")).decode()
    except (RecursionError, TypeError):
        # Nested too deep to be written again.
        return redactor.line(text)
