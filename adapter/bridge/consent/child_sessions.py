"""What a session's subagents ask the user: shown in the parent's session, told to the host under the child's id.

A subagent's approval mostly comes on its parent's session and is answered there (`msp.md §15.2`); some come under the
child's own id, which the client never sees (`fault-cases.md I2`). A child is listened to from its first question on,
and of what it says only its questions matter: its text and its calls are its own (`fault-cases.md J7`).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from adapter.bridge.consent.client_questions import ClientQuestions
from adapter.bridge.consent.dialogs import Dialogs, Preview
from adapter.bridge.consent.questions import Questions
from adapter.bridge.projection import Projection
from adapter.msp.changes import (
    ApprovalOpened,
    ApprovalResolved,
    ApprovalUpdated,
    Change,
    InputOpened,
    InputSettled,
    TurnEnded,
)
from adapter.msp.errors import HostGone, MspError
from adapter.msp.event_routing import EVENTS_LOST
from adapter.msp.host import Host
from adapter.msp.items import ItemState
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

REMEMBERED_CHILDREN: Final = 1000
"""Subagents whose session is known by name; about what the longest conversations have."""

ASKING_CHILDREN: Final = 200
"""Subagents whose sessions are listened to; more than can have a question open (`room.MOST_OF_SESSION`)."""

_HEARD: Final = ("approval/", "userInput/", "turn/", "view/", EVENTS_LOST)


def is_heard(method: str, params: Params) -> bool:
    """Whether an event of a child's session matters here."""
    return method.startswith(_HEARD) or _subagent(params) is not None


class ChildSessions:
    """The subagents of one session, as far as they ask something."""

    def __init__(
        self,
        parent: Session,
        client: ClientQuestions,
        projection: Projection,
        background: Background,
        preview: Preview,
    ) -> None:
        self._parent = parent
        self._client = client
        self._projection = projection
        self._background = background
        self._preview = preview
        self._known: OrderedDict[str, str | None] = OrderedDict()
        """The subagent of each child session."""
        self._asking: dict[str, _Child] = {}

    def learn(self, item: ItemState) -> None:
        """A subagent's item names its session, and tells when it is over."""
        child_id, subagent_id = item.raw.get("childSessionId"), item.raw.get("subagentId")
        if item.kind != "subagent" or not isinstance(child_id, str):
            return
        self._known[child_id] = subagent_id if isinstance(subagent_id, str) else None
        if len(self._known) > REMEMBERED_CHILDREN:
            self._known.popitem(last=False)
        if not item.is_open and child_id in self._asking:
            child = self._asking.pop(child_id)
            child.dialogs.ended()
            child.end()

    def knows(self, session_id: str) -> bool:
        """Whether this is the session of a subagent of ours."""
        return session_id in self._known

    def adopt(self, host: Host, child_id: str, events: list[tuple[str, Params]]) -> None:
        """Put to the user what a child asks, from these events on."""
        before = self._asking.pop(child_id, None)
        if before is not None:
            before.end()
        self._make_room()
        child = self._asking[child_id] = _Child(self, host, child_id)
        host.listen(child_id, child.receive)
        for event in events:
            child.receive(*event)

    def _make_room(self) -> None:
        """Listen no more to a child that waits for nothing, if there are too many: it is heard again when it asks."""
        quiet = (child_id for child_id, child in self._asking.items() if not child.is_asking)
        if len(self._asking) >= ASKING_CHILDREN and (child_id := next(quiet, None)) is not None:
            self._asking.pop(child_id).end()

    def stop(self, params: Params) -> None:
        """Stop the subagent that asks for what nobody can be asked; not the turn, which has other things to do
        (`peers.md §17`, trap 27)."""
        origin = params.get("subagentOrigin")
        subagent_id = origin.get("subagentId") if isinstance(origin, dict) else self._known.get(params["sessionId"])
        self._background.start(self._stop, subagent_id, params)

    def refuse_all(self) -> None:
        """The user stops the session: nothing that its subagents ask for is allowed any more."""
        for child in self._asking.values():
            child.dialogs.refuse_rest()
            child.questions.cancel_all()

    def end(self) -> None:
        """Ask nothing more: the session is closed, or its host is gone."""
        for child in self._asking.values():
            child.end()
        self._asking.clear()

    async def _stop(self, subagent_id: Any, params: Params) -> None:
        try:
            if isinstance(subagent_id, str):
                await self._parent.stop_subagent(subagent_id)
            elif params.get("sessionId") in self._asking and isinstance(params.get("turnId"), str):
                await self._asking[params["sessionId"]].session.interrupt(params["turnId"])
            else:
                log.warning("a subagent asks for what cannot be shown, and cannot be stopped")
        except (MspError, HostGone) as error:
            log.warning("the host did not stop a subagent: %s", error)

    # -- for one child

    def dialogs_of(self, session: Session) -> Dialogs:
        """Its dialogs, in the parent's session."""
        return Dialogs(
            self._client,
            session,
            self._projection,
            self._background,
            self._preview,
            self.stop,
            lambda turn_id: False,
            of_child=True,
        )

    def questions_of(self, session: Session) -> Questions:
        """Its questions; those cannot be asked in text, since the next message is for the parent."""
        return Questions(self._client, session, self._projection, self._background, self.stop, lambda turn_id: False)

    def session_of(self, host: Host, child_id: str, on_change: Callable[[Change], None]) -> Session:
        """Its session on the host."""
        return Session(host, child_id, on_change, self._background)


class _Child:
    """A subagent's session that has asked something."""

    def __init__(self, family: ChildSessions, host: Host, child_id: str) -> None:
        self._family = family
        self.session = family.session_of(host, child_id, self._changed)
        self.dialogs = family.dialogs_of(self.session)
        self.questions = family.questions_of(self.session)
        self._on_change: dict[type, Callable[[Any], None]] = {
            ApprovalOpened: lambda change: self.dialogs.ask(change.params),
            ApprovalUpdated: lambda change: self.dialogs.ask(change.params),
            ApprovalResolved: lambda change: self.dialogs.resolved(change.params),
            InputOpened: lambda change: self.questions.ask(change.params),
            InputSettled: lambda change: self.questions.settled(change.params),
            TurnEnded: lambda change: self._turn_over(change.turn_id),
        }
        self._over = False

    def receive(self, method: str, params: Params) -> None:
        """Take in one of its events."""
        if method.startswith(_HEARD):
            self.session.receive(method, params)
        elif (item := _subagent(params)) is not None:
            state = ItemState(item["itemId"])
            state.raw, state.kind = item, "subagent"
            state.status = "inProgress" if method != "item/completed" else "completed"
            self._family.learn(state)

    @property
    def is_asking(self) -> bool:
        """Whether something that it asked is not settled."""
        return self.dialogs.is_asking or self.questions.is_asking

    def end(self) -> None:
        self._over = True
        self.dialogs.withdraw_all()
        self.questions.withdraw_all()
        self.session.host.unlisten(self.session.session_id)

    def _turn_over(self, turn_id: str) -> None:
        self.dialogs.ended(turn_id)
        self.questions.turns_over({turn_id})

    def _changed(self, change: Change) -> None:
        handle = self._on_change.get(type(change))
        # What was lost may still be on its way when the child is over.
        if handle is not None and not self._over:
            handle(change)


def _subagent(params: Params) -> Params | None:
    """The item of a subagent that an event is about."""
    item = params.get("item")
    is_one = isinstance(item, dict) and item.get("kind") == "subagent" and isinstance(item.get("itemId"), str)
    return item if is_one else None
