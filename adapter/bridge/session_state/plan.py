"""A host's todo list as an ACP plan (`msp.md §18`, `acp.md §6`). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from adapter.acp import updates
from adapter.acp.text import one_line

MAX_ENTRIES: Final = 500
MAX_TEXT: Final = 1000
"""Characters of a step; what is cut off shows as an ellipsis."""

_STATUS: Final[dict[Any, updates.PlanStatus]] = {
    "pending": "pending",
    "inProgress": "in_progress",
    "completed": "completed",
}


def plan_entries(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The whole plan. Rows that were cancelled are left out, since ACP has no word for them; what is being done is
    named by its active form."""
    rows = [item for item in items if item.get("status") != "cancelled" and _text(item)]
    entries = [updates.plan_entry(_text(item), "medium", _status(item)) for item in rows[:MAX_ENTRIES]]
    if len(rows) > MAX_ENTRIES:
        entries[-1] = updates.plan_entry(f"… and {len(rows) - MAX_ENTRIES + 1} more steps", "medium", "pending")
    return entries


def _status(item: dict[str, Any]) -> updates.PlanStatus:
    status = item.get("status")
    return _STATUS.get(status, "pending") if isinstance(status, str) else "pending"


def _text(item: dict[str, Any]) -> str:
    active = item.get("activeForm")
    if item.get("status") == "inProgress" and isinstance(active, str) and active.strip():
        return one_line(active, MAX_TEXT)
    text = item.get("text")
    return one_line(text, MAX_TEXT) if isinstance(text, str) else ""
