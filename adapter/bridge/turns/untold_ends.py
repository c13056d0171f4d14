"""Turns whose end was not told: messages of a host can be lost, and the end of a turn among them (`msp.md §11.4`).

Where a gap cannot be read, or a host says that it is idle while a prompt waits, it is asked what it does now. A prompt
is ended only when its turn no longer runs, as far as anybody can know.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final

import anyio

from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

LOOK_SECONDS: Final = 2.0
"""How long the end of a turn may still come before the host is asked, and before it is believed."""

ANSWER_SECONDS: Final = 5.0
"""How long a host may take to say what it does; some never answer what they do not know."""

QUIET_SECONDS: Final = 120.0
"""How long a host that cannot say what it does must be silent for a turn to count as over; a model may think long."""

QUIET_CALL_SECONDS: Final = 1800.0
"""The same while a call of the turn has not ended: commands may run long without a word."""

LIST_LIMIT: Final = 200
"""Rows of the list a session is looked for in; what has just run is among the first."""

_OVER: Final = frozenset({"idle", "notLoaded"})
_RUNS: Final = "running"


class UntoldEnds:
    """Watches over one session. `awaited` names the turns that prompts wait for."""

    def __init__(self, session: Session, background: Background, awaited: Callable[[], Collection[str]]) -> None:
        self._session = session
        self._background = background
        self._awaited = awaited
        self._doubted: set[str] = set()
        self._looking = self._look_again = self._is_over = False
        self._idle_at = -1
        """How many events had come when the host last said that it is idle; -1 if it has begun something since."""

    def gap_ended(self) -> None:
        """Something was lost, and read again as far as possible."""
        self._idle_at = -1
        self._doubt()

    def status_changed(self, params: Params) -> None:
        """The host says what it does."""
        if _is_over(params.get("status")):
            self._idle_at = self._session.received
            self._doubt()
        else:
            self._idle_at = -1

    def turn_changed(self) -> None:
        """A turn has begun or ended: one that was said to run beside it may be over."""
        if self._doubted:
            self._look()

    def end(self) -> None:
        """Nobody waits any more."""
        self._is_over = True
        self._doubted.clear()

    def _doubt(self) -> None:
        if self._is_over:
            return
        self._doubted.update(self._session.fold.turns.running, self._awaited())
        if self._doubted:
            self._look()

    def _look(self) -> None:
        self._look_again = True
        if not self._looking:
            self._looking = True
            self._background.start(self._follow)

    async def _follow(self) -> None:
        try:
            while self._look_again:
                self._look_again = False
                await self._ask_until_known()
        finally:
            self._looking = False

    async def _ask_until_known(self) -> None:
        quiet, seen, over = 0.0, self._session.received, set[str]()
        while True:
            await anyio.sleep(LOOK_SECONDS)
            if self._session.host.gone is not None:
                return self._doubted.clear()
            if not self._untold():
                return None
            row = await self._row()
            left = self._untold()
            quiet = quiet + LOOK_SECONDS if seen == self._session.received else 0.0
            seen = self._session.received
            found = self._over(left, row, quiet)
            if found is None:
                return None
            # Twice in a row: a host may say that it is idle just before it tells the end, or begins what waits.
            for turn_id in [turn_id for turn_id in found if turn_id in over or quiet >= QUIET_SECONDS]:
                log.warning("the end of a turn was lost; the host no longer runs it")
                self._doubted.discard(turn_id)
                self._session.end_untold(turn_id)
            over = set(found)

    def _untold(self) -> tuple[str, ...]:
        """The turns in doubt that have still not ended."""
        outcome = self._session.fold.turns.outcome
        self._doubted = {turn_id for turn_id in self._doubted if outcome(turn_id) is None}
        return tuple(self._doubted)

    def _over(self, left: Collection[str], row: Params, quiet: float) -> Collection[str] | None:
        """Those of them that no longer run; None if one runs, and nothing more is to be learnt by asking."""
        status, active = row.get("status"), row.get("activeTurnId")
        running = self._session.fold.turns.running
        if self._session.is_filling or self._session.fold.open_questions:
            # The end may be told yet, or waits for the user.
            return ()
        if _is_over(status) or (status is None and self._idle_at == self._session.received):
            return left
        if status == _RUNS:
            now = active if isinstance(active, str) else (running[-1] if running else None)
            # A session runs one turn at a time: those that began before this one are over.
            before = running[: running.index(now)] if now in running else ()
            return [turn_id for turn_id in left if turn_id in before] or None
        patience = QUIET_CALL_SECONDS if self._has_calls(left) else QUIET_SECONDS
        return left if quiet >= patience else ()

    def _has_calls(self, turn_ids: Collection[str]) -> bool:
        opened = self._session.fold.items.open_items()
        return any(item.turn_id in turn_ids and item.kind in {"toolCall", "userShell", "subagent"} for item in opened)

    async def _row(self) -> Params:
        """What the host says of the session; empty if it does not."""
        session_id = self._session.session_id
        read = await self._asked("session/read", {"sessionId": session_id, "excludeItems": True})
        row = read.get("session")
        if isinstance(row, dict) and isinstance(row.get("status"), str):
            return row
        rows = (await self._asked("session/list", {"limit": LIST_LIMIT})).get("sessions")
        found: list[Any] = rows if isinstance(rows, list) else []
        return next((row for row in found if isinstance(row, dict) and row.get("sessionId") == session_id), {})

    async def _asked(self, method: str, params: Params) -> Params:
        # Nothing counts as silence that only waits to be read: the answer comes behind it, and its time stands still.
        with suppress(MspError, HostGone):
            return await self._session.host.query(method, params, seconds=ANSWER_SECONDS)
        return {}


def _is_over(status: Any) -> bool:
    """Whether a session of this status runs nothing; a host may say anything."""
    return isinstance(status, str) and status in _OVER
