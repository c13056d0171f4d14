"""One session on a host, live: its events folded in order, its gaps filled, its commands sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from adapter.msp.changes import Change
from adapter.msp.errors import HostGone, MspError
from adapter.msp.fold import SessionFold
from adapter.msp.history import History
from adapter.msp.host import Host
from adapter.msp.view import SessionView
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.msp")


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

    @property
    def fold(self) -> SessionFold:
        """The present state."""
        return self._view.fold

    def receive(self, method: str, params: Params) -> None:
        """Take in one event of this session, in arrival order."""
        filling = self._view.recovery.active
        self._tell(self._view.receive(method, params))
        if self._view.recovery.active and not filling:
            self._background.start(self._fill_gap)

    def move_to(self, host: Host) -> None:
        """The session is loaded on another host now; what was being streamed is not continued there."""
        self.host = host
        self.fold.distrust_streams()

    async def _fill_gap(self) -> None:
        """Read what was not delivered (`msp.md §11.4`)."""
        view = self._view
        while (page := view.next_page()) is not None:
            try:
                result = await self.host.query("view/page", page.params(self.session_id))
            except MspError as error:
                beyond = error.view_cursor if error.kind == "pageEventTooLarge" else None
                self._tell(view.page_failed(error.kind, beyond))
            except HostGone as error:
                self._tell(view.give_up(str(error)))
            else:
                self._tell(view.take_page(result))
        if view.incomplete is not None:
            log.warning("a gap in the session's events could not be filled: %s", view.incomplete)
        if view.reconcile_due:
            await self.reconcile()

    def _tell(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._on_change(change)

    def history(self) -> History:
        """The session's stored events, to be read from the beginning."""
        return History(self.host, self.fold)

    async def leave(self) -> None:
        """Stop the events and, where the host can, whatever runs, and have it unload the session; a failure is only
        logged."""
        try:
            await self.host.query("view/unsubscribe", {"sessionId": self.session_id})
            await self.host.command("session/leave", {"sessionId": self.session_id, "stop": True})
        except MspError as error:
            if error.kind != "methodNotFound":
                log.warning("the host did not let go of a session: %s", error)
        except HostGone:
            pass

    # -- commands

    async def start_turn(
        self,
        command_id: str,
        parts: list[dict[str, Any]],
        *,
        replace: bool = False,
        display_text: str | None = None,
        effort: str | None = None,
        trace: Params | None = None,
    ) -> Params:
        """Submit a prompt; the ack names the turn, its end comes as a change. `replace` stops whatever runs.

        `display_text` is what a transcript shows of the prompt, if that is not its input; `effort` the reasoning tier
        of this turn alone.

        Raises:
            MspError, HostGone: it was not admitted, or nobody knows.
        """
        params: Params = {"sessionId": self.session_id, "input": parts}
        if replace:
            params["ifBusy"] = "replace"
        if display_text is not None:
            params["displayText"] = display_text
        if effort is not None:
            params["reasoningEffort"] = effort
        return await self.host.command("turn/start", params, command_id=command_id, trace=trace)

    async def interrupt(self, turn_id: str) -> None:
        """Ask the host to stop exactly this turn.

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        await self.host.command("turn/interrupt", {"sessionId": self.session_id, "turnId": turn_id})

    async def set_model(self, model: Params) -> Params:
        """Choose the model from the next call on; `model` as `model/list` names it (`msp.md §17.1`).

        Raises:
            MspError, HostGone: as for `Host.command`.
        """
        return await self.host.command("session/setModel", {"sessionId": self.session_id, "model": model})

    async def set_reasoning_effort(self, tier: str) -> Params:
        """Make `tier` the session's standing effort; nothing takes that back (`msp.md §17.2`).

        Raises:
            MspError, HostGone: as for `Host.command`; `methodNotFound` on a host that knows no standing effort.
        """
        params = {"sessionId": self.session_id, "reasoningEffort": tier}
        return await self.host.command("session/setReasoningEffort", params)

    async def set_approval_mode(self, mode: str) -> Params:
        """Choose what is asked for; the ack's `effectiveMode` tells what is in force (`msp.md §17.3`).

        Raises:
            MspError, HostGone: as for `Host.command`; `commandRejected` where the host allows no such mode.
        """
        return await self.host.command("session/setApprovalMode", {"sessionId": self.session_id, "mode": mode})

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
        else:
            self._tell(self._view.reconcile(pending, before))
