"""Members of what a host sends, where they are of the type that is expected; else nothing."""

from __future__ import annotations

from typing import Any


def object_in(value: object) -> dict[str, Any]:
    """An object; an empty one in the place of anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list; none of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
