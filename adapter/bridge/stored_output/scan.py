"""Looking for an item in recent history, backward and bounded. Pure: it says which page to ask for and takes the
page.

Backward order makes the first event of the item its newest revision, and there the search ends: an older revision's
reference is not the item's any more (`docs/stored-output.md`, check 8).
"""

from __future__ import annotations

from typing import Any, Final

from adapter.bridge.stored_output.contract import HISTORY_PAGE_EVENTS, HISTORY_PAGES
from adapter.wire.envelope import Params

_ITEM_EVENTS: Final = frozenset({"item/started", "item/updated", "item/completed"})


class MalformedPage(ValueError):
    """A page that is none; `str()` says what is wrong with it."""


class HistoryScan:
    """The search for one item of one session.

    Attributes:
        item: its newest revision, once found.
        pages, events: how many were looked at.
        exhausted: the beginning of the history was reached.
    """

    def __init__(self, session_id: str, item_id: str) -> None:
        self.item: dict[str, Any] | None = None
        self.pages = 0
        self.events = 0
        self.exhausted = False
        self._session_id = session_id
        self._item_id = item_id
        self._cursor: str | None = None
        self._seen: set[str] = set()
        self._stuck = False

    def next_page(self) -> Params | None:
        """The params of the `view/page` to ask for; None when the search is over."""
        if self.item is not None or self.exhausted or self._stuck or self.pages >= HISTORY_PAGES:
            return None
        params: Params = {"sessionId": self._session_id, "direction": "backward", "limit": HISTORY_PAGE_EVENTS}
        if self._cursor is not None:
            params["cursor"] = self._cursor
        return params

    def take(self, page: Params) -> None:
        """Look through a page, newest event first.

        Raises:
            MalformedPage: it has no events, or no way to go on.
        """
        events = page.get("events")
        if not isinstance(events, list):
            raise MalformedPage("a history page without events")
        # Absent is not null: only null says that the beginning is reached.
        following = page.get("nextCursor", ...)
        if not (following is None or isinstance(following, str)):
            raise MalformedPage("a history page without a usable nextCursor")
        self.pages += 1
        for event in reversed(events):
            self.events += 1
            item = self._item_of(event)
            if item is not None:
                self.item = item
                return
        self._go_on(following)

    def skip(self, cursor: str) -> None:
        """An event was too large for a page: go on behind it; the answer counts as a page."""
        self.pages += 1
        self._go_on(cursor)

    def _go_on(self, following: str | None) -> None:
        if following is None:
            self.exhausted = True
        elif following in self._seen:
            self._stuck = True
        else:
            self._seen.add(following)
            self._cursor = following

    def _item_of(self, event: Any) -> dict[str, Any] | None:
        if not isinstance(event, dict):
            return None
        method, params = event.get("method"), event.get("params")
        if not isinstance(method, str) or method not in _ITEM_EVENTS:
            return None
        if not isinstance(params, dict) or params.get("sessionId") != self._session_id:
            return None
        item = params.get("item")
        return item if isinstance(item, dict) and item.get("itemId") == self._item_id else None
