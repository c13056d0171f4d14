"""A frame without what is somebody's own: secrets, text, names, paths. What is not known to be harmless is replaced.

Ids, methods, kinds, cursors, statuses and numbers stay, so that the recording still plays and can be read. There are
two kinds of stand-in:

- A text that is one thing (a path, a title, a prompt) is replaced by letters that depend on it and on a key that nobody
  keeps: within a recording the same text has the same stand-in, and nothing leads back. Of a path, each part is.
- A text that comes in pieces (what a model says, what a command writes) is replaced character by character by one that
  takes as many bytes, line breaks apart: pieces still add up to the whole, and are as long as the numbers say.

No I/O in it.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import Any, Final

import orjson

from adapter.hosts.recorder.harmless import (
    ARGUMENTS,
    FACT,
    FACTS,
    ID,
    IDS,
    LEFT_OUT,
    OBJECTS,
    OPEN,
    QUESTION_NAMES,
    REASONS,
    STREAMED,
    TIME,
    TIMES,
    TOOL_NAMES,
    TOOLS,
    WORD,
    WORDS,
)

SHORTEST: Final = 8
"""Letters of the shortest stand-in: with fewer, different texts would often have the same."""

MOST_VARIABLES: Final = 1000
"""Paths that are remembered as the client's own; a frame with names that a user chose could make any number."""

_LETTERS: Final = bytes(ord("a") + number % 26 for number in range(256))
_SEPARATOR: Final = re.compile(r"([/\\])")
_KEPT_PARTS: Final = re.compile(r"|\.\.?|~|[A-Za-z]:|file:|https?:")
_MASKED: Final = (
    (re.compile("[^\n\u0080-\U0010ffff]"), "x"),
    (re.compile("[\u0080-\u07ff]"), "é"),
    (re.compile("[\u0800-\uffff]"), "字"),
    (re.compile("[\U00010000-\U0010ffff]"), "😀"),
)


class Redactor:
    """Redacts the frames of one recording.

    `variables` are the paths in client frames where something was replaced: there, a client that plays the recording
    has something of its own to say.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key
        self.variables: set[str] = set()

    def frame(self, frame: dict[str, Any], *, of_client: bool) -> dict[str, Any]:
        """The frame as it may be kept."""
        return _Walk(self, of_client).object_(frame, "", "")

    def line(self, text: str) -> str:
        """A line that is no frame, as it may be kept."""
        return masked(text)

    def stand_in(self, text: str) -> str:
        """Letters in the place of a text; parts of a path each by themselves."""
        if "\n" in text:
            return self._letters(text)
        return "".join(
            part if at % 2 or _KEPT_PARTS.fullmatch(part) else self._letters(part)
            for at, part in enumerate(_SEPARATOR.split(text))
        )

    def hidden(self, value: Any) -> Any:
        """A value of which nothing is known: numbers are replaced too, and names, unless everybody has them."""
        if isinstance(value, str):
            return self.stand_in(value)
        if isinstance(value, dict):
            return {
                name if name in ARGUMENTS else self._letters(name): self.hidden(member)
                for name, member in value.items()
            }
        if isinstance(value, list):
            return [self.hidden(item) for item in value]
        if isinstance(value, bool) or value is None:
            return value
        return self._number(value)

    def _letters(self, text: str) -> str:
        data = text.encode("utf-8", "replace")
        return self._digest(data, max(SHORTEST, len(data))).translate(_LETTERS).decode() if data else ""

    def _number(self, value: int | float) -> int | float:
        if isinstance(value, float):
            return 0.5
        digits = len(str(abs(value)))
        if digits == 1:
            return value
        least: int = 10 ** (digits - 1)
        drawn = int.from_bytes(self._digest(str(value).encode(), 16))
        # orjson writes no more than 63 bits of either sign.
        return min(least + drawn % (9 * least), 2**63 - 1)

    def _digest(self, data: bytes, length: int) -> bytes:
        return hashlib.shake_256(self._key + data).digest(length)


class _Walk:
    """One way through one frame."""

    def __init__(self, redactor: Redactor, of_client: bool) -> None:
        self._redactor = redactor
        self._of_client = of_client
        self._of_user = of_client
        """Whether text is what the user said: that is one thing wherever it is."""

    def object_(self, value: dict[str, Any], parent: str, path: str) -> dict[str, Any]:
        of_user = self._of_user
        if value.get("kind") == "userMessage" or value.get("sessionUpdate") == "user_message_chunk":
            self._of_user = True
        redacted = {}
        for name, member in value.items():
            if name in LEFT_OUT:
                continue
            known = name if WORD.fullmatch(name) or name == "_meta" else self._redactor.stand_in(name)
            redacted[known] = self._member(member, name, parent, f"{path}.{known}" if path else known)
        self._of_user = of_user
        return redacted

    def _member(self, value: Any, name: str, parent: str, path: str) -> Any:
        if isinstance(value, str):
            return self._text(value, name, parent, path)
        if name not in OPEN:
            if isinstance(value, list):
                return [self._member(item, name, parent, f"{path}[*]") for item in value]
            if not isinstance(value, dict):
                return value
            if name in OBJECTS and (name != "content" or "type" in value):
                return self.object_(value, name, path)
        return self._replaced(self._redactor.hidden(value), path)

    def _text(self, text: str, name: str, parent: str, path: str) -> str:
        if not text or _is_harmless(text, name, parent):
            return text
        if name in STREAMED and not self._of_user:
            return masked(text)
        if name in OPEN and (value := _json(text)) is not None:
            return str(self._replaced(orjson.dumps(self._redactor.hidden(value)).decode(), path))
        return str(self._replaced(self._redactor.stand_in(text), path))

    def _replaced(self, value: Any, path: str) -> Any:
        if self._of_client and len(self._redactor.variables) < MOST_VARIABLES:
            self._redactor.variables.add(path)
        return value


def masked(text: str) -> str:
    """`text` with a character of as many bytes in the place of each; line breaks stay, and the end of base64."""
    end = len(text.rstrip("="))
    if len(text) - end > 2:
        end = len(text)
    mask = text[:end]
    if mask.isascii():
        return "\n".join("x" * len(line) for line in mask.split("\n")) + text[end:]
    for those, this in _MASKED:
        mask = those.sub(this, mask)
    return mask + text[end:]


def _is_harmless(text: str, name: str, parent: str) -> bool:
    if (name in WORDS or (parent, name) in REASONS) and WORD.fullmatch(text):
        return True
    if name in IDS and ID.fullmatch(text):
        return not (name == "id" and parent in QUESTION_NAMES)
    if (parent, name) in FACTS:
        return FACT.fullmatch(text) is not None
    if name in TOOL_NAMES:
        return text in TOOLS
    return name in TIMES and TIME.fullmatch(text) is not None


def _json(text: str) -> Any:
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None
