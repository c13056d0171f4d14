"""Stopping what was asked for: a queued prompt is reclaimed, a running turn interrupted, and a turn that the host does
not end is given up (`fault-cases.md G`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final

import anyio

from adapter.bridge.outcomes import turn_stuck
from adapter.bridge.projection import Projection
from adapter.bridge.turns.prompt_run import PromptRun
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session

log = logging.getLogger("adapter.bridge")

RECLAIM_GRACE: Final = 0.2
"""Seconds an interrupt waits until the prompts behind the turn are reclaimed, or the next one would begin when it ends;
no longer, since stopping comes first (`fault-cases.md G4`)."""


class Stops:
    """How the turns of one session are stopped. `on_turns_over` is told which turns count as over, `on_wedged` that
    what waits behind one of them may never begin."""

    def __init__(
        self,
        session: Session,
        projection: Projection,
        on_turns_over: Callable[[Collection[str]], None],
        on_wedged: Callable[[], None],
    ) -> None:
        self._session = session
        self._projection = projection
        self._on_turns_over = on_turns_over
        self._on_wedged = on_wedged
        self._replacing: PromptRun | None = None
        self._stopping: dict[str, anyio.Event] = {}

    # -- turns that were given up

    @property
    def _wedge(self) -> set[str]:
        """Turns that were given up and may still run. The host keeps them in mind: the session may be closed meanwhile
        and opened again."""
        return self._session.host.wedged.get(self._session.session_id, set())

    @property
    def is_wedged(self) -> bool:
        """Whether a turn that was given up may still hold up the ones behind it."""
        return bool(self._wedge)

    def is_to_replace(self, run: PromptRun) -> bool:
        """Whether this prompt has to replace a turn that was given up: the first one does, and, if that came to
        nothing, the next."""
        under_way = self._replacing is not None and not self._replacing.settled.is_set()
        if under_way or not self.is_wedged:
            return False
        self._replacing = run
        return True

    def runs(self, turn_ids: Collection[str]) -> None:
        """A turn runs: nothing holds it up."""
        if not self._wedge.intersection(turn_ids):
            self._unwedge()

    def _unwedge(self) -> None:
        self._session.host.wedged.pop(self._session.session_id, None)
        self._replacing = None

    async def wait_in_line(self, run: PromptRun, grace: float) -> None:
        """Let a prompt wait at the host behind a turn that was given up, but no longer than `grace` seconds: it fails
        then, and a later one may try to replace that turn again."""
        with anyio.move_on_after(grace):
            await run.began.wait()
        if run.began.is_set() or run.cancelled or not self.is_wedged:
            return
        log.warning("the host began no other turn within %g s after one that was stopped", grace)
        run.settle(turn_stuck(self._session.session_id))
        await self.stop_given_up(run, queued=True)

    # -- stopping

    def is_stopping(self, turn_id: str) -> bool:
        """Whether this turn of the host's own has been stopped and is not over."""
        return turn_id in self._stopping

    def ended(self, turn_id: str) -> None:
        """A turn is over."""
        if turn_id in self._wedge:
            self._unwedge()
        ended = self._stopping.get(turn_id)
        if ended is not None:
            ended.set()

    async def all_ended(self) -> None:
        """Wait until every turn of the host's own that was stopped is over, or given up."""
        while going_on := [ended for ended in self._stopping.values() if not ended.is_set()]:
            await going_on[0].wait()

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
            self._give_up(run.turn_ids, set() if run.is_queued else run.turn_ids or {run.command_id})
            run.settle(None)

    async def stop_given_up(self, run: PromptRun, *, queued: bool) -> None:
        """Stop the turn of a prompt that has been answered without it."""
        if run.command_id in self._wedge:
            # It has a name now.
            self._wedge.update(() if queued else run.turn_ids)
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
            self._give_up({turn_id}, {turn_id} if self._session.host.gone is None else set())
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
            for turn_id in turn_ids:
                # It may begin all the same, and is not shown then.
                self._projection.silence(turn_id)
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

    def _give_up(self, turn_ids: Collection[str], wedge: Collection[str]) -> None:
        """Go on without these turns; those of the `wedge` may run on."""
        self._on_turns_over(turn_ids)
        for turn_id in turn_ids:
            self._projection.silence(turn_id)
        if wedge:
            self._session.host.wedged.setdefault(self._session.session_id, set()).update(wedge)
            self._on_wedged()


async def _reclaimed(runs: Sequence[PromptRun]) -> None:
    with anyio.move_on_after(RECLAIM_GRACE):
        for run in runs:
            await run.reclaimed.wait()
