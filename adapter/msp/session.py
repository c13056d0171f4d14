"""One session on a host, live: its events folded in order, its gaps filled, its commands sent."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final

import anyio

from adapter.msp.abilities import is_lacking
from adapter.msp.changes import Change, GapEnded, GapLeft, TurnEnded
from adapter.msp.errors import HostClosed, HostGone, MspError, RequestTimeout
from adapter.msp.event_routing import EVENTS_LOST
from adapter.msp.fold import SessionFold
from adapter.msp.history import History
from adapter.msp.host import Host
from adapter.msp.ids import uuid7
from adapter.msp.view import SessionView
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.notes import RateLimited

log = logging.getLogger("adapter.msp")

UNSUBSCRIBE_SECONDS: Final = 2.0
PAGE_SECONDS: Final = 30.0
"""How long a host may take for a page of what it did not deliver; everything newer waits for it."""

LEAVE_SECONDS: Final = 10.0
"""How long a host may take to stop a session's events, and to let go of it."""

LOOK_SECONDS: Final = 2.0
"""How long a host may take to tell what is open when it has not taken an answer; what is known counts then."""


class Session:
    """A session that is loaded on `host`. `on_change` is told everything that happens, in order; it must not block."""

    def __init__(
        self, host: Host, session_id: str, on_change: Callable[[Change], None], background: Background
    ) -> None:
        self.host = host
        self.session_id = session_id
        self._view = SessionView(session_id)
        self._on_change = on_change
        self._background = background
        self._untold: deque[tuple[Change, bool]] = deque()
        """Changes that wait until they may be told, and whether each was read back."""
        self._telling = False
        self.may_tell: Callable[[], bool] = lambda: True
        """Asked before each change: what was lost comes many events at a time, and one of them may hold the rest. When
        it may be told again, `tell_on` has to be called."""
        self._faults = RateLimited(log)
        self.received = 0
        """How many events have come."""
        self.is_reading_back = False
        """Whether what is told now happened before, and was lost on the way."""
        self.is_whole = False
        """Whether its events are known from the first one on."""
        self.opened_at: str | None = None
        """The newest event there was when it was opened, if the host has said so."""
        self._unread_after: str | None = None
        """Behind which event something was lost that a host did not live to give; the next one is asked for it."""
        self.return_to_host: Callable[[HostGone | MspError], Awaitable[None]] | None = None
        """Awaited when a host has ended before it acknowledged a command, or does not have the session loaded: it is
        loaded again, there or on the next host. Raises if it cannot be."""

    @property
    def fold(self) -> SessionFold:
        """The present state."""
        return self._view.fold

    def receive(self, method: str, params: Params) -> None:
        """Take in one event of this session, in arrival order."""
        if method == EVENTS_LOST:
            return self._events_lost()
        self.received += 1
        if method != "view/gap":
            return self._tell(self._view.receive(method, params))
        filling = self.is_filling
        self._tell(self._view.receive(method, params), read_back=True)
        if self.is_filling and not filling:
            self._background.start(self._fill_gap)
        return None

    def _events_lost(self) -> None:
        """Read what came before anybody listened, as far as it is not known; else at least what is open now."""
        after = self.fold.last_durable_cursor or self.opened_at
        if after is not None:
            return self.receive("view/gap", {"sessionId": self.session_id, "after": after, "next": ""})
        self.fold.note_hole()
        self._background.start(self.reconcile)
        return None

    def move_to(self, host: Host) -> None:
        """The session is loaded on another host now; what was being streamed is not continued there."""
        self.host = host
        self.fold.distrust_streams()
        self.fold.forget_asked()

    def catch_up(self, head: str | None) -> None:
        """Read what has happened since the last durable event that was seen, or since it was opened, up to `head`; what
        arrives meanwhile comes after it. Then see which questions are open."""
        after = self._unread_after or self.fold.last_durable_cursor or self.opened_at
        self._unread_after = None
        if after is None or after == head:
            self._background.start(self.reconcile)
        else:
            self._read_back(lambda: self._view.recovery.open(after, head or ""))

    def read_anew(self) -> None:
        """Read everything from the beginning, for what is not known of it; then see which questions are open."""
        self._unread_after = None
        self._read_back(self._view.recovery.restart)

    def _read_back(self, begin: Callable[[], None]) -> None:
        filling = self._view.recovery.active
        begin()
        if not filling:
            self._background.start(self._fill_gap)

    @property
    def is_unfinished(self) -> bool:
        """Whether something of it is going on at its host, as far as is known."""
        return bool(self.fold.turns.running or self.fold.open_questions)

    @property
    def is_filling(self) -> bool:
        """Whether something that was not delivered is being read."""
        return self._view.recovery.active

    def host_gone(self, why: HostGone) -> None:
        """The host tells nothing more: what it has told counts, and what is missing before that is left to the next
        one."""
        if self.is_filling:
            self._unread_after = self._view.recovery.after
            self._tell(self._view.give_up(str(why)), read_back=True)

    def end_untold(self, turn_id: str) -> None:
        """Take a turn as over, of which nobody tells what came of it."""
        self._tell(self.fold.end_untold(turn_id))

    async def _fill_gap(self) -> None:
        """Read what was not delivered (`msp.md §11.4`)."""
        view = self._view
        while (page := view.next_page()) is not None:
            try:
                result = await self.host.query("view/page", page.params(self.session_id), seconds=PAGE_SECONDS)
            except MspError as error:
                beyond = error.view_cursor if error.kind == "pageEventTooLarge" else None
                self._tell(view.page_failed(error.kind, beyond), read_back=True)
            except RequestTimeout:
                self._tell(view.give_up("the host did not send it in time"), read_back=True)
            except HostClosed as error:
                self.host_gone(error)
            except HostGone as error:
                self._tell(view.give_up(str(error)), read_back=True)
            else:
                self._tell(view.take_page(result), read_back=True)
        if view.incomplete is not None and self._unread_after is None:
            log.warning("a gap in the session's events could not be filled: %s", view.incomplete)
            self._tell([GapLeft(view.incomplete)])
        self._tell([GapEnded()])
        if view.reconcile_due:
            await self.reconcile()

    def _tell(self, changes: Sequence[Change], *, read_back: bool = False) -> None:
        if changes:
            self._untold += [(change, read_back) for change in changes]
            self.tell_on()

    def tell_on(self) -> None:
        """Tell the changes that wait, in order, as long as they may be told."""
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold and self.may_tell():
                change, self.is_reading_back = self._untold.popleft()
                try:
                    self._on_change(change)
                except Exception as error:
                    # What follows must not wait for ever behind what could not be told, nor the reading of a gap end.
                    self._faults.failure(error, "telling of a change failed")
        finally:
            self.is_reading_back = self._telling = False

    def is_end_untold(self, turn_id: str) -> bool:
        """Whether this turn is over, as far as is known, and what it said last may still have to be told."""
        return any(isinstance(change, TurnEnded) and change.turn_id == turn_id for change, _ in self._untold)

    def has_end(self, turn_id: str) -> bool:
        """Whether the end of this turn has come and has still to be told, which needs nothing of the host."""
        is_held = self.fold.turns.outcome(turn_id) is None and self._view.recovery.holds_end(turn_id)
        return is_held or self.is_end_untold(turn_id)

    def history(self) -> History:
        """The session's stored events, to be read from the beginning."""
        self.is_whole = True
        return History(self.host, self.fold)

    async def leave(self) -> None:
        """Stop the events and, where the host can, whatever runs, and have it unload the session; a failure is only
        logged. Returns when the host has let go of it, or nothing more can be done, which takes no longer than
        `UNSUBSCRIBE_SECONDS` and `LEAVE_SECONDS`."""
        asked = {"sessionId": self.session_id}
        stopping = self.host.query("view/unsubscribe", asked)
        await self._let_go("view/unsubscribe", stopping, UNSUBSCRIBE_SECONDS)
        leaving = self.host.carry_out(
            "session/leave", {**asked, "stop": True}, conclusion="session/leaveCompleted", seconds=LEAVE_SECONDS
        )
        await self._let_go("session/leave", leaving, LEAVE_SECONDS)

    async def _let_go(self, method: str, step: Coroutine[Any, Any, object], seconds: float) -> None:
        try:
            with anyio.fail_after(seconds):
                await step
        except MspError as error:
            if not is_lacking(error):
                log.warning("the host did not let go of a session: %s", error)
        except RequestTimeout as error:
            log.warning("the host did not let go of a session: %s", error)
        except TimeoutError:
            log.warning("the host did not let go of a session: no answer to %s within %g s", method, seconds)
        except HostGone:
            pass

    # -- commands

    async def command(
        self,
        method: str,
        params: Params,
        *,
        command_id: str | None = None,
        trace: Params | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Params:
        """Send a command about this session; the ack.

        If the host ends before it has acknowledged it, the session is loaded on the next one and the command is sent
        there under the same id, once, if it is still `wanted`: a durable host takes it in once, however often it comes
        (`msp.md §6, §23.4`). Not for decisions, whose ids another host does not know, and not for stopping things,
        which no other host remembers.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {"sessionId": self.session_id, **params}
        command_id = command_id or uuid7()
        try:
            return await self.host.command(method, params, command_id=command_id, trace=trace, wanted=wanted)
        except HostClosed as error:
            missed: HostGone | MspError = error
        except MspError as error:
            if error.kind != "sessionNotLoaded":
                raise
            missed = error
        if self.return_to_host is None or not wanted():
            raise missed
        await self.return_to_host(missed)
        if not wanted():
            raise missed
        return await self.host.command(method, params, command_id=command_id, trace=trace, wanted=wanted)

    async def start_turn(
        self,
        command_id: str,
        parts: list[dict[str, Any]],
        *,
        replace: bool = False,
        display_text: str | None = None,
        effort: str | None = None,
        roots: Sequence[str] | None = None,
        trace: Params | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Params:
        """Submit a prompt; the ack names the turn, its end comes as a change. `replace` stops whatever runs. `wanted`
        is as for `command`.

        `display_text` is what a transcript shows of the prompt, if that is not its input; `effort` the reasoning tier
        of this turn alone; `roots` the folders it may work in from now on, its own first.

        Raises:
            MspError, HostGone: it was not admitted, or nobody knows.
        """
        params: Params = {"input": parts}
        if replace:
            params["ifBusy"] = "replace"
        if display_text is not None:
            params["displayText"] = display_text
        if effort is not None:
            params["reasoningEffort"] = effort
        if roots is not None:
            params["workspaceRoots"] = list(roots)
        return await self.command("turn/start", params, command_id=command_id, trace=trace, wanted=wanted)

    async def interrupt(self, turn_id: str) -> None:
        """Ask the host to stop exactly this turn.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        await self.host.command("turn/interrupt", {"sessionId": self.session_id, "turnId": turn_id})

    async def unqueue(self, turn_id: str) -> None:
        """Take a queued prompt back before the host begins its turn.

        Raises:
            MspError, HostGone: as for `Host.command`; `commandRejected` if it was too late.
        """
        await self.host.command("turn/unqueue", {"sessionId": self.session_id, "turnId": turn_id})

    async def steer(self, turn_id: str, parts: list[dict[str, Any]]) -> Params:
        """Add input to exactly this running turn.

        Raises:
            MspError, HostGone: as for `Host.command`; `commandRejected` if the turn does not run.
        """
        params: Params = {"sessionId": self.session_id, "expectedTurnId": turn_id, "input": parts}
        return await self.host.command("turn/steer", params)

    async def set_model(self, model: Params) -> Params:
        """Choose the model from the next call on; `model` as `model/list` names it (`msp.md §17.1`).

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        return await self.command("session/setModel", {"model": model})

    async def set_reasoning_effort(self, tier: str) -> Params:
        """Make `tier` the session's standing effort; nothing takes that back (`msp.md §17.2`).

        Raises:
            MspError, HostGone: as for `Host.command`; `methodNotFound` on a host that knows no standing effort.
        """
        return await self.command("session/setReasoningEffort", {"reasoningEffort": tier})

    async def set_approval_mode(self, mode: str) -> Params:
        """Choose what is asked for; the ack's `effectiveMode` tells what is in force (`msp.md §17.3`).

        Raises:
            MspError, HostGone: as for `Host.command`; `commandRejected` where the host allows no such mode.
        """
        return await self.command("session/setApprovalMode", {"mode": mode})

    async def decide(
        self,
        approval_id: str,
        requirement_id: Any,
        choice_id: str,
        feedback: str | None = None,
        *,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Params:
        """Decide one stage of an approval with a choice the host offered; `feedback` only with a choice that accepts
        it. The ack says whether that was the last stage (`terminal`). A host that was too busy for it gets it again
        while it is `wanted`.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {
            "sessionId": self.session_id,
            "approvalId": approval_id,
            "requirementId": requirement_id,
            "choiceId": choice_id,
        }
        if feedback is not None:
            params["feedback"] = feedback
        return await self.host.command("approval/decide", params, wanted=wanted)

    async def stop_subagent(self, subagent_id: str) -> None:
        """Ask the host to stop one subagent of this session.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {"sessionId": self.session_id, "subagentId": subagent_id, "reason": "nobody could be asked"}
        await self.host.command("subagent/stop", params)

    async def answer_input(
        self, input_id: str, answers: Sequence[Params], *, wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Answer a question of the host: one answer for each part of it (`msp.md §16`). A host that was too busy for it
        gets it again while it is `wanted`.

        Raises:
            MspError, HostGone: as for `Host.command`; `userInputAnswerInvalid` leaves the question open.
        """
        params = {"sessionId": self.session_id, "userInputId": input_id, "answers": list(answers)}
        await self.host.command("userInput/answer", params, wanted=wanted)

    async def clarify_input(self, input_id: str, text: str, *, wanted: Callable[[], bool] = lambda: True) -> None:
        """Answer a question of the host with the user's own words, of which the model makes what it can. `wanted` is as
        for `answer_input`.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        clarification = {"content": text, "format": "text"}
        params = {"sessionId": self.session_id, "userInputId": input_id, "clarification": clarification}
        await self.host.command("userInput/clarify", params, wanted=wanted)

    def engage_input(self, input_id: str) -> None:
        """Tell the host that the user has the question on screen, so that it does not answer it by itself."""
        self.host.notify("userInput/engaged", {"sessionId": self.session_id, "userInputId": input_id})

    async def cancel_input(self, input_id: str, reason: str) -> None:
        """Answer a question of the host with nothing.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {"sessionId": self.session_id, "userInputId": input_id, "reason": reason}
        await self.host.command("userInput/cancel", params)

    async def look(self) -> None:
        """Like `reconcile`, for somebody who waits: it takes no longer than `LOOK_SECONDS`."""
        with anyio.move_on_after(LOOK_SECONDS):
            await self.reconcile()

    async def reconcile(self) -> None:
        """Read which approvals and questions are open and tell what that changes; a failure is only logged."""
        before = self.fold.open_questions
        try:
            pending = await self.host.query("approval/listPending", {"sessionId": self.session_id})
        except (MspError, HostGone) as error:
            log.warning("open questions could not be read: %s", error)
        else:
            self._tell(self._view.reconcile(pending, before))
