"""Recording (`docs/recordings.md`): whatever goes by and however it is cut, what is kept is a recording that can be
read, plain ones byte for byte, and a redacted one without a word that was said."""

from __future__ import annotations

import re
import shutil
from itertools import cycle
from typing import Any, Final

from adapter.hosts.recorded.script import Script, ScriptError, load_script
from adapter.hosts.recorder.recording import Direction, Recording
from adapter.hosts.recorder.redact import Redactor
from tests.fuzz.memory import folder
from tests.fuzz.reading import objects

_PLACE: Final = folder("recorder")
_CANARY: Final = "Kanarienvogel 7f3a/gelb"
"""Words with what is no part of an id, a word, or a time of the protocols."""

_BIRD: Final = re.compile("kanarienvogel", re.IGNORECASE)


def one(data: bytes) -> None:
    """Each line begins with `C` or `S`, for who wrote what follows; its LF is written as well."""
    spoken: list[tuple[Direction, bytes]] = [
        ("client" if line[:1] == b"C" else "server", line[1:] + b"\n") for line in data.split(b"\n") if line
    ]
    sizes = [1 + byte % 50 for byte in data[:7]] or [9]
    script = _recorded(spoken, None, sizes)
    if script is not None:
        for direction in ("client", "server"):
            said = b"".join(line for by, line in spoken if by == direction)
            kept = [line.written() for line in script.lines if line.direction == direction]
            expected = [line for line in said.split(b"\n") if line and not line.isspace()]
            assert kept == expected, "what is kept is what was said"
    hidden = [(by, _with_canary(line)) for by, line in spoken]
    redacted = _recorded(hidden, Redactor(b"key"), sizes)
    if redacted is not None:
        assert len(redacted.lines) == sum(bool(line.strip()) for _, line in hidden)
        for name in ("transcript.ndjson", "manifest.json"):
            assert not _BIRD.search((_PLACE / "out" / name).read_text("utf-8", "replace")), "no word is kept"


def _recorded(spoken: list[tuple[Direction, bytes]], redactor: Redactor | None, sizes: list[int]) -> Script | None:
    shutil.rmtree(_PLACE / "out", ignore_errors=True)
    said: list[str] = []
    recording = Recording(_PLACE / "out", redactor, said.append)
    size = cycle(sizes)
    for direction, line in spoken:
        at = 0
        while at < len(line):
            step = next(size) * 20
            recording.take(direction, line[at : at + step])
            at += step
    recording.told_version("Muse Code 1.2.1 (1.2.1-R1)")
    recording.told_flags(["--no-shell"])
    recording.end_of("client")
    recording.end_of("server")
    recording.ended_by_itself(1)
    recording.close()
    assert not any("in the recorder" in words for words in said), said
    if not (_PLACE / "out").is_dir():
        return None
    try:
        return load_script(_PLACE / "out")
    except ScriptError as error:
        raise AssertionError(f"what is kept is a recording: {error}") from None


def _with_canary(line: bytes) -> bytes:
    """The line with the canary in each of its values that is a text of several words, or is said by somebody."""
    found = objects(line)
    if not found:
        return line
    return _encoded(_replaced(found[0])) + b"\n"


def _encoded(value: Any) -> bytes:
    import orjson

    return orjson.dumps(value)


def _replaced(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _replaced(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_replaced(member, name) for member in value]
    return _CANARY if isinstance(value, str) and (" " in value or name in _SAID) else value


_SAID: Final = frozenset({"text", "delta", "title", "command", "content", "path", "cwd", "workspaceRoot", "message"})
