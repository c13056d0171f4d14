"""A session's past: what a host serves of it when it opens the session (`msp.md §10.3`), and the reading of its stored
events from the beginning to the head (`msp.md §11.2`).

A conversation is shown from its events, and not from what was served, because only these are always complete and in
order: what is served is left out if it is too large, begins at the last compaction, or lacks items without saying so.
What is served has what no event tells: how full the context is, and the text that is being written right now.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import anyio
import msgspec
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from adapter.msp.changes import Change
from adapter.msp.errors import HostGone, MalformedResult, MspError
from adapter.msp.fold import SessionFold
from adapter.msp.host import Host
from adapter.msp.members import object_in
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.msp")

PAGE_LIMIT: Final = 200
PAGES: Final = 2000
"""Pages read at most: 400,000 events, far beyond a conversation a person can have had."""


SNAPSHOT_SCHEMA: Final = 1

_AT_REST: Final = frozenset({"idle", "notLoaded"})
"""Statuses of a session in which no turn runs (`msp.md §10.1`)."""


class Opened(msgspec.Struct, frozen=True):
    """A host's answer to starting, resuming or copying a session. Nothing missing is an error.

    `state` is what was served of the session, in the form of a snapshot's state; `is_snapshot`: it is one, and its
    facts are all there are. `none_reason` says why nothing was served.
    """

    row: dict[str, Any]
    view_cursor: str | None = None
    state: dict[str, Any] | None = None
    is_snapshot: bool = False
    none_reason: str | None = None

    @property
    def session_id(self) -> str | None:
        """The session's id, if the host named it."""
        return _text(self.row.get("sessionId")) or None

    def named(self, method: str, wanted: str | None = None) -> str:
        """The session's id; `wanted` is the one that was asked for.

        Raises:
            MalformedResult: the host named none in its answer to `method`, or another one.
        """
        if self.session_id is None:
            raise MalformedResult(method, "it names no session")
        if wanted is not None and self.session_id != wanted:
            raise MalformedResult(method, "it names another session")
        return self.session_id

    @property
    def root(self) -> str | None:
        """The session's folder."""
        return _text(self.row.get("workspaceRoot"))

    @property
    def at_rest(self) -> bool:
        """Whether no turn runs, as far as the host says."""
        return _text(self.row.get("status")) in _AT_REST

    @classmethod
    def read(cls, result: Params) -> Opened:
        """The view of a result."""
        row, history = object_in(result.get("session")), object_in(result.get("history"))
        snapshot = object_in(history.get("snapshot"))
        state = snapshot.get("state")
        items = history.get("items")
        is_snapshot = isinstance(state, dict) and snapshot.get("schemaVersion", SNAPSHOT_SCHEMA) == SNAPSHOT_SCHEMA
        if not is_snapshot:
            state = {"items": items} if isinstance(items, list) else None
        return cls(
            row=row,
            view_cursor=_text(result.get("viewCursor")),
            state=state,
            is_snapshot=is_snapshot,
            none_reason=_text(history.get("noneReason")),
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class History:
    """One reading; what is read is folded in. `complete`: the head was reached; `events`: how many were read."""

    def __init__(self, host: Host, fold: SessionFold) -> None:
        self.complete = False
        self.events = 0
        self._host = host
        self._fold = fold
        self._walked: set[str] = set()

    async def pages(self, tasks: TaskGroup) -> AsyncIterator[Sequence[Change]]:
        """What each page changes, in order. While one is shown the next is asked for in `tasks`, and no more.

        Raises:
            MspError, HostGone: the host did not give a page.
        """
        after, asked = None, self._ask(tasks, None)
        for _ in range(PAGES):
            try:
                page = await asked.page()
            except MspError as error:
                behind = error.view_cursor if error.kind == "pageEventTooLarge" else None
                if not self._goes_on(behind):
                    raise
                log.warning("an event of the session's history is too large to be read")
                after, asked = behind, self._ask(tasks, behind)
                continue
            events, following = page.get("events"), page.get("nextCursor")
            if not isinstance(events, list):
                # An empty conversation would look as if there had been none.
                raise MalformedResult("view/page", "it has no list of events")
            self.events += len(events)
            self.complete = not isinstance(following, str)
            goes_on = self._goes_on(following)
            if goes_on:
                asked = self._ask(tasks, following)
                # Nothing else runs while a page is shown: here the task asks, and then the writer writes it.
                await checkpoint()
                await checkpoint()
            yield self._fold.load_events(events, after)
            if not goes_on:
                return
            after = following

    def _ask(self, tasks: TaskGroup, after: str | None) -> _Asked:
        params: Params = {"sessionId": self._fold.session_id, "direction": "forward", "limit": PAGE_LIMIT}
        if after is not None:
            params["cursor"] = after
        asked = _Asked()
        tasks.start_soon(asked.settle, self._host.query, params)
        return asked

    def _goes_on(self, cursor: Any) -> bool:
        """Whether to go on behind this cursor; not if that has been done before: it would never end."""
        if not isinstance(cursor, str):
            return False
        if cursor in self._walked:
            log.warning("the host's history leads back to one of its own cursors")
            return False
        self._walked.add(cursor)
        return True


class _Asked:
    """A page that has been asked for."""

    def __init__(self) -> None:
        self._there = anyio.Event()
        self._outcome: Params | MspError | HostGone | None = None

    async def settle(self, query: Callable[[str, Params], Awaitable[Params]], params: Params) -> None:
        try:
            self._outcome = await query("view/page", params)
        except (MspError, HostGone) as error:
            self._outcome = error
        self._there.set()

    async def page(self) -> Params:
        """The page, when it is there.

        Raises:
            MspError, HostGone: the host did not give it.
        """
        await self._there.wait()
        outcome, self._outcome = self._outcome, None
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None
        return outcome
