"""What a session is beside its messages, as the client sees it: plan, use of the context, title, and remarks on what
goes on (`acp.md §6`, `msp.md §18`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import anyio

from adapter.acp import updates
from adapter.acp.text import one_line
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.session_state.plan import plan_entries
from adapter.bridge.session_state.usage import UsageMeter
from adapter.bridge.stored_sessions.session_rows import title_of, updated_at
from adapter.msp.changes import (
    Change,
    ContextUsageChanged,
    GapLeft,
    ItemChanged,
    RetryScheduled,
    SessionFactChanged,
    TodoListChanged,
    TokenUsageChanged,
    TurnStarted,
)
from adapter.msp.items import ItemState
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Peer

CONTEXT_WAIT: Final = 0.25
"""Seconds that the counts of a call of the model wait for its context, which the host tells apart, and only if it has
changed (`msp.md §18`)."""

_USAGE: Final = (TokenUsageChanged, ContextUsageChanged)


class Facts:
    """The facts of one session. Each is told when it has changed, and only then."""

    def __init__(self, session: Session, peer: Peer, notices: Notices, background: Background) -> None:
        self._session = session
        self._peer = peer
        self._notices = notices
        self._background = background
        self._usage = UsageMeter()
        self._usage_waits = False
        """There are new counts, and their context may still come."""
        self._compacting_turn: str | None = None
        self._title: str | None = None
        self._plan: Params | None = None
        """What the client was told last; None for nothing yet."""
        self._used: Params | None = None
        self._model: Any = None
        self._sandbox_told = False
        self._show: dict[type, Callable[[Any], None]] = {
            TodoListChanged: lambda change: self._show_plan(),
            TokenUsageChanged: lambda change: self._count_tokens(change.params),
            ContextUsageChanged: lambda change: self._count_context(change.params),
            SessionFactChanged: self._fact,
            RetryScheduled: lambda change: self._retry(change.params),
            GapLeft: lambda change: self._gap(change.why),
            TurnStarted: lambda change: self._sandbox(),
        }

    def show(self, change: Change) -> None:
        """Tell the client about a change, if it is one of these facts."""
        show = self._show.get(type(change))
        if show is not None:
            show(change)

    def hear(self, change: Change) -> None:
        """Anything has happened: if it is not the context, that of the last call has not changed."""
        if isinstance(change, ItemChanged) and _is_compacted(change.item):
            self._usage.distrust_context()
            self._compacting_turn = change.item.turn_id
        if self._usage_waits and not isinstance(change, _USAGE):
            self.settle()

    def settle(self) -> None:
        """Tell what waits."""
        if self._usage_waits:
            self._show_usage()

    def end(self) -> None:
        """Tell nothing more by itself."""
        self._usage_waits = False

    def show_all(self, row: Params) -> None:
        """Tell what is known, as after a replay; `row` is what the host said of the session when it opened it."""
        facts = self._session.fold.facts
        self._show_plan()
        self._usage.take_tokens(facts.get("tokenUsage", {}))
        self._usage.take_context(facts.get("contextUsage", {}))
        self._show_usage()
        title = title_of(facts.get("name", {})) or title_of(row)
        if title is not None and title != self._title:
            self._entitle(title, updated_at(row))

    def _show_plan(self) -> None:
        plan = updates.plan(self._session.session_id, plan_entries(self._session.fold.todo))
        empty = not plan["update"]["entries"]
        if plan != self._plan and not (self._plan is None and empty):
            self._plan = plan
            self._send(plan)

    def _count_tokens(self, params: Params) -> None:
        """What is told belongs together: the counts of a call and the context after it."""
        if params.get("turnId") != self._compacting_turn:
            # A call after the compaction: if its context is not told, it is as before.
            self._usage.trust_context()
        self._usage.take_tokens(params)
        if not self._usage_waits:
            self._usage_waits = True
            self._background.start(self._settle_soon)

    async def _settle_soon(self) -> None:
        await anyio.sleep(CONTEXT_WAIT)
        self.settle()

    def _count_context(self, params: Params) -> None:
        self._usage.take_context(params)
        self._show_usage()

    def _show_usage(self) -> None:
        self._usage_waits = False
        usage = self._usage.update(self._session.session_id)
        if usage is not None and usage != self._used:
            self._used = usage
            self._send(usage)

    def _fact(self, change: SessionFactChanged) -> None:
        params = change.params
        if change.name == "name":
            title = title_of(params)
            if title != self._title:
                self._entitle(title, datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
        elif change.name == "model":
            before, self._model = self._model, params.get("modelId")
            if before != self._model:
                self._usage.forget_size()
        elif change.name == "modelRouteUnserved":
            self._notices.tell(
                f"The model {_word(params, 'modelId')} is not served by the present login", "Choose another"
            )
        elif change.name == "viewHealth" and str(params.get("health")).casefold() == "unavailable":
            self._notices.tell("Muse no longer tells what happens in this session", "Load it again to see all of it")

    def _entitle(self, title: str | None, changed: str | None) -> None:
        self._title = title
        more: dict[str, Any] = {} if changed is None else {"updated_at": changed}
        self._send(updates.session_info(self._session.session_id, title=title, **more))

    def _retry(self, params: Params) -> None:
        """The host asks the model again after a while (`msp.md §12.3`)."""
        attempt, attempts, delay = params.get("nextAttempt"), params.get("maxAttempts"), params.get("retryDelayMs")
        title = "Muse asks the model again"
        if isinstance(attempt, int):
            title += f": attempt {attempt}" + (f" of {attempts}" if isinstance(attempts, int) else "")
        if isinstance(delay, int | float) and math.isfinite(delay) and delay >= 0:
            title += f", in {delay / 1000:.3g} s"
        reason = params.get("reason") or params.get("errorKind")
        self._notices.tell(title, self._session.host.scrub(reason) if isinstance(reason, str) else None)

    def _gap(self, why: str) -> None:
        self._notices.tell("Some of what happened in this session could not be read", self._session.host.scrub(why))

    def _sandbox(self) -> None:
        """Once: how Muse runs tools is a thing to know before it does."""
        handshake = self._session.host.handshake
        if handshake is not None and handshake.sandbox_problem and not self._sandbox_told:
            self._sandbox_told = True
            self._notices.tell(
                "Muse cannot run tools in its sandbox", self._session.host.scrub(handshake.sandbox_problem)
            )

    def _send(self, params: Params) -> None:
        self._peer.notify(updates.METHOD, params)


def _is_compacted(item: ItemState) -> bool:
    """Whether the context is another one now; how much it holds is told after the next call of the model."""
    return item.kind == "compaction" and item.status == "completed" and item.raw.get("tokensAfter") is not None


def _word(params: Params, name: str) -> str:
    value = params.get(name)
    return one_line(value, 100) if isinstance(value, str) and value else "that is set"
