"""JSON of a recording, of which nothing is known: a member may be missing, or of any type."""

from __future__ import annotations

from typing import Any


class Members:
    """A view of a JSON object that never fails; what is no object has no members."""

    def __init__(self, value: Any) -> None:
        self.raw: dict[str, Any] = value if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self.raw)

    def text(self, *names: str) -> str:
        """The first of these members that is a text and not empty; else an empty text."""
        for name in names:
            value = self.raw.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def number(self, name: str) -> int | None:
        """An integer; times and lengths come as those."""
        value = self.raw.get(name)
        return value if type(value) is int else None

    def flag(self, name: str) -> bool:
        """Whether the member is true."""
        return self.raw.get(name) is True

    def inner(self, name: str) -> Members:
        """The object in a member."""
        return Members(self.raw.get(name))

    def objects(self, name: str) -> list[Members]:
        """The objects in a list."""
        return [Members(value) for value in self._list(name) if isinstance(value, dict)]

    def texts(self, name: str) -> list[str]:
        """The texts in a list."""
        return [value for value in self._list(name) if isinstance(value, str)]

    def _list(self, name: str) -> list[Any]:
        value = self.raw.get(name)
        return value if isinstance(value, list) else []
