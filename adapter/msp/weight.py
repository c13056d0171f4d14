"""How much memory what a host has sent takes, so that what is kept of it can be bounded by that and not by a count."""

from __future__ import annotations

from sys import getsizeof
from typing import Any


def weight(value: Any, most: int) -> int:
    """About how many bytes a value from JSON takes; counting ends above `most`, so that it takes no longer than what
    may be kept is worth."""
    total, parts = 0, [value]
    for part in parts:
        total += getsizeof(part)
        if total > most:
            break
        kind = type(part)
        if kind is dict:
            # The keys are few and shared.
            parts += part.values()
        elif kind is list:
            parts += part
    return total
