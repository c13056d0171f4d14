"""W3C trace context in the `_meta` of a request (`acp.md §13`)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MAX_TRACESTATE = 512
"""Characters of `tracestate`; what W3C asks everyone to pass on at least."""

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)


class TraceContext(msgspec.Struct, frozen=True):
    """A valid `traceparent` and the `tracestate` that came with it."""

    traceparent: str
    tracestate: str | None = None

    def wire(self) -> dict[str, str]:
        """As an object with the members that are there."""
        if self.tracestate is None:
            return {"traceparent": self.traceparent}
        return {"traceparent": self.traceparent, "tracestate": self.tracestate}


def read_trace(params: dict[str, Any]) -> TraceContext | None:
    """The trace context of a request, None if there is none or it is malformed. Never raises."""
    meta = params.get("_meta")
    if type(meta) is not dict:
        return None
    parent = meta.get("traceparent")
    if type(parent) is not str or _TRACEPARENT.fullmatch(parent) is None:
        return None
    state = meta.get("tracestate")
    usable = type(state) is str and 0 < len(state) <= MAX_TRACESTATE and state.isprintable() and state.isascii()
    return TraceContext(parent, state if usable else None)
