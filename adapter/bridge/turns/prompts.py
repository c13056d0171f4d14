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
from adapter.bridge.outcomes import client_error
from adapter.bridge.projection import Projection
from adapter.bridge.session_state.session_options import TurnSettings
from adapter.bridge.stored_sessions.roots import Roots
from adapter.bridge.turns.gate import EventGate
from adapter.bridge.turns.prompt_input import file_mentions, input_parts, instructed, require_fit, text_of
from adapter.bridge.turns.prompt_run import DONE, PromptRun
from adapter.bridge.turns.prompt_stops import Stops
from adapter.bridge.turns.turn_events import TurnEvents
from adapter.msp.errors import HostGone, MspError
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
        gate.on_full = self._hurry
        self._workspace = workspace
        self._frame_cap = frame_cap
        self._stops = Stops(session, projection, on_turns_over, self._wedged)
        self._runs: list[PromptRun] = []
        self.turns = TurnEvents(self._runs, session, projection, background, gate, self._stops, on_turns_over)
        """Told of what the host tells; it answers the prompts whose turns are over."""
        self.take_prompt: Callable[[tuple[Block, ...]], Taken | None] = lambda blocks: None
        """Asked in arrival order whether a prompt is for a turn that waits for it."""
        self.find_command: Callable[[tuple[Block, ...]], Awaitable[Command | None]] = _no_command
        """Asked when a prompt's time has come whether it is something else than the input of a turn."""
        self.before_turn: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """Awaited when a prompt's time has come and its host is there; nothing of it runs if that raises."""
        self.for_turn: Callable[[], TurnSettings] = TurnSettings
        self.on_queued: Callable[[], None] = lambda: None
        """Told that a prompt waits at the host behind a turn."""
        self.roots = Roots((workspace,))
        """What goes with the next turn."""

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return bool(self._runs)

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
        for turn_id in self.turns.host_turns:
            self._background.start(self._stops.stop_turn, turn_id, grace, tuple(behind))
        for turn_id in self.turns.paused:
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
            if run.is_left:
                self.turns.leave(run)
            self.turns.on_shown(run.turn_ids)
            return run.answer()
        finally:
            self._runs.remove(run)
            run.passed.set()
            run.answered.set()
            self.turns.show_text()

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
        self.turns.show_text()
        run.handed_over = anyio.Event()
        self._background.start(self._hand_over, run, taken)
        await run.handed_over.wait()
        if not run.turn_ids:
            return False
        if not run.settled.is_set():
            run.adopt(taken.turn_id)
            self.turns.paused.discard(taken.turn_id)
            self.turns.settle_if_over(run, taken.turn_id)
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
        self.turns.show_text()
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
        self.turns.acknowledged(run, turn_id)
        return None

    def _wedged(self) -> None:
        """What the host has queued may never begin."""
        for run in [run for run in self._runs if run.is_queued and run.is_wanted]:
            self._background.start(self._stops.wait_in_line, run, CANCEL_GRACE)

    def _take_back(self, run: PromptRun) -> None:
        self._cancel_run(run, CANCEL_GRACE, ())

    def _cancel_run(self, run: PromptRun, grace: float, behind: tuple[PromptRun, ...]) -> bool:
        """Stop one prompt; False if it has been stopped, or is over."""
        if run.cancelled or run.settled.is_set():
            return False
        run.cancelled = True
        if not run.handed_over.is_set():
            for turn_id in tuple(run.turn_ids):
                self.turns.settle_if_over(run, turn_id)
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


async def _no_command(blocks: tuple[Block, ...]) -> Command | None:
    return None
