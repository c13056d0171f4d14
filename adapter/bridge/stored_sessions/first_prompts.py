"""How sessions began, for hosts whose list does not tell: those before 1.3 name no session that the user has not named
(`msp.md §28.1`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import anyio

from adapter.bridge.stored_sessions.session_rows import title_of
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host

EVENTS: Final = 20
"""Events of a session looked at: its first prompt is among the first."""

SECONDS: Final = 2.0
"""How long a list may wait for titles; what is not known by then goes without."""

AT_ONCE: Final = 4

REMEMBERED: Final = 5000


class FirstPrompts:
    """The first prompt of each session, which never changes once there is one."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, str] = OrderedDict()

    async def titles(self, host: Host, session_ids: Iterable[str]) -> dict[str, str]:
        """Titles of these sessions, as far as they can be had in time. Nothing is loaded for it."""
        wanted = list(session_ids)
        limit = anyio.CapacityLimiter(AT_ONCE)
        with anyio.move_on_after(SECONDS):
            async with anyio.create_task_group() as tasks:
                for session_id in wanted:
                    if session_id not in self._known:
                        tasks.start_soon(self._find, host, session_id, limit)
        return {session_id: self._known[session_id] for session_id in wanted if session_id in self._known}

    async def _find(self, host: Host, session_id: str, limit: anyio.CapacityLimiter) -> None:
        async with limit:
            try:
                page = await host.query("view/page", {"sessionId": session_id, "limit": EVENTS})
            except (MspError, HostGone):
                return
        title = _title_in(page.get("events"))
        if title is not None:
            self._known[session_id] = title
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


def _title_in(events: Any) -> str | None:
    for event in events if isinstance(events, list) else []:
        params = event.get("params") if isinstance(event, dict) else None
        item = params.get("item") if isinstance(params, dict) else None
        if isinstance(item, dict) and item.get("kind") == "userMessage":
            return title_of({"firstUserPrompt": item.get("displayText") or item.get("text")})
    return None
