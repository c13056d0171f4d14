"""A frame without what is somebody's own: secrets, text, names, paths. What is not known to be harmless is replaced.

Ids, methods, kinds, cursors, statuses and numbers stay, so that the recording still plays and can be read: where the
protocols have them, and nowhere else. The names of members stay where the protocols say them. There are two kinds of
stand-in:

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
from pathlib import Path
from typing import Any, Final

import orjson

from adapter.hosts.recorder.harmless import ARGUMENTS, FACT, ID, METHOD, TIME, TOOLS, WORD

SHAPES: Final = Path(__file__).with_name("shapes.json")
"""What may stand where; `tests/write_shapes.py` says how it is written."""

SHORTEST: Final = 8
"""Letters of the shortest stand-in: with fewer, different texts would often have the same."""

MOST_VARIABLES: Final = 1000
LONGEST_VARIABLE: Final = 1000
"""Paths that are remembered as the client's own, and their characters; a frame could have any number, of any length."""

MOST_OPEN: Final = 10_000
"""Requests whose answers are waited for; of the answer to an older one nothing is known."""

LEFT_OUT: Final = frozenset(["digest"])
"""Members that would tell by themselves what was in a text, and would be wrong about its stand-in."""

ARGUMENTS_KIND: Final = "a"
STREAMED: Final = "s"
METHODS: Final = "m"
PARAMS: Final = "c"
UNKNOWN: Final = ("*",)

_LETTERS: Final = bytes(ord("a") + number % 26 for number in range(256))
_SEPARATOR: Final = re.compile(r"([/\\])")
_KEPT_PARTS: Final = re.compile(r"|\.\.?|~|[A-Za-z]:|file:|https?:")
_MASKED: Final = (
    (re.compile("[^\n\u0080-\U0010ffff]"), "x"),
    (re.compile("[\u0080-\u07ff]"), "é"),
    (re.compile("[\u0800-\uffff]"), "字"),
    (re.compile("[\U00010000-\U0010ffff]"), "😀"),
)


Members = dict[str, tuple[str, ...]]
"""What may stand in each member of an object."""


class Shapes:
    """What is known of frames of both protocols."""

    def __init__(self) -> None:
        known = orjson.loads(SHAPES.read_bytes())
        self.reasons: Final = frozenset(known["reasons"])
        self.methods: Final[dict[str, list[str]]] = known["methods"]
        self._types: Final[dict[str, dict[str, str]]] = known["types"]
        self._merged: dict[tuple[str, ...], Members] = {}

    def members(self, kinds: tuple[str, ...]) -> Members | None:
        """The members of an object that is of one of these types; None if no object is expected."""
        if kinds not in self._merged:
            named = [self._types[kind] for kind in kinds if kind in self._types]
            if not named:
                return None
            merged: dict[str, set[str]] = {}
            for members in named:
                for name, text in members.items():
                    merged.setdefault(name, set()).update(text.split("|"))
            self._merged[kinds] = {name: tuple(sorted(those)) for name, those in merged.items()}
        return self._merged[kinds]

    def of_method(self, method: Any, part: int) -> tuple[str, ...]:
        """What its params are, or its result."""
        about = self.methods.get(method) if isinstance(method, str) else None
        return UNKNOWN if about is None else tuple(about[part].split("|"))

    def keeps(self, text: str, kinds: tuple[str, ...]) -> bool:
        """Whether a text is what a program writes where one of these is expected."""
        return (
            ("w" in kinds and WORD.fullmatch(text) is not None)
            or ("i" in kinds and ID.fullmatch(text) is not None)
            or ("t" in kinds and TIME.fullmatch(text) is not None)
            or ("f" in kinds and FACT.fullmatch(text) is not None)
            or ("b" in kinds and text in TOOLS)
            or ("r" in kinds and text in self.reasons)
        )


class Redactor:
    """Redacts the frames of one recording, in their order.

    `variables` are the paths in client frames where something was replaced: there, a client that plays the recording
    has something of its own to say.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = os.urandom(32) if key is None else key
        self._shapes = Shapes()
        self._open: dict[tuple[bool, Any], str] = {}
        """What each side was asked by the other, by its id."""
        self.variables: set[str] = set()

    def frame(self, frame: dict[str, Any], *, of_client: bool) -> dict[str, Any]:
        """The frame as it may be kept."""
        walk = _Walk(self, self._shapes, of_client)
        members = dict(self._shapes.members(("Frame",)) or {})
        method, frame_id = frame.get("method"), frame.get("id")
        if isinstance(frame_id, str | int):
            if isinstance(method, str):
                self._asked(of_client, frame_id, method)
            else:
                asked = self._open.pop((not of_client, frame_id), "")
                members["result"] = self._shapes.of_method(asked, 1)
        return walk.object_(frame, members, "")

    def method(self, method: str) -> str:
        """A method as it may be kept: an extension of somebody's keeps its underscore, and how many parts it has."""
        if method in self._shapes.methods or METHOD.fullmatch(method):
            return method
        return "_" + self.stand_in(method[1:]) if method.startswith("_") else self.stand_in(method)

    def _asked(self, by_client: bool, frame_id: str | int, method: str) -> None:
        self._open[by_client, frame_id] = method
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]

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

    def hidden(self, value: Any, names: frozenset[str] = frozenset()) -> Any:
        """A value of which nothing is known: numbers are replaced too, and names, except these."""
        if isinstance(value, str):
            return self.stand_in(value)
        if isinstance(value, dict):
            return {
                name if name in names else self.stand_in(name): self.hidden(member, names)
                for name, member in value.items()
            }
        if isinstance(value, list):
            return [self.hidden(item, names) for item in value]
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

    def __init__(self, redactor: Redactor, shapes: Shapes, of_client: bool) -> None:
        self._redactor = redactor
        self._shapes = shapes
        self._of_client = of_client
        self._of_user = of_client
        """Whether text is what the user said: that is one thing wherever it is."""

    def object_(self, value: dict[str, Any], members: Members, path: str) -> dict[str, Any]:
        """An object of which these members are known."""
        of_user = self._of_user
        if value.get("kind") == "userMessage" or value.get("sessionUpdate") == "user_message_chunk":
            self._of_user = True
        redacted = {}
        for name, member in value.items():
            if name in LEFT_OUT:
                continue
            if name not in members:
                known = self._redactor.stand_in(name)
                redacted[known] = self._replaced(self._redactor.hidden(member), _below(path, known))
                continue
            kinds = members[name]
            if PARAMS in kinds:
                kinds = self._shapes.of_method(value.get("method"), 0)
            redacted[name] = self.value(member, kinds, _below(path, name))
        self._of_user = of_user
        return redacted

    def value(self, value: Any, kinds: tuple[str, ...], path: str) -> Any:
        """What stands where one of these is expected."""
        if isinstance(value, str):
            return self._text(value, kinds, path)
        if isinstance(value, list) and kinds != UNKNOWN and ARGUMENTS_KIND not in kinds:
            return [self.value(item, kinds, f"{path}[*]") for item in value]
        if isinstance(value, dict):
            if (members := self._shapes.members(kinds)) is not None:
                return self.object_(value, members, path)
            inner = tuple(kind[1:-1] for kind in kinds if kind.startswith("{"))
            if inner:
                # Names may be anybody's; what they name is the protocol's.
                return self._replaced(
                    {self._redactor.stand_in(name): self.value(member, inner, path) for name, member in value.items()},
                    path,
                )
        elif value is None or isinstance(value, bool) or "n" in kinds:
            return value
        names = ARGUMENTS if ARGUMENTS_KIND in kinds else frozenset[str]()
        return self._replaced(self._redactor.hidden(value, names), path)

    def _text(self, text: str, kinds: tuple[str, ...], path: str) -> str:
        if not text or self._shapes.keeps(text, kinds):
            return text
        if METHODS in kinds:
            return self._redactor.method(text)
        if STREAMED in kinds and not self._of_user:
            return masked(text)
        if ARGUMENTS_KIND in kinds and (value := _json(text)) is not None:
            return str(self._replaced(orjson.dumps(self._redactor.hidden(value, ARGUMENTS)).decode(), path))
        return str(self._replaced(self._redactor.stand_in(text), path))

    def _replaced(self, value: Any, path: str) -> Any:
        variables = self._redactor.variables
        if self._of_client and len(variables) < MOST_VARIABLES and len(path) <= LONGEST_VARIABLE:
            variables.add(path)
        return value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


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


def _json(text: str) -> Any:
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None
