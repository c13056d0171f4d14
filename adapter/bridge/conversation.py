"""One conversation: an ACP session and the MSP session behind it, prompts in line, and one running turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import anyio

from adapter.acp import errors
from adapter.acp.content import Block
from adapter.acp.trace import TraceContext
from adapter.bridge.card_style import CardStyle
from adapter.bridge.dialogs import Dialogs
from adapter.bridge.execution_hosts import ExecutionHosts
from adapter.bridge.outcomes import client_error, without_secrets
from adapter.bridge.projection import Projection
from adapter.bridge.prompt_input import input_parts
from adapter.bridge.prompt_run import PromptRun
from adapter.bridge.stored_output.scan import HandleScan, MalformedPage
from adapter.bridge.stored_output.walk import walk
from adapter.msp.changes import (
    ApprovalOpened,
    ApprovalResolved,
    ApprovalUpdated,
    Change,
    InputOpened,
    ItemChanged,
    TurnEnded,
    TurnStarted,
)
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, Work

log = logging.getLogger("adapter.bridge")

CANCEL_GRACE: Final = 5.0
"""Seconds a host has to end a turn the user has stopped; then the prompt is answered without it (`fault-cases.md
G5`)."""


class Conversation:
    """Prompts of one session run one after the other, each answered once; a cancel reaches those that are there when
    it is read."""

    def __init__(
        self,
        style: CardStyle,
        host: Host,
        hosts: ExecutionHosts,
        peer: Peer,
        background: Background,
        config: Params,
    ) -> None:
        self.session_id = style.session_id
        self.workspace = style.workspace
        self._hosts = hosts
        self._peer = peer
        self._background = background
        self._config = config
        """What a host is told of the client's MCP servers when it opens the session, each host anew."""
        self._watching = anyio.CancelScope()
        self._projection = Projection(style, peer)
        self._session = Session(host, style.session_id, self._changed, background)
        self._dialogs = Dialogs(peer, self._session, self._projection, background, self.cancel, self._is_stopped)
        self._runs: list[PromptRun] = []
        self._line = anyio.Lock()
        self._given_up = False
        self._retired = False
        self._held: list[tuple[str, Params]] | None = None
        """Events that wait for `go_on`; None if they do not have to."""
        self._on_change: dict[type, Callable[[Any], None]] = {
            TurnStarted: lambda change: self._name_run(change.command_id, change.turn_id),
            TurnEnded: self._turn_ended,
            ItemChanged: self._item_changed,
            ApprovalOpened: lambda change: self._dialogs.ask(change.params),
            ApprovalUpdated: lambda change: self._dialogs.ask(change.params),
            ApprovalResolved: self._approval_resolved,
            InputOpened: lambda change: self._dialogs.decline_input(change.params),
        }

    def listen(self) -> None:
        """Take in the session's events from now on, those that were kept for it first."""
        self._session.host.listen(self.session_id, self._receive)
        self._watching = anyio.CancelScope()
        self._background.start(self._watch_host, self._session.host, self._watching)

    def hold(self) -> None:
        """Let events wait for `go_on`: nothing may be shown of the session before the client has its answer."""
        self._held = []

    async def go_on(self, *, restore: bool) -> None:
        """Show what has happened meanwhile, and with `restore` what can be read of what happened before."""
        held, self._held = self._held or [], None
        for event in held:
            self._session.receive(*event)
        if restore:
            await self._restore_handles()

    def _receive(self, method: str, params: Params) -> None:
        if self._held is None:
            self._session.receive(method, params)
        else:
            self._held.append((method, params))

    def unlisten(self) -> None:
        """Take in nothing more, and leave nothing behind that waits for the host."""
        self._session.host.unlisten(self.session_id)
        self._watching.cancel()

    def retire(self) -> None:
        """Show and ask nothing more: the session is closed, or another conversation has taken its place."""
        self._retired = True
        self._dialogs.withdraw_all()

    async def replay(self, *, at_rest: bool, tasks_go_on: bool) -> None:
        """Show the whole stored conversation, in order (`acp.md §4`, load); before `listen`.

        `at_rest`: no turn runs, also if the history lacks the end of one. `tasks_go_on`: what outlives turns may run.

        Raises:
            MspError, HostGone: the host did not give it.
        """
        history = self._session.history()
        self._projection.replaying = True
        try:
            async for changes in history.pages():
                for change in changes:
                    self._projection.show(change)
                await self._peer.writable()
        finally:
            self._projection.replaying = False
        if at_rest or not self._session.fold.turns.running:
            self._projection.close_turn(None, tasks_go_on=tasks_go_on)
        if not history.complete:
            self._projection.history_incomplete(history.events)

    async def _restore_handles(self) -> None:
        """Tell what stored output can be read of a conversation that is not shown again (`docs/stored-output.md`)."""
        scan = HandleScan(self.session_id)
        try:
            await walk(scan, self._session.host)
        except (MspError, HostGone, MalformedPage) as error:
            log.warning("the session's history could not be read for stored output: %s", error)
        if self._retired:
            return
        for item in scan.items():
            self._projection.restore(item)
        if not scan.exhausted:
            self._projection.history_incomplete(scan.events)

    async def close(self) -> None:
        """Stop what runs, answer it, and let the host forget the session; it stays stored."""
        self.cancel()
        while self._runs:
            await self._runs[0].answered.wait()
        self.retire()
        self.unlisten()
        await self.leave()

    async def leave(self) -> None:
        """Let the host forget the session; it stays stored."""
        await self._session.leave()

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return bool(self._runs)

    # -- prompts

    def admit(self, blocks: tuple[Block, ...], trace: TraceContext | None, call: Call) -> Work:
        """Put a prompt in line; called in arrival order, so that a later cancel includes it."""
        run = PromptRun()
        self._runs.append(run)
        call.on_cancel = lambda: self._cancel_run(run)
        return self._answer(run, blocks, trace)

    def cancel(self, grace: float = CANCEL_GRACE) -> None:
        """Stop everything that has been asked for so far; does nothing in an idle session."""
        for run in list(self._runs):
            self._cancel_run(run, grace)

    async def _answer(self, run: PromptRun, blocks: tuple[Block, ...], trace: TraceContext | None) -> Params:
        try:
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

    async def _take_turn(self, run: PromptRun, parts: list[dict[str, Any]], trace: TraceContext | None) -> None:
        try:
            await self._reach_host()
        except (MspError, HostGone) as error:
            return run.settle(client_error(error, self.session_id))
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
            return run.settle(client_error(error, self.session_id))
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
            await self._interrupt(run)
        return None

    def _cancel_run(self, run: PromptRun, grace: float = CANCEL_GRACE) -> None:
        if run.cancelled or run.settled.is_set():
            return
        run.cancelled = True
        if run.submitted:
            self._background.start(self._stop, run, grace)
        else:
            run.in_line.cancel()

    def _is_stopped(self, turn_id: Any) -> bool:
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
            await self._interrupt(run)
            await run.settled.wait()
        if not run.settled.is_set():
            log.warning("the host did not end a stopped turn within %g s; going on without it", grace)
            self._given_up = True
            self._dialogs.withdraw_turns(run.turn_ids)
            for turn_id in run.turn_ids:
                self._projection.silence(turn_id)
            run.settle(None)

    async def _interrupt(self, run: PromptRun) -> None:
        for turn_id in sorted(run.turn_ids):
            try:
                await self._session.interrupt(turn_id)
            except (MspError, HostGone) as error:
                log.info("the host did not take an interrupt: %s", error)

    # -- events

    def _changed(self, change: Change) -> None:
        handle = self._on_change.get(type(change))
        if handle is not None:
            handle(change)
        else:
            self._projection.show(change)

    def _item_changed(self, change: ItemChanged) -> None:
        """A prompt comes back as the user's message, which tells its turn too (`msp.md §12.4`)."""
        item = change.item
        if item.kind == "userMessage" and item.turn_id is not None:
            self._name_run(item.raw.get("commandId"), item.turn_id)
        self._projection.show(change)

    def _name_run(self, command_id: Any, turn_id: str) -> None:
        for run in self._runs:
            if run.command_id == command_id:
                run.name(turn_id)

    def _turn_ended(self, change: TurnEnded) -> None:
        for run in self._runs:
            if change.turn_id in run.turn_ids:
                try:
                    self._end_turn(run)
                finally:
                    # Whatever cannot be shown: the prompt is answered.
                    run.settle(without_secrets(change.outcome, self._session.host.scrub))

    def _end_turn(self, run: PromptRun) -> None:
        """What has to be on the wire before the prompt is answered."""
        self._dialogs.withdraw_turns(run.turn_ids)
        for turn_id in sorted(run.turn_ids):
            self._projection.close_turn(turn_id)

    def _approval_resolved(self, change: ApprovalResolved) -> None:
        approval_id, item_id = change.params.get("approvalId"), change.params.get("itemId")
        if isinstance(approval_id, str):
            self._dialogs.withdraw(approval_id)
        if isinstance(item_id, str):
            self._projection.decided(item_id)

    # -- the host

    async def _reach_host(self) -> None:
        """Make sure the session is loaded on a living host: after a death, it is resumed on the next one
        (`fault-cases.md L9`)."""
        await self._session.host.wait_if_ending()
        if self._session.host.gone is None:
            return
        host = await self._hosts.host()
        async with host.opening():
            request: Params = {"sessionId": self.session_id, "excludeItems": True}
            await host.command("session/resume", request | self._config)
            self._session.move_to(host)
            self.listen()

    async def _watch_host(self, host: Host, watching: anyio.CancelScope) -> None:
        """When the host dies, nothing that waits for it is left waiting: cards first, then dialogs, then prompts."""
        with watching:
            await host.wait_gone()
        if watching.cancel_called:
            return
        assert host.gone is not None
        try:
            self._projection.close_turn(None)
            self._dialogs.withdraw_all()
        finally:
            for run in self._runs:
                if run.submitted:
                    run.settle(client_error(host.gone, self.session_id))
