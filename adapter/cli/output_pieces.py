"""How a range of an output is read in pieces, and whether its bytes are the right ones. Pure."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

from adapter.bridge.stored_output.contract import MAX_LENGTH
from adapter.wire.envelope import Params

CHARACTER_REST: Final = 3
"""Bytes a character of UTF-8 has at most behind its first."""

_SHA256: Final = re.compile(r"sha256:([0-9a-fA-F]{64})")


class WrongLength(ValueError):
    """An output is not as long as its reference says; the message says how."""


class Pieces:
    """The bytes from `at` up to `end`, as the host gives them: text in whole characters, binary as it comes. `total` is
    what the output's reference says it has."""

    def __init__(self, at: int, end: int, total: int) -> None:
        self.at = at
        self.end = end
        self._total = total

    @property
    def over(self) -> bool:
        """Whether all of it has been taken."""
        return self.at >= self.end

    def length(self) -> int:
        """How many bytes to ask for at `at`: a little more than is wanted, because a character may stand across the
        end, and to notice an output that goes on behind it."""
        return min(MAX_LENGTH, self.end - self.at + CHARACTER_REST)

    def take(self, page: Params) -> bytes:
        """The bytes of a checked page that belong to the range.

        Raises:
            WrongLength: the output ends before the range does, or goes on behind the end that it should have.
        """
        data = page_bytes(page)
        left = self.end - self.at
        if page["eof"] and len(data) < left:
            raise WrongLength("the output ends before the length that its reference names")
        if self.end == self._total and (len(data) > left or (len(data) == left and not page["eof"])):
            raise WrongLength("the output goes on behind the length that its reference names")
        self.at += min(left, len(data))
        return data[:left]


def page_bytes(page: Params) -> bytes:
    """The bytes in a page that has been checked."""
    content: str = page["content"]
    return base64.b64decode(content) if page["encoding"] == "base64" else content.encode()


def unfinished_character(tail: bytes) -> int:
    """How many bytes at the end of `tail` begin a character that does not end there, as an interrupted write leaves
    it: 0 to 3. A host does not read from inside a character."""
    for back in range(1, min(CHARACTER_REST, len(tail)) + 1):
        byte = tail[-back]
        if byte & 0xC0 != 0x80:
            size = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
            return back if size > back else 0
    return 0


class Checksum:
    """The digest of a whole output, if `digest` is one that is understood: `sha256:` and 64 hex digits."""

    def __init__(self, digest: str | None) -> None:
        found = _SHA256.fullmatch(digest) if digest is not None else None
        self._expected = found[1].lower() if found is not None else None
        self._seen = hashlib.sha256()

    @property
    def known(self) -> bool:
        """Whether there is something to compare with."""
        return self._expected is not None

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        if self.known:
            self._seen.update(data)

    def holds(self) -> bool:
        """Whether the bytes so far are all and the right ones; true if that cannot be told."""
        return self._expected in (None, self._seen.hexdigest())
