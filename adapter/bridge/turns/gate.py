"""The gate that a session's events pass on their way in, so that each is acted on when it may be shown."""

from __future__ import annotations

import logging
from collections import deque

from adapter.msp.host import Sink
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")


class EventGate:
    """Hands events to `receive`, in order and at once, unless something holds them back.

    It is held while a session is opened, since nothing may be shown of it before the client has its answer, and from
    the end of a turn to the answer of its prompt, so that nothing of the next turn comes before that (`acp.md §25`,
    point 67). Neither takes long, so what waits is not bounded here; the host's pipe is.
    """

    def __init__(self, receive: Sink) -> None:
        self._receive = receive
        self._waiting: deque[tuple[str, Params]] = deque()
        self._holds = 0
        self._handing = False

    def receive(self, method: str, params: Params) -> None:
        """Take in an event."""
        if self._holds or self._waiting:
            self._waiting.append((method, params))
        else:
            self._receive(method, params)

    def hold(self) -> None:
        """Keep what comes from now on; as often as it is held, it has to be released."""
        self._holds += 1

    def drop_streamed(self, cursor: str) -> None:
        """Drop the deltas among what waits, up to the event at `cursor`: what they brought is known. If that event is
        not among them, they all come after it."""
        known = next((at for at, (_, params) in enumerate(self._waiting) if params.get("viewCursor") == cursor), -1)
        kept = [event for at, event in enumerate(self._waiting) if at > known or event[0] != "item/delta"]
        self._waiting = deque(kept)

    def release(self) -> None:
        """Let what waits pass, unless something else still holds it, or one of the events holds the rest."""
        self._holds -= 1
        if self._handing:
            return
        self._handing = True
        try:
            while self._waiting and not self._holds:
                event = self._waiting.popleft()
                try:
                    self._receive(*event)
                except Exception:
                    log.exception("a session's %s could not be handled", event[0])
        finally:
            self._handing = False
