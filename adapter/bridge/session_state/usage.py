"""What a session has used, from what the host says of its context and its tokens (`msp.md §18`, `acp.md §6`). Pure.

Numbers that are none are left out and noted: not a number, infinite, negative, a truth value (`fault-cases.md B6`).
"""

from __future__ import annotations

import logging
import math
from typing import Final

from adapter.acp import updates
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

KEY: Final = "muse/usage"
"""The member of `_meta` that holds the host's own counts (`peers.md §2.2`)."""

MAX_COUNT: Final = 2**53 - 1
"""The largest number every client can count to."""

_CUMULATIVE: Final = ("promptTokens", "outputTokens", "totalTokens", "cacheReadTokens", "cacheWriteTokens")
_PRESSURES: Final = frozenset({"normal", "warning", "blocked"})


class UsageMeter:
    """The present state of one session. A number the host leaves out stays as it was; a new context window has to be
    told again."""

    def __init__(self) -> None:
        self._used: int | None = None
        self._stale = False
        self._size: int | None = None
        self._pressure: str | None = None
        self._cumulative: dict[str, int] = {}
        self._cost: float | None = None
        self._partial = False

    def take_context(self, params: Params) -> None:
        """What `session/contextUsage` says."""
        used, size, pressure = _count(params, "usedTokens"), _count(params, "windowTokens"), params.get("pressure")
        self._used, self._stale = (self._used, self._stale) if used is None else (used, False)
        # Some hosts say 0 for a size they do not know.
        self._size = size or self._size
        self._pressure = pressure if isinstance(pressure, str) and pressure in _PRESSURES else None

    def take_tokens(self, params: Params) -> None:
        """What `session/tokenUsage` says: only the sums, which replace the earlier ones (`peers.md §17`, trap 12)."""
        cumulative = params.get("cumulative")
        if not isinstance(cumulative, dict):
            return
        counts = {name: _count(cumulative, name) for name in _CUMULATIVE}
        self._cumulative |= {name: count for name, count in counts.items() if count is not None}
        cost = cumulative.get("cost")
        if isinstance(cost, dict) and (amount := _amount(cost)) is not None:
            self._cost, self._partial = amount, cost.get("partial") is True

    def distrust_context(self) -> None:
        """The context has been shortened; what it holds now has to be told."""
        self._stale = True

    def trust_context(self) -> None:
        """The context is as it was told last."""
        self._stale = False

    def forget_size(self) -> None:
        """Another model has another window."""
        self._size = None

    def update(self, session_id: str) -> Params | None:
        """The update to send; None while the size or the use of the context is not known (`acp.md §25`, point 87)."""
        if self._used is None or self._stale or not self._size:
            return None
        context: Params = {"usedTokens": self._used, "windowTokens": self._size}
        if self._pressure is not None:
            context["pressure"] = self._pressure
        own: Params = {"scope": "session", "context": context}
        if self._cumulative:
            own["cumulative"] = dict(self._cumulative)
        if self._cost is not None and self._partial:
            own["costIsPartial"] = True
        return updates.usage(session_id, self._used, self._size, cost=self._cost, meta={KEY: own})


def _count(members: Params, name: str) -> int | None:
    value = members.get(name)
    if value is None:
        return None
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return value
    log.warning("%s is no number of tokens and is left out", name)
    return None


def _amount(cost: Params) -> float | None:
    value = cost.get("usd")
    if value is None:
        return None
    if type(value) in (int, float) and math.isfinite(value) and value >= 0:
        return float(value)
    log.warning("the cost is no amount of money and is left out")
    return None
