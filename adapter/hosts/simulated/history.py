"""What a client is given of a session's past: pages, histories, snapshots and lists (`msp.md §10, §11`).

No I/O in it.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.errors import invalid, refusal
from adapter.hosts.simulated.profiles import Profile
from adapter.hosts.simulated.settings import Settings
from adapter.hosts.simulated.shape import event_params, without
from adapter.hosts.simulated.view import Event, Json, View

SLACK: Final = 64 * 1024
"""What the rest of a frame may take beside its history or its events."""


class Past:
    """A session's view as one host serves it."""

    def __init__(self, facts: Json, view: View, head: int, profile: Profile, settings: Settings) -> None:
        self.session_id: str = facts["sessionId"]
        self.facts = facts
        self.view = view
        self.head = head
        self.profile = profile
        self._budget = max(1024, settings.frame_limit_bytes - SLACK)
        self._page_events = settings.page_events
        self._forced = settings.history_mode
        retained = settings.retain_events
        self._earliest = 0 if retained is None else max(0, len(view.events) - retained)

    # -- pages

    def index_after(self, cursor: str) -> int:
        """The index of the first event after a cursor.

        Raises:
            RpcError: the cursor was never given out, or what follows it is no longer there.
        """
        number = ids.cursor_number(self.session_id, cursor)
        if self.view.boundary is not None and cursor == self.view.boundary["summarizedThrough"]:
            number = ids.cursor_number(self.session_id, self.view.boundary["boundaryCursor"])
        if number is None or number > self.head:
            missing = {"reason": "missingAnchor", "sessionId": self.session_id}
            raise refusal("notFound", "unknown cursor anchor", **missing)
        index = self.view.after(number)
        if index < self._earliest:
            earliest = ids.cursor(self.session_id, self.view.events[self._earliest].number)
            message = "requested range predates the retained view"
            raise refusal("viewTruncated", message, sessionId=self.session_id, earliestCursor=earliest)
        return index

    def suffix(self, cursor: str) -> list[Event]:
        """Every event after a cursor."""
        return self.view.events[self.index_after(cursor) :]

    def page(self, cursor: str | None, anchor: str | None, backward: bool, limit: int) -> Json:
        """The result of `view/page`."""
        result: Json = {}
        start = len(self.view.events) if backward else self._earliest
        if anchor is not None:
            result["resolvedAnchor"] = {"boundaryCursor": self._boundary()}
            start = self.index_after(self._boundary()) - 1
        elif cursor is not None:
            start = self.index_after(cursor)
            if backward:
                named = ids.cursor_number(self.session_id, cursor)
                start -= start > 0 and self.view.events[start - 1].number == named
        limit = min(limit, self._page_events)
        indexes = range(start - 1, self._earliest - 1, -1) if backward else range(start, len(self.view.events))
        events: list[Json] = []
        room, last = self._budget, None
        for index in indexes:
            event = self.view.events[index]
            if not self.profile.sends(event.method):
                continue
            shaped = {"method": event.method, "params": event_params(self.profile, event.method, event.params)}
            room -= len(orjson.dumps(shaped))
            if room < 0 and not events:
                message = "the next event does not fit a frame"
                raise refusal("pageEventTooLarge", message, viewCursor=event.params["viewCursor"])
            if room < 0 or len(events) == limit:
                break
            events.append(shaped)
            last = index
        at_end = last is None or last == (indexes[-1] if indexes else last)
        result["nextCursor"] = None if at_end or last is None else self.view.events[last].params["viewCursor"]
        result["events"] = events[::-1] if backward else events
        return result

    def _boundary(self) -> str:
        if self.view.boundary is None:
            raise refusal("noBoundary", "the session was never compacted", latestBoundaryCursor=None)
        return str(self.view.boundary["boundaryCursor"])

    # -- histories

    def history(self, preference: str = "auto") -> Json:
        """The history envelope: what was asked for, or the next smaller thing that fits."""
        if preference == "auto" and self._forced is not None:
            if self._forced == "none":
                return nothing("historyBudget")
            preference = self._forced
        anchored = self.view.boundary is not None and preference in ("auto", "anchored")
        modes = {"auto": ("inline",), "inline": ("inline", "snapshot"), "snapshot": ("snapshot",)}
        for mode in (*(("anchoredSnapshot",) if anchored else ()), *modes.get(preference, ("inline", "snapshot"))):
            served = self._envelope(mode)
            if len(orjson.dumps(served)) <= self._budget:
                return served
        return nothing("historyBudget")

    def _envelope(self, mode: str) -> Json:
        if mode == "inline":
            return {"mode": mode, "items": self._items(), "snapshot": None}
        snapshot: Json = {"schemaVersion": 1, "viewCursor": ids.cursor(self.session_id, self.head)}
        items = self._items()
        if mode == "anchoredSnapshot" and self.view.boundary is not None:
            snapshot["anchor"] = self.view.boundary
            since = self.view.events[self.index_after(self._boundary()) - 1 :]
            kept = {event.params["item"]["itemId"] for event in since if "item" in event.params}
            items = [item for item in items if item["itemId"] in kept]
        snapshot["state"] = self._state(items)
        return {"mode": mode, "items": None, "snapshot": snapshot}

    def _items(self) -> list[Json]:
        known = (item for item in self.view.items.values() if self.profile.sends(item["kind"]))
        return [without(self.profile, "item", item) for item in known]

    def _state(self, items: list[Json]) -> Json:
        view = self.view
        model = view.model or self.facts["model"]
        state: Json = {
            "items": items,
            "activeTurn": view.active,
            "queuedTurns": list(view.queued.values()),
            "pendingApprovals": [_only(row, "approvalId", "viewCursor", "itemId") for row in view.approvals.values()],
            "pendingUserInputs": [
                _only(row, "userInputId", "viewCursor", "itemId") for row in view.user_inputs.values()
            ],
            "approvalMode": view.approval_mode or self.facts["approvalMode"],
            "effectiveModel": model,
            "goal": view.goal,
            "todoList": view.todo,
            "branch": view.branch,
            "tokenUsage": without(self.profile, "cumulative", view.usage),
            "turnCount": view.turn_count,
        }
        if view.context is not None:
            state["contextUsage"] = view.context
        if view.effort is not None:
            state["reasoningEffort"] = view.effort
        if "name" in view.name:
            state["name"] = view.name["name"]
        return without(self.profile, "snapshot", state)

    def pending(self) -> list[Json]:
        """Pointers to what waits for the user."""
        pointers: list[Json] = []
        for row in self.view.approvals.values():
            pointers.append({"kind": "approval", **_only(row, "approvalId", "viewCursor")})
        for row in self.view.user_inputs.values():
            pointers.append({"kind": "userInput", **_only(row, "userInputId", "viewCursor")})
        return pointers

    def with_last_turn(self, result: Json) -> Json:
        """`result` with `lastTurn`, where there is one and the version has it."""
        if self.view.last_turn is not None:
            result["lastTurn"] = self.view.last_turn
        return without(self.profile, "history", result)


def nothing(reason: str) -> Json:
    """The history envelope that holds nothing."""
    return {"mode": "none", "items": None, "snapshot": None, "noneReason": reason}


def _only(row: Json, *keys: str) -> Json:
    return {key: row[key] for key in keys}


# -- lists


def list_page(rows: list[Json], after: str | None, limit: int) -> tuple[list[Json], str | None]:
    """One page of session rows, newest first, and the cursor of the next one."""
    ordered = sorted(rows, key=_order, reverse=True)
    start = 0
    if after is not None:
        mark = after.removeprefix("l:").partition("|")
        if not after.startswith("l:") or not mark[1]:
            raise invalid("cursor", "not one of ours")
        start = sum(_order(row) >= (mark[0], mark[2]) for row in ordered)
    page = ordered[start : start + limit]
    more = start + limit < len(ordered)
    return page, f"l:{page[-1]['updatedAt']}|{page[-1]['sessionId']}" if more and page else None


def _order(row: Json) -> tuple[str, str]:
    return row["updatedAt"], row["sessionId"]


def matches(row: Json, chosen: Json) -> bool:
    """Whether a row passes the filter of `session/list` (`msp.md §10.5`)."""
    branches = chosen.get("branch", {}).get("anyOf")
    if branches is not None and row.get("branch") not in branches:
        return False
    session_ids = chosen.get("sessionId", {}).get("anyOf")
    if session_ids is not None and row["sessionId"] not in session_ids:
        return False
    return "text" not in chosen or _matches_text(row, chosen["text"])


def _matches_text(row: Json, text: dict[str, Any]) -> bool:
    tokens = " ".join(str(row.get(field, "")) for field in text["fields"]).lower().split()

    def found(term: str) -> bool:
        return any(token.startswith(term.lower()) for token in tokens)

    return all(map(found, text.get("allOf", []))) and ("anyOf" not in text or any(map(found, text["anyOf"])))
