"""Events for a fold, and what it makes of them, in few words."""

from __future__ import annotations

from typing import Any

from adapter.msp.changes import Change, TextAppended
from adapter.msp.fold import SessionFold

Event = tuple[str, dict[str, Any]]


def item(
    item_id: str = "i", kind: str = "agentMessage", revision: int = 1, status: str = "inProgress", **more: Any
) -> Any:
    return {"itemId": item_id, "kind": kind, "revision": revision, "status": status, "turnId": "t", **more}


def started(raw: Any) -> Event:
    return "item/started", {"item": raw}


def updated(raw: Any) -> Event:
    return "item/updated", {"item": raw}


def completed(raw: Any) -> Event:
    return "item/completed", {"item": raw | {"status": "completed"}}


def delta(text: str, item_id: str = "i", **more: Any) -> Event:
    return "item/delta", {"itemId": item_id, "delta": text, **more}


def durable(event: Event, cursor: str) -> Event:
    return event[0], event[1] | {"viewCursor": cursor, "sourceRange": {}}


def paged(*events: Event) -> list[dict[str, Any]]:
    return [{"method": method, "params": params} for method, params in events]


def todo(text: str) -> Event:
    return "session/todoListChanged", {"items": [{"text": text, "status": "pending"}]}


def run(fold: SessionFold, *events: Event) -> list[Change]:
    return [change for event in events for change in fold.apply(*event)]


def shown(changes: list[Change], field: str | None = None) -> str:
    return "".join(c.text for c in changes if isinstance(c, TextAppended) and field in (None, c.field))


def kinds(changes: list[Change]) -> list[str]:
    return [type(change).__name__ for change in changes]


def approval(stage: int = 0, approval_id: str = "a", **more: Any) -> dict[str, Any]:
    requirement = {"approvalId": approval_id, "sourceIndex": stage}
    return {"approvalId": approval_id, "toolName": "bash", "currentRequirementId": requirement, **more}
