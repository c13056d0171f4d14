"""Work that outlives turns, for clients that negotiated `muse/asyncTasks`: what its cards say, and how it is stopped
(`peers.md §2`).

A target names the work at one host, for as long as that lives: a task of a host that has ended is not stopped at the
next one, which may call something else so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from adapter.acp import errors
from adapter.acp.capabilities import ASYNC_TASKS
from adapter.acp.fields import Fields
from adapter.bridge.outcomes import client_error
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.msp.ids import uuid7
from adapter.msp.items import ItemState
from adapter.msp.session import Session
from adapter.wire import envelope
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError

log = logging.getLogger("adapter.bridge")

CANCEL: Final = "cancel"
LONGEST_TARGET: Final = 2048

_OVER: Final = frozenset({"notFound", "interrupted", "cancelled"})
_OVER_REASONS: Final = frozenset({"already_terminal", "stale_attempt", "not_running"})
"""Refusals of a host that mean there is nothing left to stop."""


class _Kind(msgspec.Struct, frozen=True):
    """Work of one kind: what a client is told it is, and how the host is told to stop it."""

    name: str
    method: str
    parameter: str
    member: str


_KINDS: Final[dict[str, _Kind]] = {
    "toolCall": _Kind("tool", "task/stop", "taskId", "taskId"),
    "subagent": _Kind("subagent", "subagent/stop", "subagentId", "subagentId"),
    "workflow": _Kind("workflow", "workflow/cancel", "workflowRunId", "workflowRunId"),
}
_OPTIONAL: Final = frozenset({"task/stop", "workflow/cancel"})
"""What a host may lack; all can stop subagents."""


class TaskRequest(msgspec.Struct, frozen=True):
    """`_muse/task`: the only action there is, is to cancel."""

    session_id: str
    target: str


def read_request(params: Params) -> TaskRequest:
    """
    Raises:
        RpcError: -32602; a parameter is missing or not as it must be.
    """
    fields = Fields(params)
    session_id, target, action = fields.id("sessionId"), fields.string("target"), fields.string("action")
    if len(target) > LONGEST_TARGET:
        raise fields.refuse("target", f"must have at most {LONGEST_TARGET} characters")
    if action != CANCEL:
        raise fields.refuse("action", f"must be {CANCEL}")
    return TaskRequest(session_id, target)


class Tasks:
    """The work of one session. `on_learnt` is called when it becomes known what the host can stop."""

    def __init__(self, session: Session, background: Background, on_learnt: Callable[[], None]) -> None:
        self._session = session
        self._background = background
        self._on_learnt = on_learnt
        self._host: Host | None = None
        self._generation = ""
        self._earlier: set[str] = set()
        self._methods: frozenset[str] = frozenset()

    def meta(self, item: ItemState) -> dict[str, Any] | None:
        """What a card's `_meta` says of its item, None if it is no such work."""
        kind = _kind(item)
        if kind is None:
            return None
        self._meet_host()
        if self._session.host.gone is not None:
            return {ASYNC_TASKS: {"outcome": "unknown", "actions": []}}
        told: dict[str, Any] = {
            "kind": kind.name,
            "target": f"{self._generation}:{item.item_id}",
            "actions": [CANCEL] if self._can_cancel(item, kind) else [],
            "observedStatus": item.status,
        }
        child = item.raw.get("childSessionId")
        return {ASYNC_TASKS: told | ({"childSessionId": child} if isinstance(child, str) else {})}

    async def cancel(self, target: str) -> Params:
        """Ask the host to stop a task; the answer tells whether it has ended by then.

        Raises:
            RpcError: there is no such task, or it is over, or the host refused.
        """
        self._meet_host()
        generation, _, item_id = target.partition(":")
        if generation in self._earlier:
            raise _task_ended("The task belongs to a Muse host that has ended")
        item = self._session.fold.items.get(item_id) if generation == self._generation else None
        kind = None if item is None else _kind(item)
        if item is None or kind is None:
            raise _task_unknown()
        if not item.is_open:
            raise _task_ended("The task is over")
        host = self._session.host
        params = {"sessionId": self._session.session_id, kind.parameter: _id(item, kind)}
        try:
            await host.command(kind.method, params)
        except MspError as error:
            if not item.is_open or error.kind in _OVER or error.reason in _OVER_REASONS:
                raise _task_ended("The task is over") from None
            raise client_error(error, self._session.session_id) from None
        except HostGone as error:
            raise client_error(error, self._session.session_id) from None
        return {"status": "accepted" if item.is_open else "completed"}

    def _can_cancel(self, item: ItemState, kind: _Kind) -> bool:
        known = kind.method not in _OPTIONAL or kind.method in self._methods
        return item.is_open and known and _id(item, kind) is not None and item.raw.get("stopAvailable") is not False

    def _meet_host(self) -> None:
        """Each host the session is on has a generation of its own."""
        host = self._session.host
        if host is self._host:
            return
        if self._generation:
            self._earlier.add(self._generation)
        self._host, self._generation, self._methods = host, uuid7(), frozenset()
        self._background.start(self._learn, host)

    async def _learn(self, host: Host) -> None:
        try:
            methods = (await host.abilities()).methods
        except HostGone:
            return
        if host is self._host and methods != self._methods:
            self._methods = methods
            self._on_learnt()


def _kind(item: ItemState) -> _Kind | None:
    if item.kind == "toolCall" and item.raw.get("background") is not True:
        return None
    return _KINDS.get(item.kind)


def _id(item: ItemState, kind: _Kind) -> str | None:
    """What the host calls the work; a tool's is the item, if nothing else is said (`msp.md §22`)."""
    value = item.raw.get(kind.member)
    if isinstance(value, str):
        return value
    return item.item_id if item.kind == "toolCall" else None


def _task_unknown() -> RpcError:
    return errors.error_of(
        envelope.INVALID_PARAMS, "No such task", "taskUnknown", "This session has no task with this target"
    )


def _task_ended(details: str) -> RpcError:
    return errors.error_of(envelope.INVALID_REQUEST, "The task is over", "taskEnded", details)
