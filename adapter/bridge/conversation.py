"""One conversation: an ACP session and the MSP session behind it. Here is only who is told of what; what is done about
it stands in the parts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from adapter.acp.content import Block
from adapter.acp.trace import TraceContext
from adapter.bridge.attachment import Attachment
from adapter.bridge.card_style import CardStyle
from adapter.bridge.dialogs import Dialogs
from adapter.bridge.diffs import Diffs
from adapter.bridge.execution_hosts import ExecutionHosts
from adapter.bridge.facts import Facts
from adapter.bridge.launch_profile import RESTRICTED
from adapter.bridge.notices import Notices
from adapter.bridge.projection import Projection
from adapter.bridge.prompts import CANCEL_GRACE, Prompts
from adapter.bridge.session_options import SessionOptions
from adapter.bridge.stored_output.scan import HandleScan, MalformedPage
from adapter.bridge.stored_output.walk import walk
from adapter.bridge.terms import Terms
from adapter.msp.changes import (
    ApprovalOpened,
    ApprovalResolved,
    ApprovalUpdated,
    Change,
    ContextUsageChanged,
    GapLeft,
    InputOpened,
    ItemChanged,
    RetryScheduled,
    SessionFactChanged,
    TodoListChanged,
    TokenUsageChanged,
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


class Conversation:
    """`terms` is what the client can do; `config` what its MCP servers are to a host."""

    def __init__(
        self,
        style: CardStyle,
        host: Host,
        hosts: ExecutionHosts,
        peer: Peer,
        background: Background,
        config: Params,
        terms: Terms | None = None,
    ) -> None:
        self.session_id = style.session_id
        self.workspace = style.workspace
        self.terms = terms or Terms()
        self._peer = peer
        self._login = hosts.login
        self.diffs = Diffs(style.workspace, lambda: (style.workspace,))
        self._projection = Projection(style, peer)
        self._session = Session(host, style.session_id, self._changed, background)
        self._attachment = Attachment(
            self._session, hosts, background, config, self._receive, self._host_gone, lambda: self._prompts.is_busy
        )
        self._prompts = Prompts(
            self._session,
            self._attachment,
            self._projection,
            background,
            lambda turn_ids: self._dialogs.withdraw_turns(turn_ids),
        )
        self._dialogs = Dialogs(
            peer, self._session, self._projection, background, self.cancel, self._prompts.is_stopped
        )
        notices = Notices(
            style.session_id, peer, shown=self.terms.client.notices, in_turn=lambda: self._projection.in_turn
        )
        self._facts = Facts(self._session, peer, notices)
        self.options = SessionOptions(
            self._session,
            self._attachment,
            peer,
            background,
            notices,
            allow_all=self.terms.allow_all,
            can_restrict=lambda: hosts.offers(RESTRICTED),
        )
        self._row: Params = {}
        """What the host said of the session when it opened it (`msp.md §10.1`)."""
        self._retired = False
        self._held: list[tuple[str, Params]] | None = None
        """Events that wait for `go_on`; None if they do not have to."""
        self._on_change: dict[type, Callable[[Any], None]] = {
            TurnStarted: self._turn_started,
            TurnEnded: self._turn_ended,
            ItemChanged: self._item_changed,
            ApprovalOpened: lambda change: self._dialogs.ask(change.params),
            ApprovalUpdated: lambda change: self._dialogs.ask(change.params),
            ApprovalResolved: self._approval_resolved,
            InputOpened: lambda change: self._dialogs.decline_input(change.params),
            TodoListChanged: self._facts.show,
            ContextUsageChanged: self._facts.show,
            TokenUsageChanged: self._tokens_used,
            SessionFactChanged: self._fact_changed,
            RetryScheduled: self._facts.show,
            GapLeft: self._facts.show,
        }

    # -- its life

    def opened(self, row: Params) -> None:
        """The host has opened the session, and said this of it; what can be set in it is learnt from now on."""
        self._row = row
        self.options.begin(row)

    def row(self) -> Params:
        """The host's row of the session as it was opened, with the name it has now."""
        return self._row | self._session.fold.facts.get("name", {}) | {"sessionId": self.session_id}

    def show_facts(self) -> None:
        """Tell what is known beside the messages, as after a replay: plan, use of the context, title, options."""
        self._facts.show_all(self._row)
        self.options.show()

    def listen(self) -> None:
        """Take in the session's events from now on, those that were kept for it first."""
        self._attachment.listen()

    def unlisten(self) -> None:
        """Take in nothing more, and leave nothing behind that waits for the host."""
        self._attachment.unlisten()

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

    def retire(self) -> None:
        """Show and ask nothing more: the session is closed, or another conversation has taken its place."""
        self._retired = True
        self.options.end()
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
        await self._prompts.all_answered()
        self.retire()
        self.unlisten()
        await self.leave()

    async def leave(self) -> None:
        """Let the host forget the session; it stays stored."""
        await self._session.leave()

    # -- prompts

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return self._prompts.is_busy

    def admit(self, blocks: tuple[Block, ...], trace: TraceContext | None, call: Call) -> Work:
        """Put a prompt in line; called in arrival order, so that a later cancel includes it."""
        return self._prompts.admit(blocks, trace, call)

    def cancel(self, grace: float = CANCEL_GRACE) -> None:
        """Stop everything that has been asked for so far; does nothing in an idle session."""
        self._prompts.cancel(grace)

    # -- events

    def _receive(self, method: str, params: Params) -> None:
        if self._held is None:
            self._session.receive(method, params)
        else:
            self._held.append((method, params))

    def _changed(self, change: Change) -> None:
        handle = self._on_change.get(type(change))
        if handle is not None:
            handle(change)
        else:
            self._projection.show(change)

    def _turn_started(self, change: TurnStarted) -> None:
        self._prompts.name_run(change.command_id, change.turn_id)
        self._facts.show(change)

    def _tokens_used(self, change: TokenUsageChanged) -> None:
        self._facts.show(change)
        self.options.take_usage(change.params)

    def _fact_changed(self, change: SessionFactChanged) -> None:
        self._facts.show(change)
        self.options.take(change.name, change.params)

    def _turn_ended(self, change: TurnEnded) -> None:
        self._login.turn_ended(change.outcome)
        self._prompts.turn_ended(change)

    def _item_changed(self, change: ItemChanged) -> None:
        """A prompt comes back as the user's message, which tells its turn too (`msp.md §12.4`)."""
        item = change.item
        if item.kind == "userMessage" and item.turn_id is not None:
            self._prompts.name_run(item.raw.get("commandId"), item.turn_id)
        self._projection.show(change)

    def _approval_resolved(self, change: ApprovalResolved) -> None:
        approval_id, item_id = change.params.get("approvalId"), change.params.get("itemId")
        if isinstance(approval_id, str):
            self._dialogs.withdraw(approval_id)
        if isinstance(item_id, str):
            self._projection.decided(item_id)

    def _host_gone(self, why: HostGone) -> None:
        """Nothing that waits for a dead host is left waiting: cards first, then dialogs, then prompts."""
        try:
            self._projection.close_turn(None)
            self._dialogs.withdraw_all()
        finally:
            self._prompts.host_gone(why)
