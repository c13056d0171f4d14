"""Looking through recent history, backward and bounded. Pure: a scan says which page to ask for and takes the page.

Backward order makes the first event of an item its newest revision; what an older revision says is not true of it any
more (`docs/stored-output.md`, check 8).
"""

from __future__ import annotations

from typing import Any, Final

from adapter.bridge.stored_output.contract import HISTORY_PAGE_EVENTS, HISTORY_PAGES
from adapter.msp.facts import FACTS
from adapter.wire.envelope import Params

_ITEM_EVENTS: Final = frozenset({"item/started", "item/updated", "item/completed"})


class MalformedPage(ValueError):
    """A page that is none; `str()` says what is wrong with it."""


class BackwardScan:
    """The walk from the head of a session's history towards its beginning.

    Attributes:
        pages, events: how many were looked at.
        exhausted: the beginning of the history was reached.
    """

    def __init__(self, session_id: str) -> None:
        self.pages = 0
        self.events = 0
        self.exhausted = False
        self._session_id = session_id
        self._cursor: str | None = None
        self._seen: set[str] = set()
        self._over = False

    def next_page(self) -> Params | None:
        """The params of the `view/page` to ask for; None when the walk is over."""
        if self._over or self.pages >= HISTORY_PAGES:
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
            if item is not None and self._visit(item):
                self._over = True
                return
        self._go_on(following)

    def skip(self, cursor: str) -> None:
        """An event was too large for a page: go on behind it; the answer counts as a page."""
        self.pages += 1
        self._go_on(cursor)

    def _visit(self, item: dict[str, Any]) -> bool:
        """Look at an item of the session; True ends the walk."""
        raise NotImplementedError

    def _go_on(self, following: str | None) -> None:
        if following is None:
            self.exhausted = self._over = True
        elif following in self._seen:
            self._over = True
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
        return item if isinstance(item, dict) else None


class HistoryScan(BackwardScan):
    """The search for one item; `item` is its newest revision, once found."""

    def __init__(self, session_id: str, item_id: str) -> None:
        super().__init__(session_id)
        self.item: dict[str, Any] | None = None
        self._item_id = item_id

    def _visit(self, item: dict[str, Any]) -> bool:
        if item.get("itemId") == self._item_id:
            self.item = item
        return self.item is not None


class HandleScan(BackwardScan):
    """The search for everything that can be read of a session."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self._newest: dict[str, dict[str, Any]] = {}

    def items(self) -> list[dict[str, Any]]:
        """The newest revision of each item found, in the order of the conversation."""
        return list(reversed(self._newest.values()))

    def _visit(self, item: dict[str, Any]) -> bool:
        item_id = item.get("itemId")
        if isinstance(item_id, str):
            self._newest.setdefault(item_id, item)
        return False


class FactScan(BackwardScan):
    """The search for what stands: the newest event of each fact (`adapter.msp.facts`)."""

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self._newest: dict[str, Any] = {}

    def take(self, page: Params) -> None:
        super().take(page)
        for event in reversed(page["events"]):
            method = event.get("method") if isinstance(event, dict) else None
            if isinstance(method, str) and method in FACTS:
                self._newest.setdefault(method, event)

    def found(self) -> list[Any]:
        """The events, in the order in which they happened."""
        return list(reversed(self._newest.values()))

    def _visit(self, item: dict[str, Any]) -> bool:
        return False
