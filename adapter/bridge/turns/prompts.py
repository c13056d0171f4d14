"""The prompts of one session: submitted in the order they come, queued by the host, stopped, and each answered once by
its own turn."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import anyio
import anyio.lowlevel
import msgspec

from adapter.acp import errors
from adapter.acp.content import Block
from adapter.acp.trace import TraceContext
from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.outcomes import client_error, died_asking, without_secrets
from adapter.bridge.projection import Projection
from adapter.bridge.session_state.session_options import TurnSettings
from adapter.bridge.stored_sessions.roots import Roots
from adapter.bridge.turns.gate import EventGate
from adapter.bridge.turns.prompt_input import file_mentions, input_parts, instructed, require_fit, text_of
from adapter.bridge.turns.prompt_run import DONE, PromptRun
from adapter.bridge.turns.prompt_stops import Stops
from adapter.bridge.turns.stray_turns import StrayTurns
from adapter.msp.changes import TurnEnded, TurnStarted
from adapter.msp.errors import HostGone, MspError, SessionUnreachable
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Work

log = logging.getLogger("adapter.bridge")

CANCEL_GRACE: Final = 5.0
"""Seconds a host has to end a turn the user has stopped; then the prompt is answered without it (`fault-cases.md
G5`)."""

Command: TypeAlias = Callable[[PromptRun], Awaitable[None]]
"""What a prompt does instead of being a turn: it settles the run, lets it adopt a turn, or leaves its end to what the
host tells. The prompts behind it wait until it returns, but not for its end."""


class Taken(msgspec.Struct, frozen=True):
    """A prompt that goes to a turn which waits for it: the turn, and how it is told. `deliver` answers False if the
    turn has gone on without it; then the prompt is an ordinary one."""

    turn_id: str
    deliver: Callable[[], Awaitable[bool]]


class Prompts:
    """A prompt is submitted as soon as the host has taken in the one before it; which of them runs is the host's
    business, and told by its events. A cancel reaches those that are there when it is read.

    `gate` is what the session's events pass; `on_turns_over` is told which turns are over, before their prompt is
    answered. `frame_cap` is how long a line to the host may be, in bytes.
    """

    def __init__(
        self,
        session: Session,
        attachment: Attachment,
        projection: Projection,
        background: Background,
        gate: EventGate,
        on_turns_over: Callable[[Collection[str]], None],
        workspace: str,
        frame_cap: int,
    ) -> None:
        self._session = session
        self._attachment = attachment
        self._projection = projection
        self._background = background
        self._gate = gate
        gate.on_full = self._hurry
        self._on_turns_over = on_turns_over
        self._workspace = workspace
        self._frame_cap = frame_cap
        self._stops = Stops(session, projection, on_turns_over, self._wedged)
        self._strays = StrayTurns()
        self._runs: list[PromptRun] = []
        self._paused: set[str] = set()
        """Turns that run and whose prompt has been answered: they wait for what the user says next."""
        self._unasked: set[str] = set()
        """Turns that run and for which no prompt was seen, as those the host starts for a goal."""
        self.take_prompt: Callable[[tuple[Block, ...]], Taken | None] = lambda blocks: None
        """Asked in arrival order whether a prompt is for a turn that waits for it."""
        self.find_command: Callable[[tuple[Block, ...]], Awaitable[Command | None]] = _no_command
        """Asked when a prompt's time has come whether it is something else than the input of a turn."""
        self.before_turn: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """Awaited when a prompt's time has come and its host is there; nothing of it runs if that raises."""
        self.for_turn: Callable[[], TurnSettings] = TurnSettings
        self.on_shown: Callable[[Collection[str]], None] = lambda turn_ids: None
        """Told of turns when everything of them has been shown, right before their prompt is answered."""
        self.on_queued: Callable[[], None] = lambda: None
        """Told that a prompt waits at the host behind a turn."""
        self.roots = Roots((workspace,))
        """What goes with the next turn."""

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return bool(self._runs)

    @property
    def awaited(self) -> frozenset[str]:
        """Turns whose end a prompt waits for."""
        return frozenset(turn_id for run in self._runs if not run.settled.is_set() for turn_id in run.turn_ids)

    @property
    def host_turns(self) -> frozenset[str]:
        """Turns that run at the host without a prompt: found running, or begun for a goal (`peers.md §17`, trap 31)."""
        asked = {turn_id for run in self._runs for turn_id in run.turn_ids} | self._paused
        return frozenset(
            turn_id for turn_id in self._unasked if turn_id not in asked and not self._projection.is_silenced(turn_id)
        )

    async def first_in_line(self, run: PromptRun) -> None:
        """Wait until the prompts before this one have been answered."""
        while self._runs[0] is not run:
            await self._runs[0].answered.wait()

    async def all_answered(self) -> None:
        """Wait until no prompt is left, and nothing that was stopped runs on."""
        while self._runs:
            await self._runs[0].answered.wait()
        await self._stops.all_ended()

    def admit(self, blocks: tuple[Block, ...], trace: TraceContext | None, call: Call) -> Work:
        """Put a prompt in line; called in arrival order, so that a later cancel includes it.

        Raises:
            RpcError: it is too large for the host.
        """
        require_fit(blocks, self._frame_cap)
        run, ahead = PromptRun(trace), tuple(self._runs)
        self._runs.append(run)
        call.on_cancel = lambda: self._take_back(run)
        return self._answer(run, ahead, blocks, self.take_prompt(blocks), call)

    def pause(self, turn_id: str) -> None:
        """Answer the prompt of this turn as ended: the turn waits for the user's next message."""
        self._paused.add(turn_id)
        self._projection.hold(turn_id)
        for run in self._runs:
            if turn_id in run.turn_ids:
                run.settle(DONE)

    def has_next(self, turn_id: str) -> bool:
        """Whether a prompt waits behind this turn: it can be no answer to what the turn asks, and many a client sends
        nothing else before it has been answered."""
        others = [run for run in self._runs if turn_id not in run.turn_ids and not run.settled.is_set()]
        return any(run.is_queued or not run.submitted for run in others)

    def cancel(self, grace: float = CANCEL_GRACE) -> None:
        """Stop everything that has been asked for so far, and what the host runs unasked; does nothing in an idle
        session."""
        behind: list[PromptRun] = []
        for run in reversed(self._runs):
            # The last one first: none of them may begin because the one before it was stopped.
            if self._cancel_run(run, grace, tuple(behind)) and not run.began.is_set():
                behind.append(run)
        for turn_id in self.host_turns:
            self._background.start(self._stops.stop_turn, turn_id, grace, tuple(behind))
        for turn_id in self._paused:
            self._projection.silence(turn_id)
            self._background.start(self._stops.interrupt, turn_id)

    async def _answer(
        self, run: PromptRun, ahead: Sequence[PromptRun], blocks: tuple[Block, ...], taken: Taken | None, call: Call
    ) -> Params:
        try:
            if taken is None or not await self._deliver(run, taken):
                if not input_parts(blocks):
                    run.settle(DONE)
                    return run.answer()
                with run.in_line:
                    for other in ahead:
                        await other.passed.wait()
                    await self._begin(run, blocks)
            run.passed.set()
            # It may be long, and a turn may take hours.
            call.forget()
            del ahead, blocks, taken
            await run.settled.wait()
            await self._end_cards(run)
            self.on_shown(run.turn_ids)
            return run.answer()
        finally:
            self._runs.remove(run)
            run.passed.set()
            run.answered.set()
            self._show_text()

    async def _end_cards(self, run: PromptRun) -> None:
        """Calls that have ended are shown so before the answer: with their diffs, unless the user has stopped them."""
        if not run.cancelled:
            await self._projection.settled(run.turn_ids)
        for turn_id in run.turn_ids:
            self._projection.settle(turn_id)

    def _hurry(self) -> None:
        """Too much comes while a prompt waits for the diffs of its calls: it does without them."""
        for run in self._runs:
            if run.settled.is_set():
                for turn_id in run.turn_ids:
                    self._projection.settle(turn_id)

    async def _deliver(self, run: PromptRun, taken: Taken) -> bool:
        """Let a prompt go on with the turn that waits for it; False if that one has gone on without it."""
        run.name(taken.turn_id)
        run.submitted = True
        self._show_text()
        run.handed_over = anyio.Event()
        self._background.start(self._hand_over, run, taken)
        await run.handed_over.wait()
        if not run.turn_ids:
            return False
        if not run.settled.is_set():
            run.adopt(taken.turn_id)
            self._paused.discard(taken.turn_id)
            self._settle_if_over(run, taken.turn_id)
        return True

    async def _hand_over(self, run: PromptRun, taken: Taken) -> None:
        """Runs beside the wait for it: a prompt that is stopped, or whose host is gone, need not wait."""
        try:
            if not await taken.deliver() and run.is_wanted:
                run.turn_ids.clear()
                run.named = anyio.Event()
                run.submitted = False
        finally:
            run.handed_over.set()

    async def _begin(self, run: PromptRun, blocks: tuple[Block, ...]) -> None:
        """What a prompt does when the ones before it have been taken in; returns when it has been, too."""
        try:
            while self._attachment.is_to_move and self._runs[0] is not run:
                # Not while a turn of the session runs: the prompt waits here, where it could else wait at the host.
                await self._runs[0].answered.wait()
            await self._attachment.reach()
            await self.before_turn()
            command = await self.find_command(blocks)
            if command is not None:
                await command(run)
            else:
                self.start(run, input_parts(blocks, await file_mentions(blocks, self._workspace)))
        except (MspError, HostGone) as error:
            return run.settle(client_error(error, self._session.session_id))
        if run.submitted:
            await run.admitted.wait()
        return None

    def start(self, run: PromptRun, parts: list[Params]) -> None:
        """Send the prompt as the input of a turn."""
        self.submit(run, lambda: self._start_turn(run, parts))

    async def _start_turn(self, run: PromptRun, parts: list[Params]) -> Params:
        settings = self.for_turn()
        ack = await self._session.start_turn(
            run.command_id,
            instructed(parts, settings.instruction) if settings.instruction else parts,
            replace=self._stops.is_to_replace(run),
            display_text=text_of(parts) if settings.instruction else None,
            effort=settings.effort,
            roots=self.roots.for_turn(),
            trace=run.trace.wire() if run.trace else None,
            wanted=lambda: run.is_wanted,
        )
        self.roots.told()
        return ack

    def submit(self, run: PromptRun, send: Callable[[], Awaitable[Params]]) -> None:
        """Send what makes a turn of the prompt. Runs beside the wait for its end: the end may come before the ack, and
        a cancel need not wait for it. Nothing is sent of a prompt that was stopped in this very moment: cancelling its
        wait takes effect only when it waits again."""
        if not run.is_wanted:
            return
        run.submitted = True
        self._show_text()
        self._background.start(self._submit, run, send)

    async def _submit(self, run: PromptRun, send: Callable[[], Awaitable[Params]]) -> None:
        try:
            ack = await send()
        except (MspError, HostGone) as error:
            return run.settle(client_error(error, self._session.session_id))
        except Exception:
            run.settle(errors.internal_error())
            raise
        turn_id = ack.get("turnId")
        if not isinstance(turn_id, str):
            return run.settle(errors.host_error("malformedResult", "The host did not name the turn"))
        queued = ack.get("disposition") == "queued"
        run.admit(turn_id, queued=queued)
        if run.given_up:
            return await self._stops.stop_given_up(run, queued=queued)
        if not queued:
            self._stops.runs(run.turn_ids)
        else:
            self.on_queued()
        if queued and self._stops.is_wedged:
            self._background.start(self._stops.wait_in_line, run, CANCEL_GRACE)
        for name in (turn_id, *self._strays.of(run)):
            self._settle_if_over(run, name)
        return None

    def _wedged(self) -> None:
        """What the host has queued may never begin."""
        for run in [run for run in self._runs if run.is_queued and run.is_wanted]:
            self._background.start(self._stops.wait_in_line, run, CANCEL_GRACE)

    def _settle_if_over(self, run: PromptRun, turn_id: str) -> None:
        """A turn may have ended before anybody knew whose it is."""
        outcome = self._session.fold.turns.outcome(turn_id)
        if outcome is not None and not run.settled.is_set() and not self._session.is_end_untold(turn_id):
            run.name(turn_id)
            self._end_turns(run.turn_ids)
            self._hold_events(run.answered)
            run.settle(without_secrets(outcome, self._session.host.scrub))

    def _take_back(self, run: PromptRun) -> None:
        self._cancel_run(run, CANCEL_GRACE, ())

    def _cancel_run(self, run: PromptRun, grace: float, behind: tuple[PromptRun, ...]) -> bool:
        """Stop one prompt; False if it has been stopped, or is over."""
        if run.cancelled or run.settled.is_set():
            return False
        run.cancelled = True
        if not run.handed_over.is_set():
            for turn_id in tuple(run.turn_ids):
                self._settle_if_over(run, turn_id)
        if run.submitted:
            self._background.start(self._stops.stop_run, run, grace, behind)
        else:
            run.in_line.cancel()
            run.reclaimed.set()
            run.settle(None)
        return True

    def stop_turn(self, turn_id: Any) -> None:
        """Stop this turn alone, whoever asked for it; everything if it has no name."""
        if not isinstance(turn_id, str):
            return self.cancel()
        owners = [run for run in self._runs if turn_id in run.turn_ids]
        for run in owners:
            self._cancel_run(run, CANCEL_GRACE, ())
        if not owners:
            self._background.start(self._stops.stop_turn, turn_id, CANCEL_GRACE)
        return None

    def is_stopped(self, turn_id: Any) -> bool:
        """Whether the user has stopped this turn, be it over or not."""
        if not isinstance(turn_id, str):
            return False
        stopped = (run for run in self._runs if run.cancelled)
        return (
            self._projection.is_silenced(turn_id)
            or self._stops.is_stopping(turn_id)
            or any(turn_id in run.turn_ids for run in stopped)
        )

    def _show_text(self) -> None:
        """Message text is shown while a prompt has been submitted, or the host goes on by itself."""
        self._projection.in_turn = any(run.submitted for run in self._runs) or bool(self.host_turns)

    # -- events

    def found_running(self, turn_ids: Collection[str]) -> None:
        """These turns ran when the session was opened."""
        self._unasked.update(turn_ids)
        for turn_id in turn_ids:
            self._strays.hear(turn_id)
        self._show_text()

    def turn_started(self, change: TurnStarted) -> None:
        """A turn runs now."""
        self.name_run(change.command_id, change.turn_id)
        self._strays.hear(change.turn_id)
        self._stops.runs((change.turn_id, change.command_id or ""))
        owners = [run for run in self._runs if change.turn_id in run.turn_ids]
        for run in owners:
            run.began.set()
        if self._projection.is_silenced(change.turn_id):
            if all(run.settled.is_set() for run in owners):
                # It was given up while it waited at the host. If it was not, who stops it waits for it.
                self._background.start(self._stops.interrupt, change.turn_id)
            return
        self._unasked.add(change.turn_id)
        self._show_text()

    def name_run(self, command_id: Any, turn_id: str) -> None:
        """The host calls the turn of this command so."""
        for run in self._runs:
            if run.command_id == command_id:
                run.name(turn_id)

    def hear_of(self, turn_id: str, *, first: bool) -> None:
        """Something of a turn is shown; `first`: that was not known before."""
        self._strays.hear(turn_id, self._strays.waiting(self._runs) if first else None)

    def turn_ended(self, change: TurnEnded) -> None:
        """A turn is over; its prompt is answered with what came of it."""
        turn_id, outcome = change.turn_id, change.outcome
        self._stops.ended(turn_id)
        for run in [run for run in self._runs if turn_id in self._strays.of(run)]:
            run.name(turn_id)
        self._strays.hear(turn_id)
        owners = [run for run in self._runs if turn_id in run.turn_ids]
        known = turn_id in self._unasked or turn_id in self._paused
        self._paused.discard(turn_id)
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
            self._show_text()

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
        """Nothing more comes of what the host has taken in; what it has not is sent again, or fails by itself. The next
        host ends what ran, or goes on with it by itself when an open question is answered there."""
        self._paused.clear()
        self._unasked.update(self._session.fold.turns.running)
        for run in self._runs:
            if run.named.is_set() or run.expects_host:
                asked = self._has_open_question(run) and not isinstance(why, SessionUnreachable)
                run.settle(died_asking(why) if asked else client_error(why, self._session.session_id))
        self._show_text()

    def _has_open_question(self, run: PromptRun) -> bool:
        fold = self._session.fold
        asked = (*fold.open_approvals.values(), *fold.open_inputs.values())
        turn_ids = (params.get("turnId") for params in asked)
        return any(isinstance(turn_id, str) and turn_id in run.turn_ids for turn_id in turn_ids)


async def _no_command(blocks: tuple[Block, ...]) -> Command | None:
    return None
