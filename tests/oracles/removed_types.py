"""What hosts of 1.4.1 and 1.4.2 have and the newest types no longer declare (`msp.md §28.5`)."""

from __future__ import annotations

from typing import Any, Final, TypedDict


class SessionDeleteParams(TypedDict):
    """`session/delete`."""

    commandId: str
    sessionId: str


class _DeleteCompleted(TypedDict):
    commandId: str
    outcome: str
    sessionId: str


class SessionDeleteCompletedParams(_DeleteCompleted, total=False):
    """How an admitted deletion ended; one that failed says why, and what it may have touched."""

    physicalChange: str
    reason: str


METHODS: Final[dict[str, Any]] = {
    "session/delete": {"params": "SessionDeleteParams", "result": "CommandAcceptedResult"}
}
NOTIFICATIONS: Final[dict[str, Any]] = {"session/deleteCompleted": {"params": "SessionDeleteCompletedParams"}}
