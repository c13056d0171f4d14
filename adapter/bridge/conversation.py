"""One conversation: an ACP session and the MSP session behind it. Here is only who is told of what; what is done about
it stands in the parts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from adapter.acp.content import Block
from adapter.acp.trace import TraceContext
from adapter.bridge.consent import permission
from adapter.bridge.consent.child_sessions import ChildSessions
from adapter.bridge.consent.client_questions import ClientQuestions
from adapter.bridge.consent.dialogs import Dialogs
from adapter.bridge.consent.questions import Questions
from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.launch_profile import RESTRICTED, LaunchProfile
from adapter.bridge.projection import Projection
from adapter.bridge.session_state.facts import Facts
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.session_state.session_options import SessionOptions
from adapter.bridge.slash_commands.builtin_commands import Builtins
from adapter.bridge.slash_commands.commands import Commands
from adapter.bridge.stored_sessions.past import Past
from adapter.bridge.stored_sessions.roots import Roots
from adapter.bridge.terms import Terms
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.diffs import Diffs
from adapter.bridge.tool_cards.patches import read_patch
from adapter.bridge.tool_cards.tasks import Tasks
from adapter.bridge.turns.gate import EventGate
from adapter.bridge.turns.prompts import CANCEL_GRACE, Prompts
from adapter.bridge.turns.steering import Steering
from adapter.bridge.turns.untold_ends import UntoldEnds
from adapter.msp.changes import (
    ApprovalOpened,
    ApprovalResolved,
    ApprovalUpdated,
    Change,
    ContextUsageChanged,
    GapEnded,
    GapLeft,
    InputOpened,
    InputSettled,
    ItemChanged,
    RetryScheduled,
    SessionFactChanged,
    TextAppended,
    TodoListChanged,
    TokenUsageChanged,
    TurnEnded,
    TurnStarted,
)
from adapter.msp.errors import HostGone, SessionUnreachable
from adapter.msp.history import Opened
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, Work

log = logging.getLogger("adapter.bridge")


class Conversation:
    """`terms` is what the client can do; `config` what its MCP servers are to a host; `roots` where it may work."""

    def __init__(
        self,
        style: CardStyle,
        host: Host,
        hosts: ExecutionHosts,
        peer: Peer,
        background: Background,
        config: Params,
        terms: Terms | None = None,
        roots: Roots | None = None,
    ) -> None:
        self.session_id = style.session_id
        self.workspace = style.workspace
        self.terms = terms or Terms()
        self._peer = peer
        self._login = hosts.login
        roots = roots or Roots((style.workspace,))
        self.diffs = Diffs(
            style.workspace,
            lambda: roots.directories,
            lambda item: read_patch(self._session.host, style.session_id, item, style.workspace),
        )
        self._projection = Projection(
            style,
            peer,
            background,
            self.diffs,
            lambda item: self.tasks.meta(item),
            lambda: self._session.is_reading_back,
        )
        self._session = Session(host, style.session_id, self._changed, background)
        self.tasks = Tasks(self._session, background, self._projection.refresh_tasks)
        self._gate = EventGate(self._session.receive, background, self._session.tell_on)
        self._session.may_tell = lambda: not self._gate.is_held
        self._attachment = Attachment(
            self._session,
            hosts,
            background,
            config,
            self._gate.receive,
            self._host_gone,
            lambda: self._prompts.is_busy or bool(self._prompts.turns.host_turns),
        )
        self._prompts = Prompts(
            self._session,
            self._attachment,
            self._projection,
            background,
            self._gate,
            self._turns_over,
            style.workspace,
            self.terms.frame_cap,
        )
        self._untold_ends = UntoldEnds(self._session, background, lambda: self._prompts.turns.awaited)
        client = ClientQuestions(
            peer, self._projection, background, self.terms.questions, forms=self.terms.client.elicitation_form
        )
        preview, is_stopped = self.diffs.preview, self._prompts.is_stopped
        self.children = ChildSessions(self._session, client, self._projection, background, preview)
        self._dialogs = Dialogs(
            client, self._session, self._projection, background, preview, self._stop_asking, is_stopped
        )
        self._questions = Questions(
            client,
            self._session,
            self._projection,
            background,
            self._stop_asking,
            is_stopped,
            self._prompts.turns.pause,
        )
        self._prompts.take_prompt = self._questions.take_prompt
        self._prompts.on_queued = self._questions.went_on
        self._questions.has_next = self._prompts.has_next
        self._notices = notices = Notices(
            style.session_id,
            peer,
            shown=self.terms.client.notices,
            in_turn=lambda: self._projection.in_turn or self._projection.replaying,
        )
        self._facts = Facts(self._session, peer, notices, background)
        self.options = SessionOptions(
            self._session,
            self._attachment,
            peer,
            background,
            notices,
            allow_all=self.terms.allow_all,
            can_restrict=lambda: hosts.offers(RESTRICTED),
        )
        self.options.warn = self.warn
        self._prompts.before_turn = self.options.rein_in
        self._prompts.for_turn = self.options.for_turn
        self._builtins = Builtins(self._session, style, peer, background, self._prompts, lambda: self.options.settings)
        self._commands = Commands(self._session, style.workspace, peer, background, self._prompts, self._builtins)
        self._prompts.find_command = self._commands.find
        self.steering = Steering(
            self._session, style.workspace, peer, self.terms.client, self.terms.frame_cap, is_stopped
        )
        self._prompts.turns.on_shown = self.steering.turns_shown
        self._prompts.roots = roots
        self._past = Past(self._session, self._projection, notices, peer, lambda: self._retired)
        self._opened = Opened({})
        self._resumed = False
        self._warnings: list[tuple[str, str]] = []
        self._retired = False
        self._on_change: dict[type, Callable[[Any], None]] = {
            TextAppended: self._projection.show_text,
            TurnStarted: self._turn_started,
            TurnEnded: self._turn_ended,
            ItemChanged: self._item_changed,
            ApprovalOpened: self._approval_opened,
            ApprovalUpdated: lambda change: self._dialogs.ask(change.params),
            ApprovalResolved: lambda change: self._dialogs.resolved(change.params),
            InputOpened: self._input_opened,
            InputSettled: lambda change: self._questions.settled(change.params),
            TodoListChanged: self._facts.show,
            ContextUsageChanged: self._facts.show,
            TokenUsageChanged: self._tokens_used,
            SessionFactChanged: self._fact_changed,
            RetryScheduled: self._facts.show,
            GapLeft: self._facts.show,
            GapEnded: lambda change: self._untold_ends.gap_ended(),
        }

    # -- its life

    def opened(self, opened: Opened) -> None:
        """The host has opened the session, and said this of it; what can be set in it is learnt from now on. Nothing is
        let in before `go_on`, since the client has no answer yet."""
        self._opened = opened
        self._session.opened_at = opened.view_cursor
        self._gate.hold()
        self.options.begin(opened.row)
        self._commands.begin()

    def found(self, profile: LaunchProfile, before: Conversation | None) -> None:
        """The session is on a host of this kind. `before` is the conversation it was open in, whose mode it keeps."""
        self._attachment.found_on(profile)
        if before is not None:
            self.options.keep_mode(before.options.settings.mode)

    def started(self, request: Params) -> None:
        """The session was made by this request; for a host that did not store it, it can be made once more."""
        self._attachment.started(request)

    def warn(self, title: str, description: str) -> None:
        """Something the user has to know: told with the first turn, where every client can show it."""
        self._warnings.append((title, description))

    def row(self) -> Params:
        """The host's row of the session as it was opened, with the name it has now."""
        return self._opened.row | self._session.fold.facts.get("name", {}) | {"sessionId": self.session_id}

    def show_facts(self) -> None:
        """Tell what is known beside the messages, as after a replay: plan, use of the context, title, options."""
        self._facts.show_all(self._opened.row)
        self.options.show()

    def listen(self) -> None:
        """Take in the session's events from now on, those that were kept for it first."""
        if not self._opened.at_rest:
            self._prompts.turns.found_running(self._session.fold.turns.running)
        self._attachment.listen()
        if self._opened.view_cursor is not None:
            # What was being written when the host opened the session is known from then.
            self._gate.drop_streamed(self._opened.view_cursor)

    def unlisten(self) -> None:
        """Take in nothing more, and leave nothing behind that waits for the host."""
        self._attachment.unlisten()

    async def go_on(self) -> None:
        """The client has its answer: show what has happened meanwhile, and of a session that was resumed what stands in
        it and what can be read of it."""
        # What was served is in the fold now, and may be long.
        self._opened = msgspec.structs.replace(self._opened, state=None)
        self._gate.release()
        if self._resumed:
            await self._past.recall(self._opened, handles=self.terms.output_offered)
            if not self._retired:
                self.show_facts()
        await self._commands.show()

    def retire(self) -> None:
        """Show and ask nothing more: the session is closed, or another conversation has taken its place."""
        self._retired = True
        self._projection.stop()
        self._untold_ends.end()
        self._facts.end()
        self.options.end()
        self._commands.end()
        self._ask_no_more()

    async def replay(self, *, tasks_go_on: bool) -> None:
        """Show the whole stored conversation and what stands in it; before `listen`. `tasks_go_on`: what outlives turns
        may still run.

        Raises:
            MspError, HostGone: the host did not give it.
        """
        await self._past.show(self._opened, tasks_go_on=tasks_go_on)
        self.show_facts()

    def resume(self) -> None:
        """Go on with what the host has, and show nothing of it before `go_on`."""
        self._resumed = True
        self._past.take_note(self._opened)

    async def close(self) -> None:
        """Stop what runs, answer it, and show nothing more; the host still has to be left."""
        self.cancel()
        await self.all_answered()
        self._projection.close_turn(None)
        self.retire()
        self._attachment.end()

    def give_way(self) -> None:
        """The session has been opened anew, as another conversation."""
        self.retire()
        self._attachment.give_way()

    async def arrived(self) -> None:
        """Wait until no host is loading the session."""
        await self._attachment.arrived()

    async def leave(self) -> None:
        """Let the host forget the session; it stays stored."""
        await self._session.leave()

    # -- prompts

    @property
    def host(self) -> Host:
        """Where it is loaded."""
        return self._session.host

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is waiting or being answered."""
        return self._prompts.is_busy

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs in the session, asked for or not."""
        return self._attachment.is_idle

    @property
    def lost(self) -> SessionUnreachable | None:
        """Why the session is nowhere any more; None if it is somewhere."""
        return self._attachment.lost

    def admit(self, blocks: tuple[Block, ...], trace: TraceContext | None, call: Call) -> Work:
        """Put a prompt in line; called in arrival order, so that a later cancel includes it."""
        return self._prompts.admit(blocks, trace, call)

    async def all_answered(self) -> None:
        """Wait until no prompt is left, and nothing that was stopped runs on."""
        await self._prompts.all_answered()

    def cancel(self, grace: float = CANCEL_GRACE) -> None:
        """Stop everything that has been asked for so far; does nothing in an idle session."""
        self._prompts.cancel(grace)
        self._dialogs.refuse_rest()
        self._questions.cancel_all()
        self.children.refuse_all()

    # -- events

    def _changed(self, change: Change) -> None:
        if self._retired:
            # What is read back may still be on its way when the session is closed.
            return
        self._facts.hear(change)
        handle = self._on_change.get(type(change))
        if handle is not None:
            handle(change)
        else:
            self._projection.show(change)

    def _turn_started(self, change: TurnStarted) -> None:
        warnings, self._warnings = self._warnings, []
        self.steering.turn_started(change)
        self._prompts.turns.started(change)
        self._untold_ends.turn_changed()
        self._facts.show(change)
        for title, description in warnings:
            self._notices.tell(title, description)

    def _tokens_used(self, change: TokenUsageChanged) -> None:
        self._facts.show(change)
        self.options.take_usage(change.params)

    def _fact_changed(self, change: SessionFactChanged) -> None:
        self._facts.show(change)
        self.options.take(change.name, change.params)
        if change.name == "skills":
            self._commands.skills_changed()
        elif change.name == "status":
            self._untold_ends.status_changed(change.params)

    def _turn_ended(self, change: TurnEnded) -> None:
        self._login.turn_ended(change.outcome)
        self._prompts.turns.ended(change)
        self._untold_ends.turn_changed()
        self._commands.turn_ended(change)

    def _item_changed(self, change: ItemChanged) -> None:
        """A prompt comes back as the user's message, which tells its turn too (`msp.md §12.4`)."""
        item = change.item
        if item.kind == "userMessage" and item.turn_id is not None:
            self._prompts.turns.name_run(item.raw.get("commandId"), item.turn_id)
        if item.turn_id is not None:
            self._prompts.turns.hear_of(item.turn_id, first=change.first)
        self.children.learn(item)
        self._builtins.item_changed(item)
        self._projection.show(change)

    def _approval_opened(self, change: ApprovalOpened) -> None:
        self._goes_on(change.params.get("turnId"))
        self._dialogs.ask(change.params)

    def _input_opened(self, change: InputOpened) -> None:
        self._goes_on(change.params.get("turnId"))
        self._questions.ask(change.params)

    def _goes_on(self, turn_id: Any) -> None:
        """A turn that asks something is at work, also if its host has died and the next one goes on with it."""
        if turn_id in self._session.fold.turns.running:
            self._prompts.turns.found_running((turn_id,))

    def _turns_over(self, turn_ids: Collection[str]) -> None:
        self._dialogs.turns_over(turn_ids)
        self._questions.turns_over(turn_ids)

    def _stop_asking(self, params: Params) -> None:
        """Stop what asks for what can neither be shown nor refused: a subagent, or the turn."""
        if permission.is_of_subagent(params):
            self.children.stop(params)
        else:
            self._prompts.stop_turn(params.get("turnId"))

    def _ask_no_more(self) -> None:
        self._dialogs.withdraw_all()
        self._questions.withdraw_all()
        self.children.end()

    def _host_gone(self, why: HostGone) -> None:
        """Nothing that waits for a dead host is left waiting: cards first, then dialogs, then prompts."""
        self._gate.listen_no_longer()
        self._session.host_gone(why)
        self._facts.settle()
        try:
            self._projection.close_turn(None)
            self._ask_no_more()
        finally:
            self.steering.host_gone()
            self._prompts.turns.host_gone(why)
