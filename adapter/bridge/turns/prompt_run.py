"""One prompt on its way to an answer: in line, submitted, queued at the host, running, stopped, settled."""

from __future__ import annotations

from typing import Final

import anyio

from adapter.acp.trace import TraceContext
from adapter.bridge.outcomes import CANCELLED, turn_result
from adapter.msp.ids import uuid7
from adapter.msp.turns import TurnOutcome
from adapter.wire.envelope import Params, RpcError

DONE: Final = TurnOutcome("completed")
"""The end of a prompt that was answered without a turn of its own."""


class PromptRun:
    """The state of one prompt. Its turn is known by its command id from the start, by its turn id once the host has
    named it.

    `cancelled` is set as soon as the client asked for it; a run that was cancelled answers `cancelled` whatever its
    turn came to (`fault-cases.md G3`).
    """

    def __init__(self, trace: TraceContext | None = None) -> None:
        self.command_id = uuid7()
        self.trace = trace
        self.turn_ids: set[str] = set()
        self.cancelled = False
        self.submitted = False
        self.expects_host = False
        """Whether it waits for something at the host that is not a turn."""
        self.in_line = anyio.CancelScope()
        """Around the wait for its turn in line and for a host; cancelling it means that nothing is sent."""
        self.admitted = anyio.Event()
        """The host has taken it in, or need not any more."""
        self.passed = anyio.Event()
        """The ones behind it may be sent."""
        self.named = anyio.Event()
        self.began = anyio.Event()
        """Its turn runs, or has run."""
        self.reclaimed = anyio.Event()
        """After a cancel: the host has been told, and has answered, that it must not begin if it has not."""
        self.handed_over = anyio.Event()
        """It is known whether a turn that waited for it has taken it in; set as long as it goes to none."""
        self.handed_over.set()
        self.settled = anyio.Event()
        self.answered = anyio.Event()
        """The work of the prompt is over; its answer is on its way."""
        self._queued = False
        self._outcome: TurnOutcome | RpcError | None = None

    @property
    def is_queued(self) -> bool:
        """Whether the host has it and does not run it yet."""
        return self._queued and not self.began.is_set()

    @property
    def is_wanted(self) -> bool:
        """Whether there is still somebody to answer with what comes of it."""
        return not self.cancelled and not self.settled.is_set()

    @property
    def given_up(self) -> bool:
        """Whether it ended without its turn."""
        return self.settled.is_set() and self._outcome is None

    @property
    def is_left(self) -> bool:
        """Whether it was stopped and has ended otherwise than with its turn, of which something may come yet."""
        return self.cancelled and self.submitted and not isinstance(self._outcome, TurnOutcome)

    def name(self, turn_id: str) -> None:
        """The host calls this run's turn by this id; it may use two (`fault-cases.md H7`)."""
        self.turn_ids.add(turn_id)
        self.named.set()

    def admit(self, turn_id: str, *, queued: bool) -> None:
        """The host has taken it in; unless `queued`, its turn runs."""
        self._queued = queued
        if not queued:
            self.began.set()
        self.name(turn_id)
        self.admitted.set()

    def adopt(self, turn_id: str) -> None:
        """Go on with a turn that runs already."""
        self.submitted = True
        self.admit(turn_id, queued=False)

    def settle(self, outcome: TurnOutcome | RpcError | None) -> None:
        """End it; the first end counts. None: it was given up after a cancel that the host did not confirm."""
        if not self.settled.is_set():
            self._outcome = outcome
            self.settled.set()
            self.admitted.set()
            self.named.set()
            self.began.set()
            self.handed_over.set()

    def answer(self) -> Params:
        """The result of the prompt.

        Raises:
            RpcError: the turn failed, or could not be started.
        """
        if self.cancelled or self._outcome is None:
            return {"stopReason": CANCELLED}
        if isinstance(self._outcome, RpcError):
            raise self._outcome
        return turn_result(self._outcome)
