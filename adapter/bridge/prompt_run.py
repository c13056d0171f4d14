"""One prompt on its way to an answer: waiting in line, submitted, running, stopped, settled."""

from __future__ import annotations

import anyio

from adapter.bridge.outcomes import CANCELLED, stop_reason
from adapter.msp.ids import uuid7
from adapter.msp.turns import TurnOutcome
from adapter.wire.envelope import Params, RpcError


class PromptRun:
    """The state of one prompt. Its turn is known by its command id from the start, by its turn id once the host has
    named it.

    `cancelled` is set as soon as the client asked for it; a run that was cancelled answers `cancelled` whatever its
    turn came to (`fault-cases.md G3`).
    """

    def __init__(self) -> None:
        self.command_id = uuid7()
        self.turn_ids: set[str] = set()
        self.cancelled = False
        self.submitted = False
        self.in_line = anyio.CancelScope()
        """Around the wait for its turn in line and for a host; cancelling it means that nothing is sent."""
        self.named = anyio.Event()
        self.settled = anyio.Event()
        self.answered = anyio.Event()
        """The work of the prompt is over; its answer is on its way."""
        self._outcome: TurnOutcome | RpcError | None = None

    def name(self, turn_id: str) -> None:
        """The host calls this run's turn by this id; it may use two (`fault-cases.md H7`)."""
        self.turn_ids.add(turn_id)
        self.named.set()

    def settle(self, outcome: TurnOutcome | RpcError | None) -> None:
        """End it; the first end counts. None: it was given up after a cancel that the host did not confirm."""
        if not self.settled.is_set():
            self._outcome = outcome
            self.settled.set()

    def answer(self) -> Params:
        """The result of the prompt.

        Raises:
            RpcError: the turn failed, or could not be started.
        """
        if self.cancelled or self._outcome is None:
            return {"stopReason": CANCELLED}
        if isinstance(self._outcome, RpcError):
            raise self._outcome
        return {"stopReason": stop_reason(self._outcome)}
