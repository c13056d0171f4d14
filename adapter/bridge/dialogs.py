"""Open approvals of one session as permission dialogs at the client: one per stage, withdrawn when they are
overtaken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, Final

import anyio

from adapter.bridge import permission
from adapter.bridge.projection import Projection
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import METHOD_NOT_FOUND, RpcError
from adapter.wire.peer import BadAnswer, Peer, PeerClosed

log = logging.getLogger("adapter.bridge")

ANSWER_TIMEOUT: Final = 24 * 3600.0
"""Seconds a person may take to answer; a client that never does must not keep a turn for ever (`fault-cases.md I4`)."""

_SETTLED_KINDS: Final = frozenset(
    {"approvalNotFound", "approvalAlreadyResolved", "userInputNotFound", "userInputAlreadySettled"}
)
_MOVED_ON_KINDS: Final = frozenset({"approvalRequirementStale", "approvalChoiceInvalid"})


class Dialogs:
    """Asks the client, tells the host. `stop_turn` is called when the client cancels instead of choosing, or nothing
    can be refused. What a turn that `is_stopped` still asks for is refused without asking."""

    def __init__(
        self,
        peer: Peer,
        session: Session,
        projection: Projection,
        background: Background,
        stop_turn: Callable[[], None],
        is_stopped: Callable[[Any], bool],
    ) -> None:
        self._peer = peer
        self._session = session
        self._projection = projection
        self._background = background
        self._stop_turn = stop_turn
        self._is_stopped = is_stopped
        self._open: dict[str, anyio.CancelScope] = {}
        self._turns: dict[str, Any] = {}
        """Which turn each open dialog ends with; a subagent's is not among them, since it may outlive any."""
        self._client_cannot_answer = False

    def ask(self, params: dict[str, Any]) -> None:
        """Put an approval, as it stands now, to the user; an earlier stage that is still on screen is withdrawn."""
        approval_id = params["approvalId"]
        self.withdraw(approval_id)
        scope = self._open[approval_id] = anyio.CancelScope()
        if not permission.is_of_subagent(params):
            self._turns[approval_id] = params.get("turnId")
        item_id = params.get("itemId")
        if isinstance(item_id, str) and not self._is_stopped(params.get("turnId")):
            self._projection.ask(item_id, params.get("turnId"), permission.question(params))
        self._background.start(self._dialog, params, scope)

    def withdraw(self, approval_id: str) -> None:
        """Take a dialog off the screen: it is settled, or has moved on to another stage."""
        scope = self._open.pop(approval_id, None)
        self._turns.pop(approval_id, None)
        if scope is not None:
            scope.cancel()

    def withdraw_turns(self, turn_ids: Collection[str]) -> None:
        """Take the dialogs of turns that are over off the screen, and those that name no turn."""
        for approval_id, turn_id in list(self._turns.items()):
            if turn_id is None or turn_id in turn_ids:
                self.withdraw(approval_id)

    def withdraw_all(self) -> None:
        """Take every dialog off the screen."""
        for approval_id in list(self._open):
            self.withdraw(approval_id)

    def decline_input(self, params: dict[str, Any]) -> None:
        """Tell the host that nobody will answer its question; it was told so in the handshake, but may ask anyway."""
        self._background.start(self._decline_input, params["userInputId"])

    async def _dialog(self, params: dict[str, Any], scope: anyio.CancelScope) -> None:
        offered = permission.options(params.get("availableChoices"))
        with scope:
            choice = await self._choice(params, offered)
            if choice is None:
                self._stop_turn()
            else:
                await self._decide(params, choice)
        if self._open.get(params["approvalId"]) is scope:
            self.withdraw(params["approvalId"])

    async def _choice(self, params: dict[str, Any], offered: list[dict[str, Any]]) -> str | None:
        """What to tell the host; None means that the turn has to stop."""
        refused = permission.refusal(offered, params.get("availableChoices"))
        if not offered or self._client_cannot_answer or self._is_stopped(params.get("turnId")):
            return refused
        item_id = params.get("itemId")
        tool_call = {"toolCallId": item_id if isinstance(item_id, str) else params["approvalId"], "status": "pending"}
        request = {
            "sessionId": self._session.session_id,
            "toolCall": tool_call | permission.question(params),
            "options": offered,
        }
        try:
            with anyio.fail_after(ANSWER_TIMEOUT):
                answer = await self._peer.request("session/request_permission", request)
        except RpcError as error:
            # No answer is no consent. A client without the method is not asked again.
            self._client_cannot_answer = error.code == METHOD_NOT_FOUND
            log.warning("the client could not ask for permission (%s); the call is refused", error.message)
            return refused
        except (BadAnswer, TimeoutError):
            return refused
        except PeerClosed:
            return None
        if permission.is_cancelled(answer):
            # The end of a turn does not settle what its subagents ask for.
            return refused if permission.is_of_subagent(params) else None
        return permission.selected_choice(answer, offered) or refused

    async def _decide(self, params: dict[str, Any], choice_id: str) -> None:
        try:
            await self._session.decide(params["approvalId"], params.get("currentRequirementId"), choice_id)
        except MspError as error:
            if error.kind in _MOVED_ON_KINDS:
                # The consent was for a stage that is over: the new one is a new question.
                await self._session.reconcile()
            elif error.kind not in _SETTLED_KINDS:
                log.warning("the host did not take a decision: %s", error)
                self._stop_turn()
        except HostGone as error:
            log.warning("a decision did not reach the host: %s", error)

    async def _decline_input(self, input_id: str) -> None:
        try:
            await self._session.cancel_input(input_id, "the editor cannot show questions")
        except MspError as error:
            if error.kind not in _SETTLED_KINDS:
                log.warning("the host did not take a declined question: %s", error)
        except HostGone as error:
            log.warning("a declined question did not reach the host: %s", error)
