"""Why `muse-adapter output` has nothing to show, in the words of its command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from adapter.wire.envelope import RpcError, too_long

_FOR_CLIENTS: Final = frozenset({"retryable", "pagesScanned", "eventsScanned", "historyExhausted"})
"""Members of an error that say nothing that its sentence does not say."""


class Failed(Exception):
    """Why there is nothing to show: a stable word, and a sentence for people."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(f"{reason}: {details}")
        self.reason = reason


def failed(error: RpcError, frame_cap: int) -> Failed:
    """The error of a read from hosts of which lines up to `frame_cap` bytes are taken."""
    data = dict(error.data or {})
    reason, details = str(data.pop("reason", "internal")), str(data.pop("details", error.message))
    own = _own_words(reason, data, frame_cap)
    if own is not None:
        return Failed(reason, own)
    more = [f"{name} {_spelled(value)}" for name, value in data.items() if not _is_said(name, value, details)]
    again = "; it may work the next time" if data.get("retryable") is True else ""
    return Failed(reason, details + (f" ({', '.join(more)})" if more else "") + again)


def _own_words(reason: str, data: Mapping[str, Any], frame_cap: int) -> str | None:
    """What is told otherwise than to a client, which has no command line."""
    match reason:
        case "offsetInsideCharacter" if "alignedNextOffset" in data:
            following = data["alignedNextOffset"]
            return f"--offset is inside a character; the next one that can be read from is {_spelled(following)}"
        case "offsetInsideCharacter":
            return "--offset is inside a character, and Muse does not say which one could be read from"
        case "offsetOutOfRange":
            return f"--offset is beyond the output's {_spelled(data['byteLen'])} bytes"
        case "pieceTooLarge":
            return "Muse cannot send that many bytes at once; read fewer, with --offset and --length"
        case "hostStartTimeout":
            seconds = _spelled(data["budgetSeconds"])
            return f"Muse was not ready within {seconds} s; --startup-timeout sets how long it may take"
        case "workspaceMismatch":
            return "Muse names no folder of the session, or another one than when the reading began"
        case "inconsistentPage" if data.get("problem") == too_long(frame_cap):
            return f"Muse's answer is longer than the {frame_cap} bytes that --msp-frame-cap allows"
        case _:
            return None


def _is_said(name: str, value: object, details: str) -> bool:
    """Whether the sentence says it already, or there is nothing to say."""
    if name in _FOR_CLIENTS or value is None:
        return True
    said = value if isinstance(value, str) else _spelled(value)
    return re.search(rf"(?<!\w){re.escape(said)}(?!\w)", details) is not None


def _spelled(value: object) -> str:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return msgspec.json.encode(whole).decode()
