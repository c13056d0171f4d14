"""What a client's list of sessions says of one of them, from a host's row (`msp.md §10.1`, `acp.md §4`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.acp.workspace import path_problem

TITLE_LENGTH: Final = 200
"""Characters of a title; a first prompt can be as long as a file."""

_TITLES: Final = ("name", "title", "generatedName", "firstUserPrompt")
"""Members a title is taken from: what the user called it, then what Muse made of it, then how it began."""


def is_listed(row: dict[str, Any]) -> bool:
    """Whether a host's row is a session a client can open: it has a folder, and no other session it belongs to."""
    session_id, root = row.get("sessionId"), row.get("workspaceRoot")
    if not isinstance(session_id, str) or not session_id or not isinstance(root, str) or path_problem(root):
        return False
    return row.get("kind", "root") != "subagent" and row.get("parentSessionId") is None


def title_of(row: dict[str, Any]) -> str | None:
    """What to call the session, in one line; None if nothing is known of it."""
    for member in _TITLES:
        value = row.get(member)
        if isinstance(value, str) and (title := one_line(value, TITLE_LENGTH).strip()):
            return title
    return None


def updated_at(row: dict[str, Any]) -> str | None:
    """When something last happened in it, as ISO 8601 with a time zone; None if the host gave no time."""
    for member in ("updatedAt", "lastActivityAt", "createdAt"):
        value = row.get(member)
        if isinstance(value, str) and (time := _time(value)) is not None:
            return time
    return None


def listed(row: dict[str, Any], cwd: str) -> dict[str, Any]:
    """The entry of `session/list`."""
    entry = {"sessionId": row["sessionId"], "cwd": cwd, "title": title_of(row), "updatedAt": updated_at(row)}
    return {member: value for member, value in entry.items() if value is not None}


def _time(text: str) -> str | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return time.isoformat().replace("+00:00", "Z")
