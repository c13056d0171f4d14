"""When a card may be drawn again. Pure: the time is passed in, whoever draws keeps the clock.

ACP can only replace a card's text as a whole, so each drawing costs what the card shows, however little of it is new.
Each byte of output earns two to draw with, and time earns as many as draw one full card in `FRESH_SECONDS`: what is
written for a card stays about twice its output however it comes (`fault-cases.md P1`), and a trickle on a large card
still shows soon.
"""

from __future__ import annotations

import math
from typing import Final

from adapter.bridge.bounded_text import CARD_TEXT_BYTES

INTERVAL: Final = 0.05
"""Seconds between two drawings of a card; eyes follow no faster (`fault-cases.md P3`)."""

FRESH_SECONDS: Final = 2.0
"""No later than this after the last drawing something new is shown."""

MOST_CREDIT: Final = CARD_TEXT_BYTES + 16 * 1024
"""Bytes of drawing that can be saved up: one full card and some small ones."""

_RATE: Final = CARD_TEXT_BYTES / FRESH_SECONDS


class Throttle:
    """The budget of one card; times are in seconds of any one clock, sizes in bytes."""

    __slots__ = ("_counted", "_credit", "_drawn")

    def __init__(self) -> None:
        self._credit = float(MOST_CREDIT)
        self._counted = -math.inf
        self._drawn = -math.inf

    def earn(self, size: int) -> None:
        """So much output has come."""
        self._credit = min(self._credit + 2 * size, MOST_CREDIT)

    def due(self, now: float, cost: int) -> float:
        """When the card may be drawn, at this cost: `now` or later."""
        self._count(now)
        lacking = max(cost - self._credit, 0.0)
        affordable = min(now + lacking / _RATE, max(now, self._drawn + FRESH_SECONDS))
        return max(affordable, self._drawn + INTERVAL)

    def drawn(self, now: float, cost: int) -> None:
        """The card has been drawn."""
        self._count(now)
        self._credit = max(self._credit - cost, 0.0)
        self._drawn = now

    def _count(self, now: float) -> None:
        """Add what time has earned."""
        if now > self._counted:
            self._credit = min(self._credit + (now - self._counted) * _RATE, MOST_CREDIT)
            self._counted = now
