"""What a session's durable events amount to: one fold, used while events are written and when they are read back.

No I/O in it. Events are the ones of the view (`msp.md §9`, class D), as they went over the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]

NO_USAGE: Final = {"promptTokens": 0, "outputTokens": 0, "totalTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0}
TITLE_CHARACTERS: Final = 60


class Event(msgspec.Struct, array_like=True, gc=False):
    """One durable event; `number` is what its cursor counts."""

    number: int
    method: str
    params: Json


class View:
    """The events of one session and their sum."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.items: dict[str, Json] = {}
        self.active: Json | None = None
        """TurnRef of the running turn."""
        self.queued: dict[str, Json] = {}
        """TurnRefs by turn id, in order; queueing itself is no event."""
        self.turn_count = 0
        self.turns: dict[str, Json] = {}
        """Settled turns: LastTurn by turn id, in order."""
        self.turn_ends: dict[str, int] = {}
        self.approvals: dict[str, Json] = {}
        self.resolutions: dict[str, Json] = {}
        self.user_inputs: dict[str, Json] = {}
        self.settlements: dict[str, Json] = {}
        self.model: Json | None = None
        self.effort: Json | None = None
        self.approval_mode: Json | None = None
        self.name: Json = {}
        self.goal: Json | None = None
        self.todo: Json | None = None
        self.branch: Json | None = None
        self.context: Json | None = None
        self.usage: Json = dict(NO_USAGE)
        self.first_prompt: str | None = None
        self.boundary: Json | None = None
        """SnapshotAnchor of the latest compaction."""

    @property
    def last_number(self) -> int:
        """The number of the newest durable event."""
        return self.events[-1].number if self.events else 0

    @property
    def last_turn(self) -> Json | None:
        """The turn that settled last."""
        return next(reversed(self.turns.values())) if self.turns else None

    def add(self, event: Event) -> None:
        """Take an event in."""
        self.events.append(event)
        fold = _FOLDS.get(event.method)
        if fold is not None:
            fold(self, event.params, event.number)

    def after(self, number: int) -> int:
        """The index of the first event after `number`."""
        low, high = 0, len(self.events)
        while low < high:
            middle = (low + high) // 2
            if self.events[middle].number <= number:
                low = middle + 1
            else:
                high = middle
        return low


def _item(view: View, params: Json, number: int) -> None:
    item = params["item"]
    known = view.items.get(item["itemId"])
    if known is not None and known["revision"] >= item["revision"]:
        return
    view.items[item["itemId"]] = item
    if item["kind"] == "userMessage" and view.first_prompt is None:
        view.first_prompt = item.get("displayText") or item.get("text", "")
    if item["kind"] == "compaction" and item.get("outcome") == "compacted":
        view.boundary = {"boundaryCursor": params["viewCursor"], "summarizedThrough": item["summarizedThrough"]}


def _turn_started(view: View, params: Json, number: int) -> None:
    queued = view.queued.pop(params["turnId"], None)
    view.active = queued or {"turnId": params["turnId"], "commandId": params["commandId"]}


def _turn_completed(view: View, params: Json, number: int) -> None:
    turn_id = params["turnId"]
    view.queued.pop(turn_id, None)
    if view.active is not None and view.active["turnId"] == turn_id:
        view.active = None
        view.turn_count += 1
    view.turns[turn_id] = {
        key: params[key] for key in ("turnId", "terminal", "reason", "error") if params.get(key) is not None
    }
    view.turn_ends[turn_id] = number


def _turn_unqueued(view: View, params: Json, number: int) -> None:
    view.queued.pop(params["turnId"], None)


def _approval_requested(view: View, params: Json, number: int) -> None:
    # An approval that is opened again after a crash has a new id; the item has only one.
    for known in [row for row in view.approvals.values() if row["itemId"] == params["itemId"]]:
        del view.approvals[known["approvalId"]]
    view.approvals[params["approvalId"]] = params


def _approval_updated(view: View, params: Json, number: int) -> None:
    opened = view.approvals.get(params["approvalId"])
    if opened is not None:
        newer = ("subject", "currentRequirementId", "availableChoices", "viewCursor", "sourceRange")
        view.approvals[params["approvalId"]] = {**opened, **{key: params[key] for key in newer}}


def _approval_resolved(view: View, params: Json, number: int) -> None:
    view.approvals.pop(params["approvalId"], None)
    view.resolutions[params["approvalId"]] = {key: params[key] for key in ("decision", "resolvedBy", "viewCursor")}


def _input_requested(view: View, params: Json, number: int) -> None:
    view.user_inputs[params["userInputId"]] = params


def _input_settled(view: View, params: Json, number: int) -> None:
    view.user_inputs.pop(params["userInputId"], None)
    view.settlements[params["userInputId"]] = {key: params[key] for key in ("outcome", "viewCursor")}


def _model(view: View, params: Json, number: int) -> None:
    view.model = _only(params, "modelId", "providerId", "source")


def _effort(view: View, params: Json, number: int) -> None:
    view.effort = _only(params, "reasoningEffort", "source")


def _approval_mode(view: View, params: Json, number: int) -> None:
    view.approval_mode = {"mode": params["mode"], "source": params["source"], "lastCommandId": params["commandId"]}


def _name(view: View, params: Json, number: int) -> None:
    view.name = _only(params, "name", "nameOrigin", "generatedName")


def _goal(view: View, params: Json, number: int) -> None:
    view.goal = params["goal"]


def _todo(view: View, params: Json, number: int) -> None:
    view.todo = _only(params, "items", "revision", "sourceTool")


def _branch(view: View, params: Json, number: int) -> None:
    view.branch = _only(params, "branch", "workspaceRoot", "vcs")


def _usage(view: View, params: Json, number: int) -> None:
    view.usage = {**NO_USAGE, **params["cumulative"]}


def _context(view: View, params: Json, number: int) -> None:
    view.context = _only(params, "usedTokens", "windowTokens", "pressure")


def _only(params: Json, *keys: str) -> Json:
    return {key: params[key] for key in keys if key in params}


_FOLDS: Final[dict[str, Callable[[View, Json, int], None]]] = {
    "item/started": _item,
    "item/updated": _item,
    "item/completed": _item,
    "turn/started": _turn_started,
    "turn/completed": _turn_completed,
    "turn/unqueued": _turn_unqueued,
    "approval/requested": _approval_requested,
    "approval/updated": _approval_updated,
    "approval/resolved": _approval_resolved,
    "userInput/requested": _input_requested,
    "userInput/settled": _input_settled,
    "session/modelChanged": _model,
    "session/reasoningEffortChanged": _effort,
    "session/approvalModeChanged": _approval_mode,
    "session/nameChanged": _name,
    "session/goalChanged": _goal,
    "session/todoListChanged": _todo,
    "session/branchChanged": _branch,
    "session/tokenUsage": _usage,
    "session/contextUsage": _context,
}
