"""The prompts of one session: in line, submitted, stopped, and each answered once."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

import anyio
import msgspec

from adapter.acp import errors
from adapter.acp.content import Block
from adapter.acp.trace import TraceContext
from adapter.bridge.attachment import Attachment
from adapter.bridge.outcomes import client_error, without_secrets
from adapter.bridge.projection import Projection
from adapter.bridge.prompt_input import input_parts
from adapter.bridge.prompt_run import PromptRun
from adapter.msp.changes import TurnEnded
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.msp.turns import TurnOutcome
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Work

log = logging.getLogger("adapter.bridge")

CANCEL_GRACE: Final = 5.0
"""Seconds a host has to end a turn the user has stopped; then the prompt is answered without it (`fault-cases.md
G5`)."""


class Taken(msgspec.Struct, frozen=True):
    """A prompt that goes to a turn which waits for it: the turn, and how it is told. `deliver` answers False if the
    turn has gone on without it; then the prompt is an ordinary one."""

    turn_id: str
    deliver: Callable[[], Awaitable[bool]]


class Prompts:
    """Prompts run one after the other, each answered once; a cancel reaches those that are there when it is read.

    `on_turns_over` is told which turns are over, before their prompt is answered.
    """

    def __init__(
        self,
        session: Session,
        attachment: Attachment,
        projection: Projection,
        background: Background,
        on_turns_over: Callable[[Collection[str]], None],
    ) -> None:
        self._session = session
        self._attachment = attachment
        self._projection = projection
        self._background = background
        self._on_turns_over = on_turns_over
        self._runs: list[PromptRun] = []
        self._line = anyio.Lock()
        self._given_up = False
        self._paused: set[str] = set()
        """Turns that run and whose prompt has been answered: they wait for what the user says next."""
        self.take_prompt: Callable[[tuple[Block, ...]], Taken | None] = lambda blocks: None
        """Asked in arrival order whether a prompt is for a turn that waits for it."""

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return bool(self._runs)

    async def all_answered(self) -> None:
        """Wait until no prompt is left."""
        while self._runs:
            await self._runs[0].answered.wait()

    def admit(self, blocks: tuple[Block, ...], trace: TraceContext | None, call: Call) -> Work:
        """Put a prompt in line; called in arrival order, so that a later cancel includes it."""
        run = PromptRun()
        self._runs.append(run)
        call.on_cancel = lambda: self._cancel_run(run)
        return self._answer(run, blocks, trace, self.take_prompt(blocks))

    def pause(self, turn_id: str) -> None:
        """Answer the prompt of this turn as ended: the turn waits for the user's next message."""
        self._paused.add(turn_id)
        self._projection.hold(turn_id)
        for run in self._runs:
            if turn_id in run.turn_ids:
                run.settle(TurnOutcome("completed"))

    def cancel(self, grace: float = CANCEL_GRACE) -> None:
        """Stop everything that has been asked for so far; does nothing in an idle session."""
        for run in list(self._runs):
            self._cancel_run(run, grace)
        for turn_id in self._paused:
            self._projection.silence(turn_id)
            self._background.start(self._interrupt, turn_id)

    async def _answer(
        self, run: PromptRun, blocks: tuple[Block, ...], trace: TraceContext | None, taken: Taken | None
    ) -> Params:
        try:
            if taken is not None and await self._adopt(run, taken):
                return run.answer()
            parts = input_parts(blocks)
            if not parts:
                return {"stopReason": "end_turn"}
            with run.in_line:
                await self._line.acquire()
                try:
                    await self._take_turn(run, parts, trace)
                finally:
                    self._line.release()
            return run.answer()
        finally:
            self._runs.remove(run)
            run.answered.set()
            if not self._runs:
                self._projection.in_turn = False

    async def _adopt(self, run: PromptRun, taken: Taken) -> bool:
        """Let a prompt go on with the turn that waits for it; False if that one has gone on without it."""
        run.name(taken.turn_id)
        run.submitted = True
        self._projection.in_turn = True
        if not await taken.deliver() and not run.cancelled:
            run.turn_ids.clear()
            run.named = anyio.Event()
            run.submitted = False
            return False
        self._paused.discard(taken.turn_id)
        outcome = self._session.fold.turns.outcome(taken.turn_id)
        if outcome is not None:
            run.settle(without_secrets(outcome, self._session.host.scrub))
        await run.settled.wait()
        return True

    async def _take_turn(self, run: PromptRun, parts: list[dict[str, Any]], trace: TraceContext | None) -> None:
        try:
            await self._attachment.reach()
        except (MspError, HostGone) as error:
            return run.settle(client_error(error, self._session.session_id))
        run.submitted = True
        self._projection.in_turn = True
        self._background.start(self._submit, run, parts, trace)
        await run.settled.wait()
        return None

    async def _submit(self, run: PromptRun, parts: list[dict[str, Any]], trace: TraceContext | None) -> None:
        """Send the prompt. Runs beside the wait for its end: the end may come before the ack, and a cancel need not
        wait for it."""
        replace, self._given_up = self._given_up, False
        try:
            ack = await self._session.start_turn(
                run.command_id, parts, replace=replace, trace=trace.wire() if trace else None
            )
        except (MspError, HostGone) as error:
            # What was to be replaced still runs.
            self._given_up = self._given_up or replace
            return run.settle(client_error(error, self._session.session_id))
        except Exception:
            run.settle(errors.internal_error())
            raise
        turn_id = ack.get("turnId")
        if not isinstance(turn_id, str):
            return run.settle(errors.host_error("malformedResult", "The host did not name the turn"))
        run.name(turn_id)
        outcome = self._session.fold.turns.outcome(turn_id)
        if outcome is not None:
            self._end_turn(run)
            run.settle(without_secrets(outcome, self._session.host.scrub))
        elif run.cancelled and run.settled.is_set():
            # It was stopped and given up before it had a name.
            self._projection.silence(turn_id)
            await self._interrupt(turn_id)
        return None

    def _cancel_run(self, run: PromptRun, grace: float = CANCEL_GRACE) -> None:
        if run.cancelled or run.settled.is_set():
            return
        run.cancelled = True
        if run.submitted:
            self._background.start(self._stop, run, grace)
        else:
            run.in_line.cancel()

    def is_stopped(self, turn_id: Any) -> bool:
        """Whether the user has stopped this turn, be it over or not."""
        if not isinstance(turn_id, str):
            return False
        stopped = (run for run in self._runs if run.cancelled)
        return self._projection.is_silenced(turn_id) or any(turn_id in run.turn_ids for run in stopped)

    async def _stop(self, run: PromptRun, grace: float) -> None:
        """Stop a submitted turn as soon as it has a name; the prompt ends with it, or without it after `grace`
        seconds."""
        with anyio.move_on_after(grace):
            await run.named.wait()
            for turn_id in sorted(run.turn_ids):
                await self._interrupt(turn_id)
            await run.settled.wait()
        if not run.settled.is_set():
            log.warning("the host did not end a stopped turn within %g s; going on without it", grace)
            self._given_up = True
            self._on_turns_over(run.turn_ids)
            for turn_id in run.turn_ids:
                self._projection.silence(turn_id)
            run.settle(None)

    async def _interrupt(self, turn_id: str) -> None:
        try:
            await self._session.interrupt(turn_id)
        except (MspError, HostGone) as error:
            log.info("the host did not take an interrupt: %s", error)

    # -- events

    def name_run(self, command_id: Any, turn_id: str) -> None:
        """The host calls the turn of this command so."""
        for run in self._runs:
            if run.command_id == command_id:
                run.name(turn_id)

    def turn_ended(self, change: TurnEnded) -> None:
        """A turn is over; its prompt is answered with what came of it."""
        for run in self._runs:
            if change.turn_id in run.turn_ids:
                try:
                    self._end_turn(run)
                finally:
                    # Whatever cannot be shown: the prompt is answered.
                    run.settle(without_secrets(change.outcome, self._session.host.scrub))
        if change.turn_id in self._paused:
            self._paused.discard(change.turn_id)
            self._on_turns_over({change.turn_id})
            self._projection.close_turn(change.turn_id)

    def _end_turn(self, run: PromptRun) -> None:
        """What has to be on the wire before the prompt is answered."""
        self._on_turns_over(run.turn_ids)
        for turn_id in sorted(run.turn_ids):
            self._projection.close_turn(turn_id)

    def host_gone(self, why: HostGone) -> None:
        """Nothing more comes of what was submitted."""
        self._paused.clear()
        for run in self._runs:
            if run.submitted:
                run.settle(client_error(why, self._session.session_id))
