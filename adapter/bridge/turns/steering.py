"""Words added to a turn that runs, for clients that negotiated it: `muse/steering` and, under its other name,
`steering` (`peers.md §2, §10.8`). Never a turn of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from adapter.acp import errors, updates
from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities
from adapter.acp.content import Block, read_prompt
from adapter.acp.fields import Fields
from adapter.bridge.extensions import STEER
from adapter.bridge.outcomes import client_error
from adapter.bridge.turns.prompt_input import file_mentions, input_parts, require_fit
from adapter.msp.changes import TurnStarted
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire import envelope
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import Call, Peer, Work

ACTIVE_TURN: Final = "muse/activeTurnId"
"""The key under which the running turn is told, null for none."""

AT_ONCE: Final = 16
"""Words that may be on their way to one session at the same time."""


class Asked(msgspec.Struct, frozen=True):
    """What is to be added to which turn; without a turn, to the one that runs when it arrives."""

    session_id: str
    blocks: tuple[Block, ...]
    turn_id: str | None


class Steering:
    """What is added to the turns of one session, and which of them runs, for a client that wants to know."""

    def __init__(
        self,
        session: Session,
        workspace: str,
        peer: Peer,
        client: ClientCapabilities,
        frame_cap: int,
        is_stopped: Callable[[str], bool],
    ) -> None:
        self._session = session
        self._workspace = workspace
        self._peer = peer
        self._tells = client.steering or client.session_steering
        self._frame_cap = frame_cap
        self._is_stopped = is_stopped
        self._under_way = 0
        self._told: str | None = None

    @property
    def active_turn(self) -> str | None:
        """The turn that runs and goes on, as far as is known."""
        if self._session.host.gone is not None:
            return None
        running = [turn_id for turn_id in self._session.fold.turns.running if not self._is_stopped(turn_id)]
        return running[-1] if running else None

    def turn_started(self, change: TurnStarted) -> None:
        """A turn can be steered from now on."""
        self._tell(change.turn_id)

    def turns_shown(self, turn_ids: Collection[str]) -> None:
        """Everything of these turns has been shown, or they go on without a prompt."""
        if self._told in turn_ids and self._told not in self._session.fold.turns.running:
            self._tell(None)

    def host_gone(self) -> None:
        """Nothing runs any more."""
        if self._told is not None:
            self._tell(None)

    def _tell(self, turn_id: str | None) -> None:
        self._told = turn_id
        if self._tells:
            meta = {ACTIVE_TURN: turn_id}
            self._peer.notify(updates.METHOD, updates.session_info(self._session.session_id, meta=meta))

    def begin(self, asked: Asked) -> Work:
        """Add words to a turn; the result names it. Which turn is meant is settled now, in arrival order.

        Raises:
            RpcError: -32602; it is too large. -32600; the turn does not run, or too much is on its way.
        """
        require_fit(asked.blocks, self._frame_cap)
        turn_id = self.active_turn
        if turn_id is None or asked.turn_id not in (None, turn_id):
            raise self._not_running(asked.turn_id)
        if self._under_way >= AT_ONCE:
            details = f"{AT_ONCE} messages to this turn are on their way already"
            raise errors.session_busy(self._session.session_id, details)
        return self._steer(turn_id, asked.blocks)

    async def _steer(self, turn_id: str, blocks: tuple[Block, ...]) -> Params:
        with self._counted():
            try:
                parts = input_parts(blocks, await file_mentions(blocks, self._workspace))
                if self._is_stopped(turn_id):
                    raise self._not_running(turn_id)
                await self._session.steer(turn_id, parts)
            except MspError as error:
                if error.kind == "commandRejected":
                    raise self._not_running(turn_id) from None
                raise client_error(error, self._session.session_id) from None
            except HostGone as error:
                raise client_error(error, self._session.session_id) from None
        return {"turnId": turn_id}

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _not_running(self, turn_id: str | None) -> RpcError:
        running = self._session.fold.turns.running if self._session.host.gone is None else ()
        stopped = [name for name in running if turn_id in (None, name) and self._is_stopped(name)]
        details = "The turn is being stopped" if stopped else "The turn has ended, or another one runs"
        return errors.error_of(
            envelope.INVALID_REQUEST,
            "The turn does not run",
            "turnNotRunning",
            f"{details}; send it as a prompt",
            sessionId=self._session.session_id,
            retryable=False,
        )


def read_asked(call: Call, ours: AgentCapabilities) -> Asked:
    """The params of either method.

    Raises:
        RpcError: -32602 that names the field.
    """
    fields = Fields(call.params)
    named = call.method == STEER or fields.has("expectedTurnId")
    asked = Asked(
        fields.id("sessionId"), read_prompt(fields, ours.prompt), fields.id("expectedTurnId") if named else None
    )
    if not input_parts(asked.blocks):
        raise fields.refuse("prompt", "must not be empty")
    return asked


async def in_form(method: str, work: Work) -> Params:
    """The result as the method has it."""
    steered = await work
    return steered | {"status": "accepted"} if method == STEER else {"outcome": "injected"}
