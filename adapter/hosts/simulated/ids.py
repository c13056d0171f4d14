"""The ids, times and cursors a host mints (`msp.md §4`)."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def timestamp(ms: int | None = None) -> str:
    """RFC 3339 in UTC with milliseconds."""
    moment = datetime.fromtimestamp((now_ms() if ms is None else ms) / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def uuid7() -> str:
    """A time-ordered UUID; unique, and not meant to be read."""
    value = (now_ms() & 0xFFFFFFFFFFFF) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def cursor(session_id: str, number: int) -> str:
    """The view cursor of a session's event."""
    return f"v:{session_id}:{number}"


def cursor_number(session_id: str, text: str) -> int | None:
    """Which event `text` names, or None if this host never minted it for the session."""
    head = f"v:{session_id}:"
    tail = text.removeprefix(head)
    return int(tail) if text.startswith(head) and tail.isascii() and tail.isdigit() else None
