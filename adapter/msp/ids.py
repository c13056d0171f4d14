"""UUIDv7, the form of every id this client mints (`msp.md §4`, RFC 9562)."""

from __future__ import annotations

import os
import threading
import time
from typing import Final

# `rand_a` holds the sequence within a millisecond; when its 12 bits run over, the next millisecond is borrowed.
_SEQUENCE_BITS: Final = 12
_RANDOM_MASK: Final = (1 << 62) - 1
_VARIANT: Final = 0b10 << 62

_lock = threading.Lock()
_last_tick = 0


def uuid7() -> str:
    """A new id, greater than every id minted before by this process, also within one millisecond or when the clock
    steps back: `xxxxxxxx-xxxx-7xxx-[89ab]xxx-xxxxxxxxxxxx`."""
    global _last_tick
    with _lock:
        tick = (time.time_ns() // 1_000_000) << _SEQUENCE_BITS
        if tick <= _last_tick:
            tick = _last_tick + 1
        _last_tick = tick
    head = f"{tick:015x}"
    tail = f"{_VARIANT | (int.from_bytes(os.urandom(8)) & _RANDOM_MASK):016x}"
    return f"{head[:8]}-{head[8:12]}-7{head[12:]}-{tail[:4]}-{tail[4:]}"
