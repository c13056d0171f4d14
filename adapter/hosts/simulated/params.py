"""Reading request parameters: each function gives the member or refuses the request (`msp.md §7`, invalidParams)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from adapter.hosts.simulated.errors import invalid
from adapter.wire.envelope import Params

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
APPROVAL_MODES: Final = ("allowAll", "promptUnmatched", "onRequest", "denyUnmatched")


def text(params: Params, field: str) -> str:
    """A string that must be there."""
    value = params.get(field)
    if type(value) is not str:
        raise invalid(field, "a string is required")
    return value


def optional_text(params: Params, field: str) -> str | None:
    """A string, if there is one; null counts as none."""
    return None if params.get(field) is None else text(params, field)


def word(params: Params, field: str, allowed: Collection[str], default: str | None = None) -> str:
    """One word of a closed vocabulary."""
    if field not in params and default is not None:
        return default
    value = text(params, field)
    if value not in allowed:
        raise invalid(field, f"{value!r} is none of {', '.join(sorted(allowed))}")
    return value


def number(params: Params, field: str, low: int, high: int, default: int | None = None) -> int:
    """An integer in a range."""
    if field not in params and default is not None:
        return default
    value = params.get(field)
    if type(value) is not int or not low <= value <= high:
        raise invalid(field, f"an integer from {low} to {high} is required")
    return value


def flag(params: Params, field: str, default: bool) -> bool:
    """A boolean."""
    value = params.get(field, default)
    if type(value) is not bool:
        raise invalid(field, "a boolean is required")
    return value


def table(params: Params, field: str) -> dict[str, Any]:
    """An object that must be there."""
    value = params.get(field)
    if type(value) is not dict:
        raise invalid(field, "an object is required")
    return value


def rows(params: Params, field: str) -> list[dict[str, Any]]:
    """A list of objects that must be there."""
    value = params.get(field)
    if type(value) is not list or any(type(row) is not dict for row in value):
        raise invalid(field, "a list of objects is required")
    return value
