"""How much memory what a host has sent takes, so that what is kept of it can be bounded by that and not by a count."""

from __future__ import annotations

from sys import getsizeof
from typing import Any, Final

_HOLDERS: Final = frozenset({dict, list})


def weight(value: Any, most: int) -> int:
    """About how many bytes a value from JSON takes; counting ends above `most`, so that it takes no longer than what
    may be kept is worth."""
    total, holders = getsizeof(value), [value]
    for holder in holders:
        if total > most:
            break
        # The keys of an object are few and shared.
        parts = holder.values() if type(holder) is dict else holder if type(holder) is list else ()
        total += sum(map(getsizeof, parts))
        if not _HOLDERS.isdisjoint(map(type, parts)):
            holders += [part for part in parts if type(part) in _HOLDERS]
    return total
