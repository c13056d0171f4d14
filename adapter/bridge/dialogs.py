"""Open approvals of one session as permission dialogs at the client: one per stage, withdrawn when they are
overtaken."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any, Final

import anyio
import msgspec

from adapter.bridge import permission
from adapter.bridge.projection import Projection
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import METHOD_NOT_FOUND, RpcError
from adapter.wire.framing import FrameTooLarge
from adapter.wire.peer import BadAnswer, Peer, PeerClosed

log = logging.getLogger("adapter.bridge")

ANSWER_TIMEOUT: Final = 24 * 3600.0
"""Seconds a person may take to answer; a client that never does must not keep a turn for ever (`fault-cases.md I4`)."""

_SETTLED_KINDS: Final = frozenset(
    {"approvalNotFound", "approvalAlreadyResolved", "userInputNotFound", "userInputAlreadySettled"}
)
_MOVED_ON_KINDS: Final = frozenset({"approvalRequirementStale", "approvalChoiceInvalid"})


class _Asked(msgspec.Struct, frozen=True):
    """A question as it was put; the scope is around what becomes of it."""

    params: dict[str, Any]
    scope: anyio.CancelScope


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
        self._asked: dict[str, _Asked] = {}
        """The newest question of each approval that is not settled, answered or not."""
        self._client_cannot_answer = False

    def ask(self, params: dict[str, Any]) -> None:
        """Put an approval, as it stands now, to the user; an earlier stage that is still on screen is withdrawn. The
        same question is not asked again, be it decided or not."""
        approval_id = params["approvalId"]
        before = self._asked.get(approval_id)
        if before is not None and permission.same(before.params, params):
            return
        self.withdraw(approval_id)
        asked = self._asked[approval_id] = _Asked(params, anyio.CancelScope())
        item_id = params.get("itemId")
        if isinstance(item_id, str) and not self._is_stopped(params.get("turnId")):
            self._projection.ask(item_id, params.get("turnId"), permission.question(params))
        self._background.start(self._dialog, asked)

    def withdraw(self, approval_id: str) -> None:
        """Take a dialog off the screen: it is settled, or has moved on to another stage."""
        asked = self._asked.pop(approval_id, None)
        if asked is not None:
            asked.scope.cancel()

    def withdraw_turns(self, turn_ids: Collection[str]) -> None:
        """Take the dialogs of turns that are over off the screen, and those that name no turn; not those of subagents,
        which may outlive any."""
        for approval_id, asked in list(self._asked.items()):
            turn_id = asked.params.get("turnId")
            elsewhere = isinstance(turn_id, str) and turn_id not in turn_ids
            if not elsewhere and not permission.is_of_subagent(asked.params):
                self.withdraw(approval_id)

    def withdraw_all(self) -> None:
        """Take every dialog off the screen."""
        for approval_id in list(self._asked):
            self.withdraw(approval_id)

    def decline_input(self, params: dict[str, Any]) -> None:
        """Tell the host that nobody will answer its question; it was told so in the handshake, but may ask anyway."""
        self._background.start(self._decline_input, params["userInputId"])

    async def _dialog(self, asked: _Asked) -> None:
        params = asked.params
        offered = permission.options(params.get("availableChoices"))
        with asked.scope:
            choice = await self._choice(params, offered)
            if choice is not None:
                await self._decide(params, choice)
            elif not self._is_stopped(params.get("turnId")):
                self._stop_turn()

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
        except (BadAnswer, TimeoutError, FrameTooLarge):
            return refused
        except PeerClosed:
            return None
        if self._is_stopped(params.get("turnId")):
            # Whatever is said after the stop allows nothing (`fault-cases.md I5`).
            return refused
        if permission.is_cancelled(answer):
            # The end of a turn does not settle what its subagents ask for.
            return refused if permission.is_of_subagent(params) else None
        return permission.selected_choice(answer, offered) or refused

    async def _decide(self, params: dict[str, Any], choice_id: str) -> None:
        try:
            await self._session.decide(params["approvalId"], params.get("currentRequirementId"), choice_id)
        except MspError as error:
            if error.kind in _MOVED_ON_KINDS:
                await self._ask_anew(params)
            elif error.kind not in _SETTLED_KINDS:
                log.warning("the host did not take a decision: %s", error)
                self._stop_turn()
        except HostGone as error:
            log.warning("a decision did not reach the host: %s", error)

    async def _ask_anew(self, params: dict[str, Any]) -> None:
        """The consent was for a question the host no longer has: the one it has now is a new one."""
        await self._session.reconcile()
        current = self._session.fold.open_approvals.get(params["approvalId"])
        if current is None:
            return
        if permission.same(current, params):
            log.warning("the host refuses the decisions it offers; the turn is stopped")
            self._stop_turn()
        else:
            self.ask(current)

    async def _decline_input(self, input_id: str) -> None:
        try:
            await self._session.cancel_input(input_id, "the editor cannot show questions")
        except MspError as error:
            if error.kind not in _SETTLED_KINDS:
                log.warning("the host did not take a declined question: %s", error)
        except HostGone as error:
            log.warning("a declined question did not reach the host: %s", error)
