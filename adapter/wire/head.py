"""The beginning of a JSON object whose rest was thrown away: enough to tell which message was too long.

No I/O in it.
"""

from __future__ import annotations

from typing import Any

from adapter.wire.framing import decode_json


def scan_head(prefix: bytes) -> dict[str, Any]:
    """The top-level members that can be read from the beginning of a cut JSON object.

    A member whose value the cut falls into is there with value None; what follows is not there at all. Never raises.
    """
    text = prefix.decode("utf-8", "replace")
    members: dict[str, Any] = {}
    at = _skip_blank(text, 0)
    if at >= len(text) or text[at] != "{":
        return members
    at += 1
    while True:
        at = _skip_blank(text, at)
        key_end = _value_end(text, at)
        if key_end is None or text[at : at + 1] != '"':
            return members
        key = _decoded(text[at:key_end])
        at = _skip_blank(text, key_end)
        if type(key) is not str or text[at : at + 1] != ":":
            return members
        at = _skip_blank(text, at + 1)
        value_end = _value_end(text, at)
        if value_end is None:
            members[key] = None
            return members
        members[key] = _decoded(text[at:value_end])
        at = _skip_blank(text, value_end)
        if text[at : at + 1] != ",":
            return members
        at += 1


def _decoded(text: str) -> Any:
    try:
        return decode_json(text.encode())
    except ValueError:
        return None


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r":
        at += 1
    return at


def _value_end(text: str, at: int) -> int | None:
    """Where the JSON value that begins at `at` ends, or None if the text ends first."""
    depth = 0
    in_string = False
    while at < len(text):
        char = text[at]
        if in_string:
            if char == "\\":
                at += 1
            elif char == '"':
                in_string = False
                if depth == 0:
                    return at + 1
        elif char == '"':
            in_string = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            if depth == 0:
                return at
            depth -= 1
            if depth == 0:
                return at + 1
        elif depth == 0 and char in ",:":
            return at
        at += 1
    return None
