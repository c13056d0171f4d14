"""What the cards of a session have in common."""

from __future__ import annotations

import msgspec


class CardStyle(msgspec.Struct, frozen=True):
    """What the cards of one session depend on beside their items: what relative paths start from, whether the client
    may read stored output, and how a person reads it on a command line, None if that cannot work on this host.

    `terminals`: the client shows the output of commands in terminals; `compactions`: it shows compactions in its own
    way; `tasks`: it is told of work that outlives turns (`acp.md §6, §20`, `peers.md §2`).
    """

    session_id: str
    workspace: str
    output_offered: bool = False
    output_command: str | None = None
    terminals: bool = False
    compactions: bool = False
    tasks: bool = False
