"""Remarks about the session that are neither an answer nor a card: a retry, a model that is not served."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from adapter.acp import updates
from adapter.acp.text import one_line
from adapter.msp.ids import uuid7
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

MAX_DESCRIPTION: Final = 500


class Notices:
    """Where remarks go: to a client that shows them as such, else into a thought of the turn that runs, else only into
    the log, since text without a prompt belongs to nobody (`acp.md §25`, point 89; `fault-cases.md H5`)."""

    def __init__(self, session_id: str, peer: Peer, *, shown: bool, in_turn: Callable[[], bool]) -> None:
        self._session_id = session_id
        self._peer = peer
        self._shown = shown
        self._in_turn = in_turn

    def tell(self, title: str, description: str | None = None, severity: updates.Severity = "warning") -> None:
        """Say it once. `title` is a sentence, `description` what stands behind it."""
        description = one_line(description, MAX_DESCRIPTION) if description else None
        text = f"{title}: {description}" if description else title
        if self._shown:
            self._peer.notify(updates.METHOD, updates.notice(self._session_id, severity, title, description))
        elif self._in_turn():
            # A message of its own: it must not run into the model's thoughts.
            self._peer.notify_mergeable(updates.TextChunk(self._session_id, "agent_thought_chunk", text, uuid7()))
        else:
            # Without what stands behind it: those are words of a host.
            log.warning("%s", title)
