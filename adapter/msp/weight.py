"""How much memory what a host has sent takes, so that what is kept of it can be bounded by that and not by a count."""

from __future__ import annotations

from sys import getsizeof
from typing import Any, Final

SHORT_TEXT: Final = 64
"""Characters below which a text is not asked for its size: most are short, and asking takes the most time here."""

SHORT_TEXT_BYTES: Final = 100


def weight(value: Any, most: int) -> int:
    """About how many bytes a value from JSON takes; counting ends above `most`, so that it takes no longer than what
    may be kept is worth."""
    total, parts = 0, [value]
    for part in parts:
        kind = type(part)
        total += SHORT_TEXT_BYTES if kind is str and len(part) < SHORT_TEXT else getsizeof(part)
        if total > most:
            break
        if kind is dict:
            # The keys are few and shared.
            parts += part.values()
        elif kind is list:
            parts += part
    return total
