"""What the cards of a session have in common."""

from __future__ import annotations

import msgspec


class CardStyle(msgspec.Struct, frozen=True):
    """What the cards of one session depend on beside their items: what relative paths start from, whether the client
    may read stored output, and how a person reads it on a command line, None if that cannot work on this host."""

    session_id: str
    workspace: str
    output_offered: bool = False
    output_command: str | None = None
