"""The bridge's outgoing side with nobody behind it: a session's events go in, and what a client would be told has to
be something that can be written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

from adapter.acp.updates import TextChunk
from adapter.bridge.projection import Projection
from adapter.bridge.session_state.facts import Facts
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.diffs import Diffs
from adapter.bridge.tool_cards.tasks import Tasks
from adapter.msp.changes import Change, TurnEnded, TurnStarted
from adapter.msp.session import Session
from adapter.msp.view import SessionView
from adapter.wire.background import Background
from adapter.wire.envelope import notification_object
from adapter.wire.framing import ACP_OUTBOUND_CAP, encode_frame
from adapter.wire.peer import Peer


class ClientScreen:
    """One session on screen. It stands in for the peer, the background and the session that the parts work with."""

    handshake = None
    gone = None
    generation = "g"

    def __init__(self) -> None:
        self.session_id = "s"
        self.view = SessionView("s", page_limit=5)
        self.told: list[dict[str, Any]] = []
        self.started: list[Callable[[], Awaitable[object]]] = []
        style = CardStyle("s", "/srv/demo", output_offered=True, terminals=True, compactions=True, tasks=True)
        peer, background, session = cast(Peer, self), cast(Background, self), cast(Session, self)
        self.tasks = Tasks(session, background, lambda: None)
        diffs = Diffs("/srv/demo", lambda: ("/srv/demo",), self._nothing_stored)
        self.projection = Projection(style, peer, background, diffs, self.tasks.meta)
        notices = Notices("s", peer, shown=True, in_turn=lambda: True)
        self.facts = Facts(session, peer, notices, background)

    # -- what the parts use

    @property
    def fold(self) -> Any:
        return self.view.fold

    @property
    def host(self) -> Any:
        return self

    def scrub(self, text: str) -> str:
        return text

    def notify(self, method: str, params: dict[str, Any]) -> None:
        encode_frame(notification_object(method, params), ACP_OUTBOUND_CAP)
        self.told.append(params)

    def notify_mergeable(self, chunk: TextChunk) -> None:
        self.notify("session/update", chunk.params())

    def start(self, function: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        self.started.append(partial(function, *arguments))

    async def _nothing_stored(self, item: dict[str, Any]) -> list[dict[str, Any]]:
        return []

    # -- what a target does

    def show(self, changes: Sequence[Change]) -> None:
        """As a conversation does."""
        for change in changes:
            self.facts.hear(change)
            if isinstance(change, TurnStarted):
                self.projection.in_turn = True
            self.projection.show(change)
            self.facts.show(change)
            if isinstance(change, TurnEnded):
                self.projection.close_turn(change.turn_id)
                self.projection.in_turn = False
