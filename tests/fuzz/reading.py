"""What a target makes of the bytes it is given."""

from __future__ import annotations

from typing import Any

from adapter.wire.framing import decode_json


def values(data: bytes) -> list[Any]:
    """The JSON values of the lines, as the wire reads them; what is none is passed over."""
    found = []
    for line in data.split(b"\n"):
        try:
            found.append(decode_json(line))
        except ValueError:
            continue
    return found


def objects(data: bytes) -> list[dict[str, Any]]:
    """Those of the values that are objects."""
    return [value for value in values(data) if isinstance(value, dict)]


class Choices:
    """Bytes as a row of decisions; when they are used up, every decision is the first one."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def below(self, number: int) -> int:
        """One of so many, from 0 on."""
        if not self:
            return 0
        self._at += 1
        return self._data[self._at - 1] % number

    def yes(self) -> bool:
        return self.below(2) == 1

    def text(self) -> str:
        """A few letters."""
        return "".join("abé🌳"[self.below(4)] for _ in range(1 + self.below(3)))
