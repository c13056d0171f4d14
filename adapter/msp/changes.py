"""What a fold reports: one small fact each, in the order a reader has to learn them.

`params` are the host's own, unknown members included. The order within one host event: an item is announced
(`ItemChanged` with `first`), then its text is appended, then a later state of it is told.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from adapter.msp.items import ItemState
from adapter.msp.turns import TurnOutcome


class TextAppended(msgspec.Struct, frozen=True, gc=False):
    """Text to add at the end of a field: `text` (a message, or a thought without summary), `output`, `summary.<n>`."""

    item: ItemState
    field: str
    text: str


class TextRestated(msgspec.Struct, frozen=True, gc=False):
    """The whole text of a field whose shown text has a hole that nothing can fill any more."""

    item: ItemState
    field: str
    text: str


class ItemChanged(msgspec.Struct, frozen=True, gc=False):
    """A full object was taken. `first`: the item was not known before."""

    item: ItemState
    first: bool


class TurnStarted(msgspec.Struct, frozen=True, gc=False):
    turn_id: str
    command_id: str | None


class TurnEnded(msgspec.Struct, frozen=True):
    turn_id: str
    outcome: TurnOutcome


class ApprovalOpened(msgspec.Struct, frozen=True):
    """A decision is asked for (`msp.md §15.2`)."""

    params: dict[str, Any]


class ApprovalUpdated(msgspec.Struct, frozen=True):
    """An open approval moved on: the whole approval as it is now, with `change` saying why (`msp.md §15.4`)."""

    params: dict[str, Any]


class ApprovalResolved(msgspec.Struct, frozen=True):
    """An approval is settled. No `decision` in it: the host only no longer lists it."""

    params: dict[str, Any]


class InputOpened(msgspec.Struct, frozen=True):
    params: dict[str, Any]


class InputSettled(msgspec.Struct, frozen=True):
    """A question is settled. No `outcome` in it: the host only no longer lists it."""

    params: dict[str, Any]


class TodoListChanged(msgspec.Struct, frozen=True):
    """The whole plan; empty means cleared."""

    items: list[dict[str, Any]]


class TokenUsageChanged(msgspec.Struct, frozen=True):
    params: dict[str, Any]


class ContextUsageChanged(msgspec.Struct, frozen=True):
    params: dict[str, Any]


class SessionFactChanged(msgspec.Struct, frozen=True):
    """Any other news of the session. `name` is one of `facts.FACTS` or `facts.NOTICES`."""

    name: str
    params: dict[str, Any]


class RetryScheduled(msgspec.Struct, frozen=True):
    """The host waits before it asks the model again; the turn goes on."""

    params: dict[str, Any]


class GapSeen(msgspec.Struct, frozen=True, gc=False):
    """Events strictly between the two cursors were not delivered (`msp.md §11.4`)."""

    after: str
    next: str


class GapLeft(msgspec.Struct, frozen=True, gc=False):
    """A gap, or a part of it, could not be read afterwards; `why` is for people."""

    why: str


class GapEnded(msgspec.Struct, frozen=True, gc=False):
    """What could be read of a gap has been told."""


class SessionClosed(msgspec.Struct, frozen=True, gc=False):
    reason: str


class Unrecognised(msgspec.Struct, frozen=True, gc=False):
    """A method this adapter does not know; ignored by rule (`msp.md §27`)."""

    method: str


Change: TypeAlias = (
    TextAppended
    | TextRestated
    | ItemChanged
    | TurnStarted
    | TurnEnded
    | ApprovalOpened
    | ApprovalUpdated
    | ApprovalResolved
    | InputOpened
    | InputSettled
    | TodoListChanged
    | TokenUsageChanged
    | ContextUsageChanged
    | SessionFactChanged
    | RetryScheduled
    | GapSeen
    | GapLeft
    | GapEnded
    | SessionClosed
    | Unrecognised
)
