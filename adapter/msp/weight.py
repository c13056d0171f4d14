"""How much memory what a host has sent takes, so that what is kept of it can be bounded by that and not by a count."""

from __future__ import annotations

from sys import getsizeof
from typing import Any


def weight(value: Any, most: int) -> int:
    """About how many bytes a value from JSON takes; counting ends above `most`, so that it takes no longer than what
    may be kept is worth."""
    total, rest = 0, [value]
    while rest and total <= most:
        part = rest.pop()
        total += getsizeof(part)
        if isinstance(part, dict):
            # The keys are few and shared.
            rest.extend(part.values())
        elif isinstance(part, list):
            rest.extend(part)
    return total
