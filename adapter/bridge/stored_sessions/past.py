"""What happened in a session before it was opened here: shown again by a load, and only taken note of by a resume
(`acp.md §4`, `msp.md §10.3, §11.2`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import anyio

from adapter.bridge.projection import Projection
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.stored_output.scan import FactScan, HandleScan, MalformedPage
from adapter.bridge.stored_output.walk import walk
from adapter.msp.changes import Change
from adapter.msp.errors import HostGone, MspError
from adapter.msp.history import History, Opened
from adapter.msp.session import Session
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

UNREADABLE: Final = "projectionUnavailable"
"""Why nothing was served, if there is something wrong with the session itself."""


class Past:
    """The past of one session; `is_over` says when nothing is to be shown of it any more."""

    def __init__(
        self, session: Session, projection: Projection, notices: Notices, peer: Peer, is_over: Callable[[], bool]
    ) -> None:
        self._session = session
        self._projection = projection
        self._notices = notices
        self._peer = peer
        self._is_over = is_over

    async def show(self, opened: Opened, *, tasks_go_on: bool) -> None:
        """Show the whole conversation, in order, and what is being written right now. `tasks_go_on`: what outlives
        turns may still run.

        Raises:
            MspError, HostGone: the host did not give it.
        """
        history, fold = self._session.history(), self._session.fold
        self._projection.replaying = True
        try:
            await self._show_pages(history)
            if opened.at_rest:
                # History may lack the end of a turn that died with its host.
                fold.turns.give_up()
            if opened.state is not None:
                self._tell(fold.complete_from(opened.state))
            if not fold.turns.running:
                self._projection.close_turn(None, tasks_go_on=tasks_go_on)
            if not history.complete:
                self._projection.history_incomplete(history.events)
            if not history.complete or opened.none_reason == UNREADABLE:
                self._notices.tell("Muse could not give all of this session's history", "What is shown may lack parts")
        finally:
            self._projection.replaying = False

    async def _show_pages(self, history: History) -> None:
        refused: Exception | None = None
        async with anyio.create_task_group() as tasks:
            try:
                async for changes in history.pages(tasks):
                    self._tell(changes)
                    await self._projection.settled()
                    await self._peer.writable()
            except (MspError, HostGone) as error:
                # Outside of the group, which would wrap it up.
                refused = error
        if refused is not None:
            raise refused

    def _tell(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self._projection.show(change)

    def take_note(self, opened: Opened) -> None:
        """Know what was served, without a word to the client."""
        if opened.state is not None:
            self._session.fold.load_snapshot(opened.state, opened.view_cursor)

    async def recall(self, opened: Opened, *, handles: bool) -> None:
        """Find what was not served: what stands in the session, and with `handles` what can be read of it
        (`docs/stored-output.md`). Only looks back so far, and a failure is only logged."""
        if not opened.is_snapshot:
            facts = FactScan(self._session.session_id)
            if await self._walked(facts):
                self._session.fold.load_events(facts.found())
        if handles:
            scan = HandleScan(self._session.session_id)
            await self._walked(scan)
            if self._is_over():
                return
            for item in scan.items():
                self._projection.restore(item)
            if not scan.exhausted:
                self._projection.history_incomplete(scan.events)

    async def _walked(self, scan: FactScan | HandleScan) -> bool:
        try:
            await walk(scan, self._session.host)
        except (MspError, HostGone, MalformedPage) as error:
            log.warning("the session's history could not be read: %s", error)
            return False
        return True
