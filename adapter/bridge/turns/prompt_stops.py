"""Stopping what was asked for: a queued prompt is reclaimed, a running turn interrupted, and a turn that the host does
not end is given up (`fault-cases.md G`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

import anyio

from adapter.bridge.projection import Projection
from adapter.bridge.turns.prompt_run import PromptRun
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session

log = logging.getLogger("adapter.bridge")

RECLAIM_GRACE: Final = 0.2
"""Seconds an interrupt waits until the prompts behind the turn are reclaimed, or the next one would begin when it ends;
no longer, since stopping comes first (`fault-cases.md G4`)."""


class Stops:
    """How the turns of one session are stopped. `on_turns_over` is told which turns count as over."""

    def __init__(
        self, session: Session, projection: Projection, on_turns_over: Callable[[Collection[str]], None]
    ) -> None:
        self._session = session
        self._projection = projection
        self._on_turns_over = on_turns_over
        self._given_up = False
        self._stopping: dict[str, anyio.Event] = {}

    def take_given_up(self) -> bool:
        """Whether a turn that was given up may still run, so that the next one has to replace it; told once."""
        given_up, self._given_up = self._given_up, False
        return given_up

    def still_given_up(self) -> None:
        """What was to be replaced still runs."""
        self._given_up = True

    def is_stopping(self, turn_id: str) -> bool:
        """Whether this turn of the host's own has been stopped and is not over."""
        return turn_id in self._stopping

    def ended(self, turn_id: str) -> None:
        """A turn is over."""
        ended = self._stopping.get(turn_id)
        if ended is not None:
            ended.set()

    async def all_ended(self) -> None:
        """Wait until every turn of the host's own that was stopped is over, or given up."""
        while self._stopping:
            await next(iter(self._stopping.values())).wait()

    async def stop_run(self, run: PromptRun, grace: float, behind: Sequence[PromptRun] = ()) -> None:
        """Stop a submitted prompt as soon as it has a name; it ends with its turn, or without it after `grace` seconds.
        `behind` are prompts that were cancelled with it and must not begin when it ends."""
        with anyio.move_on_after(grace):
            await run.named.wait()
            if run.began.is_set():
                await _reclaimed(behind)
            await self._stop_turn_of(run)
            await run.settled.wait()
        run.reclaimed.set()
        if not run.settled.is_set():
            log.warning("the host did not end a stopped turn within %g s; going on without it", grace)
            self._give_up(run.turn_ids, runs=not run.is_queued)
            run.settle(None)

    async def stop_given_up(self, run: PromptRun, *, queued: bool) -> None:
        """Stop the turn of a prompt that was given up before the turn had a name."""
        for turn_id in sorted(run.turn_ids):
            self._projection.silence(turn_id)
            if not (queued and await self._unqueue(turn_id)):
                await self.interrupt(turn_id)

    async def stop_turn(self, turn_id: str, grace: float, behind: Sequence[PromptRun] = ()) -> None:
        """Stop a turn that the host runs without a prompt."""
        if turn_id in self._stopping:
            return
        ended = self._stopping[turn_id] = anyio.Event()
        with anyio.move_on_after(grace):
            await _reclaimed(behind)
            if await self.interrupt(turn_id):
                await ended.wait()
        del self._stopping[turn_id]
        if not ended.is_set():
            self._give_up({turn_id}, runs=self._session.host.gone is None)
            ended.set()

    async def interrupt(self, turn_id: str) -> bool:
        """Ask the host to stop this turn; False if it did not admit that."""
        try:
            await self._session.interrupt(turn_id)
        except (MspError, HostGone) as error:
            log.info("the host did not take an interrupt: %s", error)
            return False
        return True

    async def _stop_turn_of(self, run: PromptRun) -> None:
        turn_ids = sorted(run.turn_ids)
        if run.is_queued:
            # A host that has admitted this for one of two names never begins the turn.
            reclaimed = any([await self._unqueue(turn_id) for turn_id in turn_ids])
            run.reclaimed.set()
            if reclaimed:
                return
            # Too late: the turn begins, if it is not over by now.
            await run.began.wait()
        run.reclaimed.set()
        if not run.settled.is_set():
            for turn_id in turn_ids:
                await self.interrupt(turn_id)

    async def _unqueue(self, turn_id: str) -> bool:
        try:
            await self._session.unqueue(turn_id)
        except (MspError, HostGone) as error:
            log.info("the host did not give a queued prompt back: %s", error)
            return False
        return True

    def _give_up(self, turn_ids: Collection[str], *, runs: bool) -> None:
        """Go on without these turns; if one of them `runs`, the next prompt replaces it."""
        self._given_up = self._given_up or runs
        self._on_turns_over(turn_ids)
        for turn_id in turn_ids:
            self._projection.silence(turn_id)


async def _reclaimed(runs: Sequence[PromptRun]) -> None:
    with anyio.move_on_after(RECLAIM_GRACE):
        for run in runs:
            await run.reclaimed.wait()
