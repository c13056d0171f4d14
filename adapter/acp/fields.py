"""Reading the members of one JSON object, with complaints that name the field by its path.

Three kinds of member (`acp.md §16`): what is required or decides something is read strictly, what may be absent reads
`null` as absent, and what merely describes (`label`) is dropped when it is not as expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapter.acp import errors
from adapter.wire.envelope import RpcError

MAX_ID_LENGTH = 1024
"""Characters of an opaque id; ids are remembered and echoed, so they must not be as long as a message."""


class Fields:
    """The members of `members`, which stands at `path` in the params; the empty path is the params themselves."""

    __slots__ = ("_members", "path")

    def __init__(self, members: dict[str, Any], path: str = "") -> None:
        self._members = members
        self.path = path

    def path_of(self, name: str) -> str:
        """Where the member `name` stands."""
        return f"{self.path}.{name}" if self.path else name

    def refuse(self, name: str, problem: str) -> RpcError:
        """The error to raise about the member `name`."""
        return errors.invalid_params(self.path_of(name), problem)

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        return self._members.get(name) is not None

    def value(self, name: str) -> Any:
        """The member as it is, None if it is absent."""
        return self._members.get(name)

    def string(self, name: str) -> str:
        """A required string."""
        value = self._members.get(name)
        if type(value) is str:
            return value
        raise self.refuse(name, "is required" if value is None else "must be a string")

    def optional_string(self, name: str) -> str | None:
        """A string, or None for null and absent."""
        return self.string(name) if self.has(name) else None

    def id(self, name: str) -> str:
        """A required opaque id: 1 to 1,024 characters, kept as it is."""
        value = self.string(name)
        if 1 <= len(value) <= MAX_ID_LENGTH:
            return value
        raise self.refuse(name, f"must have 1 to {MAX_ID_LENGTH} characters")

    def label(self, name: str) -> str | None:
        """A descriptive string; anything else counts as absent."""
        value = self._members.get(name)
        return value if type(value) is str else None

    def object(self, name: str) -> Fields:
        """A required object."""
        value = self._members.get(name)
        if type(value) is dict:
            return Fields(value, self.path_of(name))
        raise self.refuse(name, "is required" if value is None else "must be an object")

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list; null and absent read as an empty list."""
        for index, value in enumerate(self._list(name)):
            path = f"{self.path_of(name)}[{index}]"
            if type(value) is not dict:
                raise errors.invalid_params(path, "must be an object")
            yield Fields(value, path)

    def strings(self, name: str) -> tuple[str, ...]:
        """The strings of a list; null and absent read as an empty list."""
        values = self._list(name)
        for index, value in enumerate(values):
            if type(value) is not str:
                raise errors.invalid_params(f"{self.path_of(name)}[{index}]", "must be a string")
        return tuple(values)

    def _list(self, name: str) -> list[Any]:
        value = self._members.get(name)
        if value is None:
            return []
        if type(value) is list:
            return value
        raise self.refuse(name, "must be a list")
