"""Questions in sessions that nobody here listens to: found out whose they are, or refused, so that nothing waits for
ever (`fault-cases.md I2`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from adapter.bridge.consent.child_sessions import is_heard
from adapter.bridge.consent.refusals import Refusals
from adapter.msp.changes import ApprovalOpened, Change, InputOpened
from adapter.msp.errors import HostGone, MspError
from adapter.msp.event_routing import EVENTS_LOST, QUESTIONS
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.msp.weight import weight
from adapter.wire.background import Background
from adapter.wire.envelope import Params

if TYPE_CHECKING:
    from adapter.bridge.conversation import Conversation

log = logging.getLogger("adapter.bridge")

MOST_WAITING: Final = 1000
"""Events of one session that wait until it is known whose it is; that takes one answer of the host."""

WAITING_BYTES: Final = 8 * 1024 * 1024
"""What those of all such sessions may take together."""

MOST_PLACED: Final = 100
"""Sessions of which it is found out at once whose they are."""

UNKNOWN: Final = "the session is not open in the editor"

Events: TypeAlias = list[tuple[str, Params]]


class _Waiting:
    """What a session says until it is known whose it is, as far as that matters then."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.kept: Events = []
        self.size = 0
        """Bytes it takes, about."""
        self.is_lossy = False
        """Whether there was more: what is open has to be read."""

    @property
    def events(self) -> Events:
        """What is kept, behind the word that there was more."""
        lost: Events = [(EVENTS_LOST, {"sessionId": self.session_id})] if self.is_lossy else []
        return lost + self.kept


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
        self._waiting: set[_Waiting] = set()

    def receive(self, host: Host, session_id: str, method: str, params: Params) -> None:
        """Take in a question of a session of this host; must not block."""
        known = [each for each in self._here(host) if each.children.knows(session_id)]
        if known:
            return known[0].children.adopt(host, session_id, [(method, params)])
        if len(self._waiting) >= MOST_PLACED:
            log.warning("many sessions that are not open here ask for something; it is refused")
            self._refusals.refuse(host, session_id, params, UNKNOWN)
            return None
        waiting = _Waiting(session_id)
        self._waiting.add(waiting)
        self._keep(waiting, method, params)
        host.listen(session_id, partial(self._keep, waiting))
        self._background.start(self._place, host, waiting)
        return None

    def _keep(self, waiting: _Waiting, method: str, params: Params) -> None:
        """Keep an event until it is known whose it is. What is no question may take half of the room: everything else
        can be read afterwards."""
        if method == EVENTS_LOST:
            waiting.is_lossy = True
        elif is_heard(method, params):
            share = 1 if method in QUESTIONS else 2
            size = weight(params, WAITING_BYTES)
            together = size + sum(each.size for each in self._waiting)
            if len(waiting.kept) * share < MOST_WAITING and together * share <= WAITING_BYTES:
                waiting.kept.append((method, params))
                waiting.size += size
            else:
                waiting.is_lossy = True

    def _here(self, host: Host) -> list[Conversation]:
        return [conversation for conversation in self._conversations() if conversation.host is host]

    async def _place(self, host: Host, waiting: _Waiting) -> None:
        session_id = waiting.session_id
        try:
            parent = await self._parent(host, session_id)
        finally:
            self._waiting.discard(waiting)
        if host.gone is not None or any(each.session_id == session_id for each in self._here(host)):
            # Nobody waits for it any more. Or it is open by now, and whoever opens a session is told what it asks.
            return None
        if parent is not None:
            return parent.children.adopt(host, session_id, waiting.events)
        host.unlisten(session_id)
        log.warning("a session that is not open here asks for something; it is refused")
        # The newest copy of each: most questions are told twice.
        questions = {_id(params): params for method, params in waiting.kept if method in QUESTIONS}
        for params in questions.values():
            self._refusals.refuse(host, session_id, params, UNKNOWN)
        if waiting.is_lossy:
            await self._refuse_unkept(host, session_id, questions)
        return None

    async def _refuse_unkept(self, host: Host, session_id: str, kept: Container[str]) -> None:
        """Refuse what a session asks beyond what could be kept of it."""

        def refuse(change: Change) -> None:
            if isinstance(change, ApprovalOpened | InputOpened) and _id(change.params) not in kept:
                self._refusals.refuse(host, session_id, change.params, UNKNOWN)

        await Session(host, session_id, refuse, self._background).reconcile()

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
