"""Reading a session's stored events from the beginning to the head (`msp.md §11.2`)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Final

from adapter.msp.changes import Change
from adapter.msp.errors import MspError
from adapter.msp.fold import SessionFold
from adapter.msp.host import Host
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.msp")

PAGE_LIMIT: Final = 200
PAGES: Final = 2000
"""Pages read at most: 400,000 events, far beyond a conversation a person can have had."""


class History:
    """One reading; what is read is folded in. `complete`: the head was reached; `events`: how many were read."""

    def __init__(self, host: Host, fold: SessionFold) -> None:
        self.complete = False
        self.events = 0
        self._host = host
        self._fold = fold
        self._after: str | None = None

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
            read = events if isinstance(events, list) else []
            self.events += len(read)
            yield self._fold.load_events(read, self._after)
            if not isinstance(following, str):
                self.complete = True
                return
            if following == self._after:
                log.warning("the host's history does not go on behind one of its own cursors")
                return
            self._after = following

    async def _page(self) -> Params | None:
        """The next page; None if an event was too large for one, and reading goes on behind it."""
        params: Params = {"sessionId": self._fold.session_id, "direction": "forward", "limit": PAGE_LIMIT}
        if self._after is not None:
            params["cursor"] = self._after
        try:
            return await self._host.query("view/page", params)
        except MspError as error:
            if error.kind != "pageEventTooLarge" or error.view_cursor in (None, self._after):
                raise
            log.warning("an event of the session's history is too large to be read")
            self._after = error.view_cursor
            return None
