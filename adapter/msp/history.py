"""A session's past: what a host serves of it when it opens the session (`msp.md §10.3`), and the reading of its stored
events from the beginning to the head (`msp.md §11.2`).

A conversation is shown from its events, and not from what was served, because only these are always complete and in
order: what is served is left out if it is too large, begins at the last compaction, or lacks items without saying so.
What is served has what no event tells: how full the context is, and the text that is being written right now.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from adapter.msp.changes import Change
from adapter.msp.errors import MalformedResult, MspError
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
        self._after: str | None = None
        self._walked: set[str] = set()

    async def pages(self) -> AsyncIterator[Sequence[Change]]:
        """What each page changes, in order.

        Raises:
            MspError, HostGone: the host did not give a page.
        """
        for _ in range(PAGES):
            page = await self._page()
            if page is None:
                continue
            events, following = page.get("events"), page.get("nextCursor")
            if not isinstance(events, list):
                # An empty conversation would look as if there had been none.
                raise MalformedResult("view/page", "it has no list of events")
            self.events += len(events)
            yield self._fold.load_events(events, self._after)
            if not isinstance(following, str):
                self.complete = True
                return
            if not self._goes_on(following):
                return

    async def _page(self) -> Params | None:
        """The next page; None if an event was too large for one, and reading goes on behind it."""
        params: Params = {"sessionId": self._fold.session_id, "direction": "forward", "limit": PAGE_LIMIT}
        if self._after is not None:
            params["cursor"] = self._after
        try:
            return await self._host.query("view/page", params)
        except MspError as error:
            if error.kind != "pageEventTooLarge" or error.view_cursor is None or not self._goes_on(error.view_cursor):
                raise
            log.warning("an event of the session's history is too large to be read")
            return None

    def _goes_on(self, cursor: str) -> bool:
        """Go on behind this cursor, unless that has been done before: it would never end."""
        if cursor in self._walked:
            log.warning("the host's history leads back to one of its own cursors")
            return False
        self._walked.add(cursor)
        self._after = cursor
        return True
