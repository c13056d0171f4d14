"""What differs between the connections the adapter has: one to a client, one to a host, or the stand-in's to its own
client."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from adapter.wire.envelope import Params, Reject, RpcError

log = logging.getLogger("adapter.wire")

DRAIN_SECONDS = 5.0
"""How long after end of input open requests may still be answered and the last bytes may take to leave, together
(`fault-cases.md E6`)."""

LAST_SHARE = 0.2
"""The part of it that is kept for the answers of what has to be cut."""

ENDLESS_LINE_BYTES = 128 * 1024 * 1024
"""Bytes beyond the cap after which no end of the line is expected any more and the connection counts as failed; so many
that a message which is merely too large costs only itself (`fault-cases.md A2`)."""

CANCEL_METHOD = "$/cancel_request"

CANCELLED_CODE = -32800


class PeerOptions(msgspec.Struct, frozen=True):
    """How one connection behaves."""

    name: str
    inbound_cap: int
    outbound_cap: int
    logger: logging.Logger = log
    answers_garbage: bool = True
    """Whether a line that is no frame is answered with an error: an agent does, the client of a host has nobody to
    tell."""
    on_unreadable: Callable[[bytes], None] | None = None
    """Told of each line that may have been a notification and cannot be read as one, or of its beginning if it is
    long: one that is no JSON or too long and whose id cannot be told, and one that is nested too deep. Not of JSON that
    is no message, as launchers log it, nor of bad responses or whatever names an id: those who wait are told."""
    join: Callable[[str, Params, Params], bool] | None = None
    """Asked of two notifications of one method that came right after one another, before anybody has handled the first:
    takes the later one's params into those of the earlier one, or answers False and leaves both alone."""
    refusal: Callable[[Reject], RpcError] = Reject.error
    """How such an answer looks; a protocol may have codes of its own for it."""
    cancel_method: str | None = None
    """The notification that takes a request back, both ways; None where the protocol has none."""
    cancelled_code: int = CANCELLED_CODE
    drain_seconds: float = DRAIN_SECONDS
    endless_line: int | None = ENDLESS_LINE_BYTES
    """None: a line may be as long as it likes, what is above the cap is thrown away up to its LF."""
