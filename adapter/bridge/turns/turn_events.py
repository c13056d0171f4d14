"""What a host tells of the turns of one session: whose each is, which of them run without a prompt, and that a prompt
ends with its own turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import anyio

from adapter.bridge.outcomes import client_error, died_asking, died_queued, without_secrets
from adapter.bridge.projection import Projection
from adapter.bridge.turns.gate import EventGate
from adapter.bridge.turns.prompt_run import DONE, PromptRun
from adapter.bridge.turns.prompt_stops import Stops
from adapter.bridge.turns.stray_turns import StrayTurns
from adapter.msp.changes import TurnEnded, TurnStarted
from adapter.msp.errors import HostGone, SessionUnreachable
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import RpcError

REMEMBERED_PROMPTS: Final = 200
"""Prompts that were answered before their turn was over, remembered by their command: the host may name it later."""


class TurnEvents:
    """`runs` are the prompts that have no answer yet, in order; `on_turns_over` is told which turns are over, before
    their prompt is answered."""

    def __init__(
        self,
        runs: Sequence[PromptRun],
        session: Session,
        projection: Projection,
        background: Background,
        gate: EventGate,
        stops: Stops,
        on_turns_over: Callable[[Collection[str]], None],
    ) -> None:
        self._runs = runs
        self._session = session
        self._projection = projection
        self._background = background
        self._gate = gate
        self._stops = stops
        self._on_turns_over = on_turns_over
        self._strays = StrayTurns()
        self.paused: set[str] = set()
        """Turns that run and whose prompt has been answered: they wait for what the user says next."""
        self._unasked: set[str] = set()
        """Turns that run and for which no prompt was seen, as those the host starts for a goal."""
        self._left: deque[str] = deque(maxlen=REMEMBERED_PROMPTS)
        """Commands of prompts that were stopped and answered before their turn was over."""
        self.on_shown: Callable[[Collection[str]], None] = lambda turn_ids: None
        """Told of turns when everything of them has been shown, right before their prompt is answered."""

    @property
    def awaited(self) -> frozenset[str]:
        """Turns whose end a prompt waits for."""
        return frozenset(turn_id for run in self._runs if not run.settled.is_set() for turn_id in run.turn_ids)

    @property
    def host_turns(self) -> frozenset[str]:
        """Turns that run at the host without a prompt: found running, or begun for a goal (`peers.md §17`, trap 31)."""
        asked = {turn_id for run in self._runs for turn_id in run.turn_ids} | self.paused
        return frozenset(
            turn_id for turn_id in self._unasked if turn_id not in asked and not self._projection.is_silenced(turn_id)
        )

    def pause(self, turn_id: str) -> None:
        """Answer the prompt of this turn as ended: the turn waits for the user's next message."""
        self.paused.add(turn_id)
        self._projection.hold(turn_id)
        for run in self._runs:
            if turn_id in run.turn_ids:
                run.settle(DONE)

    def _settle_if_paused(self, run: PromptRun, turn_id: str) -> None:
        """A turn may have asked something before anybody knew whose it is."""
        if turn_id in self.paused:
            run.settle(DONE)

    def show_text(self) -> None:
        """Message text is shown while a prompt has been submitted, or the host goes on by itself."""
        self._projection.in_turn = any(run.submitted for run in self._runs) or bool(self.host_turns)

    def found_running(self, turn_ids: Collection[str]) -> None:
        """These turns ran when the session was opened."""
        self._unasked.update(turn_ids)
        for turn_id in turn_ids:
            self._strays.hear(turn_id)
            if self._projection.is_silenced(turn_id):
                self._stop_unwanted(turn_id)
        self.show_text()

    def started(self, change: TurnStarted) -> None:
        """A turn runs now."""
        self.name_run(change.command_id, change.turn_id)
        self._strays.hear(change.turn_id)
        self._stops.runs((change.turn_id, change.command_id or ""))
        owners = [run for run in self._runs if change.turn_id in run.turn_ids]
        for run in owners:
            run.began.set()
        if self._projection.is_silenced(change.turn_id):
            return self._stop_unwanted(change.turn_id)
        self._unasked.add(change.turn_id)
        self.show_text()
        return None

    def _stop_unwanted(self, turn_id: str) -> None:
        """Stop a turn that runs although nobody waits for it any more: its prompt was stopped, and answered without it.
        If it was not answered, who stops it waits for it."""
        waited_for = any(turn_id in run.turn_ids and not run.settled.is_set() for run in self._runs)
        if not waited_for and self._session.fold.turns.outcome(turn_id) is None:
            self._background.start(self._stops.interrupt, turn_id)

    def leave(self, run: PromptRun) -> None:
        """A prompt that was stopped is answered before its turn is over: nothing more is shown of that turn, whether it
        has a name yet or the host, perhaps the next one, names it later."""
        self._left.append(run.command_id)
        for turn_id in run.turn_ids:
            self._projection.silence(turn_id)

    def name_run(self, command_id: Any, turn_id: str) -> None:
        """The host calls the turn of this command so."""
        for run in self._runs:
            if run.command_id == command_id:
                run.name(turn_id)
                self._settle_if_paused(run, turn_id)
        if command_id in self._left and not self._projection.is_silenced(turn_id):
            self._projection.silence(turn_id)
            if turn_id in self._unasked:
                # It has begun without a word of whose it is.
                self._stop_unwanted(turn_id)
                self.show_text()

    def hear_of(self, turn_id: str, *, first: bool) -> None:
        """Something of a turn is shown; `first`: that was not known before."""
        self._strays.hear(turn_id, self._strays.waiting(self._runs) if first else None)

    def _strays_of(self, run: PromptRun) -> list[str]:
        """Turns that may be this prompt's, and are not known to be those of one that was stopped."""
        return [turn_id for turn_id in self._strays.of(run) if not self._projection.is_silenced(turn_id)]

    def ended(self, change: TurnEnded) -> None:
        """A turn is over; its prompt is answered with what came of it."""
        turn_id, outcome = change.turn_id, change.outcome
        self._stops.ended(turn_id)
        for run in [run for run in self._runs if turn_id in self._strays_of(run)]:
            run.name(turn_id)
        self._strays.hear(turn_id)
        owners = [run for run in self._runs if turn_id in run.turn_ids]
        known = turn_id in self._unasked or turn_id in self.paused
        self.paused.discard(turn_id)
        turn_ids = {turn_id}.union(*(run.turn_ids for run in owners))
        try:
            if owners or known:
                self._end_turns(turn_ids)
        finally:
            # Whatever cannot be shown: the prompt is answered.
            for run in [run for run in owners if not run.settled.is_set()]:
                if run.is_wanted and not run.handed_over.is_set():
                    # Whether it ends with this turn is not known yet.
                    self._hold_events(run.handed_over)
                    continue
                self._hold_events(run.answered)
                run.settle(without_secrets(outcome, self._session.host.scrub))
            if not owners:
                self.on_shown(turn_ids)
                # It may be the turn of a prompt whose acknowledgement is on its way.
                for run in self._runs:
                    if run.submitted and not run.named.is_set():
                        self._hold_events(run.named)
            self.show_text()

    def settle_if_over(self, run: PromptRun, turn_id: str) -> None:
        """A turn may have ended before anybody knew whose it is."""
        outcome = self._session.fold.turns.outcome(turn_id)
        if outcome is not None and not run.settled.is_set() and not self._session.is_end_untold(turn_id):
            run.name(turn_id)
            self._end_turns(run.turn_ids)
            self._hold_events(run.answered)
            run.settle(without_secrets(outcome, self._session.host.scrub))

    def acknowledged(self, run: PromptRun, turn_id: str) -> None:
        """The host has taken in a prompt under this id; it may have told its turn under another."""
        self._settle_if_paused(run, turn_id)
        for name in (turn_id, *self._strays_of(run)):
            self.settle_if_over(run, name)

    def _end_turns(self, turn_ids: Collection[str]) -> None:
        """What has to be on the wire before the prompt is answered."""
        self._unasked.difference_update(turn_ids)
        self._on_turns_over(turn_ids)
        for turn_id in sorted(turn_ids):
            self._projection.close_turn(turn_id)

    def _hold_events(self, until: anyio.Event) -> None:
        """Show nothing of what comes next before a prompt has its answer, or it is known to have none yet."""
        self._gate.hold()

        async def release() -> None:
            await until.wait()
            self._gate.release()

        self._background.start(release)

    def host_gone(self, why: HostGone) -> None:
        """Nothing more comes of what the host has taken in; what it has not is sent again, or fails by itself. A prompt
        whose turn ended before that is answered when the end is told. The next host ends what ran, or goes on with it
        by itself when an open question is answered there."""
        self.paused.clear()
        self._unasked.update(self._session.fold.turns.running)
        for run in self._runs:
            if (run.named.is_set() or run.expects_host) and not self._has_end(run):
                run.settle(self._left_by_host(run, why))
        if self._projection.in_turn:
            # What waits for the next message is not said because of this.
            self.show_text()

    def _has_end(self, run: PromptRun) -> bool:
        return any(self._gate.has_end(turn_id) or self._session.has_end(turn_id) for turn_id in run.turn_ids)

    def _left_by_host(self, run: PromptRun, why: HostGone) -> RpcError:
        """The error of a prompt whose host has gone: sent again, what the next one goes on with would run twice."""
        if not isinstance(why, SessionUnreachable):
            if self._has_open_question(run):
                return died_asking(why)
            if run.is_queued:
                return died_queued(why)
        return client_error(why, self._session.session_id)

    def _has_open_question(self, run: PromptRun) -> bool:
        fold = self._session.fold
        asked = (*fold.open_approvals.values(), *fold.open_inputs.values())
        turn_ids = (params.get("turnId") for params in asked)
        return any(isinstance(turn_id, str) and turn_id in run.turn_ids for turn_id in turn_ids)
