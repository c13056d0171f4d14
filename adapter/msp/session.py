"""One session on a host, live: its events folded in order, its gaps filled, its commands sent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from anyio.abc import TaskGroup

from adapter.msp.changes import Change, GapSeen
from adapter.msp.errors import HostGone, MspError
from adapter.msp.fold import SessionFold
from adapter.msp.gaps import FillStep, GapRecovery
from adapter.msp.host import Host
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.msp")


class Session:
    """A session that is loaded on `host`. `on_change` is told everything that happens, in order; it must not block."""

    def __init__(self, host: Host, session_id: str, on_change: Callable[[Change], None], tasks: TaskGroup) -> None:
        self.host = host
        self.session_id = session_id
        self.fold = SessionFold(session_id)
        self._on_change = on_change
        self._tasks = tasks
        self._recovery = GapRecovery()

    def receive(self, method: str, params: Params) -> None:
        """Take in one event of this session, in arrival order."""
        if self._recovery.active and method != "view/gap":
            self._recovery.hold(method, params)
            return
        for change in self.fold.apply(method, params):
            if type(change) is GapSeen:
                self._fill(change)
            else:
                self._on_change(change)

    def move_to(self, host: Host) -> None:
        """The session is loaded on another host now; what was being streamed is not continued there."""
        self.host = host
        self.fold.distrust_streams()

    # -- gaps (`msp.md §11.4`)

    def _fill(self, gap: GapSeen) -> None:
        recovering = self._recovery.active
        self._recovery.open(gap.after, gap.next)
        if not recovering:
            self._tasks.start_soon(self._recover)

    async def _recover(self) -> None:
        recovery = self._recovery
        while (request := recovery.next_request()) is not None:
            try:
                page = await self.host.query("view/page", request.params(self.session_id))
            except MspError as error:
                beyond = error.view_cursor if error.kind == "pageEventTooLarge" else None
                step = recovery.failed(error.kind, beyond)
            except HostGone as error:
                step = recovery.give_up(str(error))
            else:
                step = recovery.accept(page)
            await self._take(step)

    async def _take(self, step: FillStep) -> None:
        """Apply what a page brought, then what was held back for it."""
        if step.re_anchored is not None:
            log.info("a gap could not be filled in place (%s); reading from further back", step.re_anchored)
        if step.incomplete is not None:
            log.warning("a gap in the session's events could not be filled: %s", step.incomplete)
        for change in self.fold.load_events(step.events, step.after):
            self._on_change(change)
        if step.lost_live:
            self.fold.distrust_streams()
        for method, params in step.live:
            self.receive(method, params)
        if step.reconcile_approvals:
            await self.reconcile()

    # -- commands

    async def start_turn(
        self, command_id: str, parts: list[dict[str, Any]], *, replace: bool = False, trace: Params | None = None
    ) -> Params:
        """Submit a prompt; the ack names the turn, its end comes as a change. `replace` stops whatever runs.

        Raises:
            MspError, HostGone: it was not admitted, or nobody knows.
        """
        params: Params = {"sessionId": self.session_id, "input": parts}
        if replace:
            params["ifBusy"] = "replace"
        return await self.host.command("turn/start", params, command_id=command_id, trace=trace)

    async def interrupt(self, turn_id: str) -> None:
        """Ask the host to stop exactly this turn.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        await self.host.command("turn/interrupt", {"sessionId": self.session_id, "turnId": turn_id})

    async def decide(self, approval_id: str, requirement_id: Any, choice_id: str) -> None:
        """Decide one stage of an approval with a choice the host offered.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {
            "sessionId": self.session_id,
            "approvalId": approval_id,
            "requirementId": requirement_id,
            "choiceId": choice_id,
        }
        await self.host.command("approval/decide", params)

    async def cancel_input(self, input_id: str, reason: str) -> None:
        """Answer a question of the host with nothing.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        params = {"sessionId": self.session_id, "userInputId": input_id, "reason": reason}
        await self.host.command("userInput/cancel", params)

    async def reconcile(self) -> None:
        """Read which approvals and questions are open and tell what that changes; a failure is only logged."""
        before = self.fold.open_questions
        try:
            pending = await self.host.query("approval/listPending", {"sessionId": self.session_id})
        except (MspError, HostGone) as error:
            log.warning("open questions could not be read: %s", error)
            return
        for change in self.fold.reconcile(pending, before):
            self._on_change(change)
