"""What happened in a session before it was resumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from muse_code import Session, SessionFold
from muse_code.connection import Connection
from muse_code_msp import Item, SessionResumeResult

PAGE_EVENTS = 200


async def past_items(connection: Connection, session: Session[str]) -> Sequence[Item]:
    """The items of a resumed session, as the host served them, or read page by page if it served none."""
    if session.opening is None:
        return []
    history = cast(SessionResumeResult, session.opening.result)["history"]
    if history["items"] is not None:
        return history["items"]
    if history["snapshot"] is not None:
        return history["snapshot"]["state"]["items"]
    return await _paged(connection, session.session_id)


async def _paged(connection: Connection, session_id: str) -> Sequence[Item]:
    fold = SessionFold()
    params: dict[str, Any] = {"sessionId": session_id, "limit": PAGE_EVENTS}
    while True:
        page = await connection.request("view/page", params)
        for event in page["events"]:
            fold.apply(event)
        if page["nextCursor"] is None or not page["events"]:
            return [cast(Item, item) for item in fold.items.list()]
        params["cursor"] = page["nextCursor"]
