"""The ranges of versions in a package's metadata, as far as this project writes them: `anyio>=4.10,<5`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Final

_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9][\w.-]*)\s*([<>=!,.\s\d]*)")
_BOUND: Final = re.compile(r"(>=|<=|==|!=|<|>)\s*(\d+(?:\.\d+)*)")
_RELEASE: Final = re.compile(r"\d+(?:\.\d+)*")

_COMPARES: Final[dict[str, Callable[[int, int], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def requirement(line: str) -> tuple[str, str] | None:
    """Name and range of a line of `Requires-Dist`; None if it holds only under conditions, as extras do."""
    found = _REQUIREMENT.match(line)
    return None if found is None or ";" in line else (found[1], found[2].replace(" ", ""))


def lies_in(version: str, wanted: str) -> bool:
    """Whether the release of `version` lies in a range. What is no version lies in none."""
    release = _RELEASE.match(version)
    return release is not None and all(
        _COMPARES[sign](_compared(release[0], bound), 0) for sign, bound in _BOUND.findall(wanted)
    )


def _compared(one: str, other: str) -> int:
    """Below, equal or above 0, as `one` is to `other`; a part that is missing is 0."""
    for left, right in zip_longest(map(int, one.split(".")), map(int, other.split(".")), fillvalue=0):
        if left != right:
            return left - right
    return 0
