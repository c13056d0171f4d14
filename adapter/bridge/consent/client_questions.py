"""What the client of one session can be asked, and what came of asking: an answer, or none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import anyio

from adapter.acp import elicitation
from adapter.bridge.consent.refusals import Refusals
from adapter.bridge.consent.room import MOST_OF_SESSION, Room
from adapter.bridge.projection import Projection
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import METHOD_NOT_FOUND, Params, RpcError
from adapter.wire.framing import FrameTooLarge
from adapter.wire.peer import BadAnswer, Peer

log = logging.getLogger("adapter.bridge")

ANSWER_TIMEOUT: Final = 24 * 3600.0
"""Seconds a person may take to answer; a client that never does must not keep a turn for ever (`fault-cases.md I4`)."""

CANNOT_ASK: Final = (
    "Muse asked for permission, and this editor has no way to show such a question. It was refused, and so will be "
    "whatever else needs permission in this session."
)

TOO_MANY: Final = "more questions are open than may be at once"


class ClientQuestions:
    """Remembers for the session what the client has turned out not to have. `forms`: it can show forms. `room` is what
    may be open at the client at once, in all its sessions."""

    def __init__(
        self, peer: Peer, projection: Projection, background: Background, room: Room | None = None, *, forms: bool
    ) -> None:
        self._peer = peer
        self._projection = projection
        self._refusals = Refusals(background)
        self._has_refused = False
        self.room = Room(MOST_OF_SESSION, room)
        """What may be open in this session and those of its subagents."""
        self.forms = forms
        self.permissions = True

    @property
    def session_id(self) -> str:
        """The client's session, in which everything is asked."""
        return self._projection.session_id

    def refuse(self, session: Session, params: Params, stop: Callable[[Params], None]) -> None:
        """Answer a question for which there is no room as not allowed; or `stop` the running turn that asks, if the
        host has asked too much for that too."""
        if not self._has_refused:
            self._has_refused = True
            log.warning("a session asks more than may be open at once; what is beyond is refused")
        refused = self._refusals.refuse(session.host, session.session_id, params, TOO_MANY)
        if not refused and params.get("turnId") in session.fold.turns.running:
            stop(params)

    async def permission(self, request: Params) -> Params | None:
        """The client's answer to a permission request, None if none came that could mean anything; whoever asks bounds
        the wait. What is asked about has the title of its card, if the host had words for that; the exact command or
        target is in the content.

        Raises:
            PeerClosed: the client has gone.
        """
        call = request["toolCall"]
        label, has_ended = self._projection.label(call["toolCallId"]), self._projection.has_ended(call["toolCallId"])
        shown = {name: value for name, value in call.items() if not (has_ended and name == "status")}
        request = request | {"toolCall": self._on_card(shown | ({} if label is None else {"title": label}))}
        try:
            return await self._ask("session/request_permission", request)
        except RpcError as error:
            log.warning("the client could not ask for permission (error %d); the call is refused", error.code)
            if error.code == METHOD_NOT_FOUND and self.permissions:
                self.permissions = False
                self._projection.say(CANNOT_ASK)
            return None

    async def form(self, request: Params, timeout: float | None = None) -> dict[str, Any] | None:
        """What a form was filled with, None if it was not. A client that knows no forms is not asked again.

        Raises:
            PeerClosed: the client has gone.
        """
        try:
            with anyio.fail_after(timeout or ANSWER_TIMEOUT):
                answer = await self._ask(elicitation.METHOD, self._on_card(request))
        except TimeoutError:
            log.warning("%s came to nothing: no answer in time", elicitation.METHOD)
            return None
        except RpcError as error:
            log.warning("the client could not show a form (error %d)", error.code)
            self.forms = self.forms and error.code != METHOD_NOT_FOUND
            return None
        return None if answer is None else elicitation.filled(answer)

    def _on_card(self, asked: Params) -> Params:
        """What is asked, about the card that the client knows the item by."""
        item_id = asked.get("toolCallId")
        return asked | {"toolCallId": self._projection.card_id(item_id)} if isinstance(item_id, str) else asked

    async def _ask(self, method: str, request: Params) -> Params | None:
        try:
            return await self._peer.request(method, request)
        except (BadAnswer, FrameTooLarge) as error:
            log.warning("%s came to nothing: %s", method, error)
            return None
