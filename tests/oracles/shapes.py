"""Whether a decoded JSON value has the shape a `TypedDict` declares.

A checker of its own, not a library's, because the answer must name the place and because single members may be
excused: a library stops at the first missing member and knows no exceptions. Type hints are resolved once per type.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Member = tuple[str, str]
"""A type's name and one of its members: `("UserInputSettledParams", "decidedAt")`."""


class Shapes:
    """Checks values against types under one set of tolerances.

    `gaps` are required members that may be missing; `closed` refuses members the type does not declare, except those
    in `extras` and those of the types named in `bases`, which declare only what all their kinds share.
    """

    def __init__(
        self,
        gaps: frozenset[Member],
        *,
        closed: bool,
        extras: frozenset[Member] = frozenset(),
        bases: frozenset[str] = frozenset(),
    ) -> None:
        self._gaps = gaps
        self._closed = closed
        self._extras = extras
        self._bases = bases

    def check(self, value: Any, declared: Any, path: str) -> None:
        """Raises AssertionError with the path and the problem if `value` is not a `declared`."""
        for problem in self.problems(value, declared, path):
            raise AssertionError(problem)

    def problems(self, value: Any, declared: Any, path: str) -> list[str]:
        """Everything that is wrong with `value`, each with its path."""
        if declared is Any:
            return []
        if is_typeddict(declared):
            return self._object(value, declared, path)
        origin = get_origin(declared)
        if origin is Literal:
            allowed = get_args(declared)
            return [] if type(value) is str and value in allowed else [_wrong(path, f"one of {allowed}", value)]
        if origin is list:
            return self._list(value, declared, path)
        if origin is dict:
            return self._mapping(value, declared, path)
        if origin is Union or origin is UnionType:
            return self._union(value, declared, path)
        if declared is float:
            return [] if type(value) in (int, float) else [_wrong(path, "a number", value)]
        return [] if type(value) is declared else [_wrong(path, _name(declared), value)]

    def _object(self, value: Any, declared: Any, path: str) -> list[str]:
        if type(value) is not dict:
            return [_wrong(path, f"a {declared.__name__}", value)]
        members = members_of(declared)
        required = declared.__required_keys__
        found: list[str] = []
        for name in sorted(required - value.keys()):
            if (declared.__name__, name) not in self._gaps:
                found.append(f"{path}: required member {name!r} of {declared.__name__} is missing")
        for name, member in value.items():
            if name in members:
                found += self.problems(member, members[name], f"{path}.{name}")
            elif self._refuses(declared.__name__, name):
                found.append(f"{path}: {declared.__name__} declares no member {name!r}")
        return found

    def _refuses(self, type_name: str, member: str) -> bool:
        return self._closed and type_name not in self._bases and (type_name, member) not in self._extras

    def _list(self, value: Any, declared: Any, path: str) -> list[str]:
        if type(value) is not list:
            return [_wrong(path, "a list", value)]
        (item,) = get_args(declared)
        return [problem for at, each in enumerate(value) for problem in self.problems(each, item, f"{path}[{at}]")]

    def _mapping(self, value: Any, declared: Any, path: str) -> list[str]:
        if type(value) is not dict:
            return [_wrong(path, "an object", value)]
        _, member = get_args(declared)
        return [problem for name, each in value.items() for problem in self.problems(each, member, f"{path}.{name}")]

    def _union(self, value: Any, declared: Any, path: str) -> list[str]:
        arms = get_args(declared)
        if value is None:
            return [] if NoneType in arms else [_wrong(path, _name(declared), value)]
        arms = tuple(arm for arm in arms if arm is not NoneType)
        if type(value) is dict:
            # A discriminator picks its arm, so that an open last arm does not excuse what a known one refuses.
            arms = tuple(arm for arm in arms if _is_named(value, arm)) or arms
        attempts = [self.problems(value, arm, path) for arm in arms]
        return min(attempts, key=len)


@cache
def members_of(declared: Any) -> dict[str, Any]:
    """The members a `TypedDict` declares, with their resolved types."""
    return get_type_hints(declared)


def _is_named(value: dict[str, Any], arm: Any) -> bool:
    """Whether a closed one-word member of `arm` (`transport`, `family`) says the value is one of these."""
    if not is_typeddict(arm):
        return False
    words = {name: get_args(hint) for name, hint in members_of(arm).items() if get_origin(hint) is Literal}
    return any(len(allowed) == 1 and value.get(name) in allowed for name, allowed in words.items())


def _wrong(path: str, wanted: str, value: Any) -> str:
    shown = repr(value)
    return f"{path}: must be {wanted}, is {shown if len(shown) <= 80 else shown[:77] + '...'}"


def _name(declared: Any) -> str:
    return declared.__name__ if isinstance(declared, type) else str(declared).replace("muse_code_msp.", "")
