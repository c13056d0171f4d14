"""What was settled at `initialize`, mostly with the client."""

from __future__ import annotations

import msgspec

from adapter.acp.capabilities import ClientCapabilities
from adapter.bridge.consent.room import MOST_OF_ALL, Room
from adapter.wire.framing import MSP_FRAME_CAP


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The same for all sessions of a connection, and for as long as it lives."""

    client: ClientCapabilities = ClientCapabilities()
    frame_cap: int = MSP_FRAME_CAP
    """Bytes of one line to a host."""
    output_offered: bool = False
    """Whether cards carry handles to stored output."""
    allow_all: bool = False
    """Whether the user may choose that everything is allowed; settled by how the adapter was started."""
    questions: Room = msgspec.field(default_factory=lambda: Room(MOST_OF_ALL))
    """What may be open at the client at once."""
