"""Questions in sessions that nobody here listens to: found out whose they are, or refused, so that nothing waits for
ever (`fault-cases.md I2`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from adapter.bridge.consent.refusals import Refusals
from adapter.msp.errors import HostGone, MspError
from adapter.msp.event_routing import QUESTIONS
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Params

if TYPE_CHECKING:
    from adapter.bridge.conversation import Conversation

log = logging.getLogger("adapter.bridge")

MOST_WAITING: Final = 1000
"""Events of one session that wait until it is known whose it is; that takes one answer of the host."""

MOST_PLACED: Final = 100
"""Sessions of which it is found out at once whose they are."""

UNKNOWN: Final = "the session is not open in the editor"

Events: TypeAlias = list[tuple[str, Params]]


class StrayQuestions:
    """Places them with one of the open conversations. What a session asks that `has_closed` here is nobody's: its own
    user has left it, and nobody else may answer for it."""

    def __init__(
        self,
        conversations: Callable[[], Iterable[Conversation]],
        has_closed: Callable[[str], bool],
        background: Background,
    ) -> None:
        self._conversations = conversations
        self._has_closed = has_closed
        self._background = background
        self._refusals = Refusals(background)
        self._placing = 0

    def receive(self, host: Host, session_id: str, method: str, params: Params) -> None:
        """Take in a question of a session of this host; must not block."""
        known = [each for each in self._here(host) if each.children.knows(session_id)]
        if known:
            return known[0].children.adopt(host, session_id, [(method, params)])
        if self._placing >= MOST_PLACED:
            log.warning("many sessions that are not open here ask for something; it is refused")
            self._refusals.refuse(host, session_id, params, UNKNOWN)
            return None
        self._placing += 1
        events: Events = [(method, params)]
        host.listen(session_id, lambda *event: _keep(events, event))
        self._background.start(self._place, host, session_id, events)
        return None

    def _here(self, host: Host) -> list[Conversation]:
        return [conversation for conversation in self._conversations() if conversation.host is host]

    async def _place(self, host: Host, session_id: str, events: Events) -> None:
        try:
            parent = await self._parent(host, session_id)
        finally:
            self._placing -= 1
        if any(each.session_id == session_id for each in self._here(host)):
            # It is open by now, and whoever opens a session is told what it asks.
            return None
        if parent is not None:
            return parent.children.adopt(host, session_id, events)
        host.unlisten(session_id)
        log.warning("a session that is not open here asks for something; it is refused")
        # The newest copy of each: most questions are told twice.
        questions = {_id(params): params for method, params in events if method in QUESTIONS}
        for params in questions.values():
            self._refusals.refuse(host, session_id, params, UNKNOWN)
        return None

    async def _parent(self, host: Host, session_id: str) -> Conversation | None:
        """The conversation that the session belongs to: by what the host says of it, else the only one that it can be
        of."""
        if self._has_closed(session_id):
            return None
        try:
            row = (await host.query("session/read", {"sessionId": session_id})).get("session")
        except (MspError, HostGone):
            row = None
        parent_id = row.get("parentSessionId") if isinstance(row, dict) else None
        here = self._here(host)
        if isinstance(parent_id, str):
            return next((each for each in here if each.session_id == parent_id), None)
        known = [each for each in here if each.children.knows(session_id)]
        busy = [each for each in here if each.is_busy]
        return next((few[0] for few in (known, busy, here) if len(few) == 1), None)


def _id(params: Params) -> str:
    return f"{params.get('approvalId')} {params.get('userInputId')}"


def _keep(events: Events, event: tuple[str, Params]) -> None:
    if len(events) < MOST_WAITING:
        events.append(event)
