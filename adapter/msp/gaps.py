"""Reading back what the host did not deliver (`msp.md §11.4`).

A pure state machine: it says which page to ask for next and takes the page, until the view is whole again. Splicing
reads forward from where the first hole began. Where that does not work, re-anchoring reads from the latest compaction,
and failing that from the beginning; the fold takes full items by revision, so reading too much does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import islice
from typing import Any, Final

import msgspec

from adapter.msp.vocabulary import LATEST_COMPACTION, NOTIFICATIONS, SERVER_REQUESTS, Delivery
from adapter.msp.weight import weight

PAGE_LIMIT: Final = 200

# Pages one way of reading may take: a hole of 10,000 events, or a conversation of 100,000, is as far as it goes.
SPLICE_PAGES: Final = 50
RE_ANCHOR_PAGES: Final = 500

# Live events held back while a hole is filled; about the traffic of a busy minute.
HELD_EVENTS: Final = 10_000
HELD_BYTES: Final = 8 * 1024 * 1024

# Broadcasts saved when the held events are given up: `view/page` does not return them.
SAVED_BROADCASTS: Final = 100
SAVED_BYTES: Final = 1024 * 1024


class Phase(Enum):
    IDLE = "idle"
    SPLICE = "splice"
    RE_ANCHOR = "reAnchor"
    FROM_START = "fromStart"


_FALLBACK: Final = {Phase.SPLICE: Phase.RE_ANCHOR, Phase.RE_ANCHOR: Phase.FROM_START, Phase.FROM_START: Phase.IDLE}


class PageRequest(msgspec.Struct, frozen=True):
    """A `view/page` to send: from an exclusive cursor, from an anchor, or with neither from the beginning."""

    cursor: str | None
    anchor: str | None
    limit: int

    def params(self, session_id: str) -> dict[str, Any]:
        params: dict[str, Any] = {"sessionId": session_id, "limit": self.limit, "direction": "forward"}
        if self.anchor is not None:
            params["anchor"] = self.anchor
        elif self.cursor is not None:
            params["cursor"] = self.cursor
        return params


class FillStep(msgspec.Struct, frozen=True):
    """What to apply now: first `events` (read forward from `after`), then `live` as if it arrived now.

    Attributes:
        done: the fill is over and live events flow again.
        lost_live: held events were given up, so deltas among `live` may continue something unseen.
        reconcile_approvals: ask `approval/listPending`: a question may have been lost (`msp.md §11.5`).
        re_anchored: why reading starts over from further back, if it does.
        incomplete: why part of the view stays unread, if it does.
    """

    events: list[Any] = []
    after: str | None = None
    live: list[tuple[str, Any]] = []
    done: bool = False
    lost_live: bool = False
    reconcile_approvals: bool = False
    re_anchored: str | None = None
    incomplete: str | None = None


class GapRecovery:
    """The recovery of one session's view; idle until `open`."""

    def __init__(self, page_limit: int = PAGE_LIMIT) -> None:
        self.phase = Phase.IDLE
        self._page_limit = page_limit
        self._held: list[tuple[str, Any]] = []
        self._held_bytes = 0
        self._after: str | None = None
        self._next: str | None = None
        self._cursor: str | None = None
        self._hole: str | None = None
        self._outstanding = False
        self._once_more = False
        self._overflowed = False
        self._pages_left = 0
        self._requested: set[str] = set()
        self._walked: set[str] = set()

    @property
    def active(self) -> bool:
        return self.phase is not Phase.IDLE

    @property
    def after(self) -> str | None:
        """Behind which event the hole begins; None if reading begins with the first one."""
        return self._after

    def open(self, after: str, next_: str) -> None:
        """A hole between two cursors was told. During a fill the earliest `after` stays and the last `next` counts."""
        if not self.active:
            self._after, self._next, self._hole = after, next_, None
            self._outstanding = self._once_more = self._overflowed = False
            self._walked.clear()
            self._enter(Phase.SPLICE)
        elif next_ not in self._walked:
            self._next = next_
            # The page that is on its way may have been read before the new hole was there.
            self._once_more = self._outstanding

    def restart(self) -> None:
        """Nothing is known of what the view holds by now: read it from the beginning, whatever was being read."""
        self._after = self._next = self._hole = None
        self._outstanding = self._once_more = self._overflowed = False
        self._walked.clear()
        self._enter(Phase.FROM_START)

    def hold(self, method: str, params: Any) -> bool:
        """Keeps a live event back while a hole is filled; False if none is, and the event is to be applied now."""
        if self.phase is Phase.IDLE:
            return False
        self._held.append((method, params))
        self._held_bytes += weight(params, HELD_BYTES)
        if len(self._held) > HELD_EVENTS or self._held_bytes > HELD_BYTES:
            self._give_up_held()
        return True

    def holds_end(self, turn_id: str) -> bool:
        """Whether the end of this turn is among what is kept back."""
        return any(
            method == "turn/completed" and isinstance(params, dict) and params.get("turnId") == turn_id
            for method, params in self._held
        )

    def next_request(self) -> PageRequest | None:
        """The page to ask for, one at a time; None while one is on its way or nothing is to be read."""
        if not self.active or self._outstanding:
            return None
        self._outstanding = True
        self._pages_left -= 1
        if self._cursor is not None:
            self._requested.add(self._cursor)
        anchor = LATEST_COMPACTION if self.phase is Phase.RE_ANCHOR and self._cursor is None else None
        return PageRequest(self._cursor, anchor, self._page_limit)

    def accept(self, page: Mapping[str, Any]) -> FillStep:
        """Takes the page asked for."""
        if not self._outstanding:
            return FillStep()
        self._outstanding = False
        events, following = page.get("events"), page.get("nextCursor")
        if not isinstance(events, list) or not (following is None or isinstance(following, str)):
            return self._fall_back("malformedPage")
        after = self._cursor if self._cursor is not None or self.phase is not Phase.RE_ANCHOR else self._after
        events, reached = self._walk(events)
        if not reached:
            events, reached = self._before_held(events, is_last=following is None)
        if reached:
            return self._finish(events, after)
        if self._overflowed and self.phase is Phase.SPLICE:
            return self._fall_back("heldEventsOverflow", events, after)
        if following is None:
            if not self._once_more:
                return self._finish(events, after)
            self._once_more = False
            self._cursor = _last_cursor(events) or self._cursor
        elif not events or following in self._requested:
            return self._fall_back("stalledPaging", events, after)
        else:
            self._cursor = following
        if self._pages_left <= 0:
            return self._fall_back("tooManyPages", events, after)
        return FillStep(events, after)

    def failed(self, reason: str, resume_after: str | None = None) -> FillStep:
        """The page could not be had. `resume_after`: the event that did not fit a frame; reading goes on behind it."""
        if not self._outstanding:
            return FillStep()
        self._outstanding = False
        if resume_after is not None and resume_after not in self._requested and self._pages_left > 0:
            self._hole = self._hole or reason
            self._cursor = resume_after
            return FillStep()
        return self._fall_back(reason)

    def give_up(self, reason: str) -> FillStep:
        """Ends the fill as it stands, e.g. because reading takes too long; what was held is handed out."""
        self._hole = reason
        return self._finish([], self._cursor)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self._cursor = self._after if phase is Phase.SPLICE else None
        self._pages_left = SPLICE_PAGES if phase is Phase.SPLICE else RE_ANCHOR_PAGES
        self._once_more = False
        self._requested.clear()

    def _walk(self, events: list[Any]) -> tuple[list[Any], bool]:
        """The events up to the one the live stream goes on with, and whether it was among them.

        Only a splice may stop there: the other ways start before the hole and replace the reading of it.
        """
        for index, event in enumerate(events):
            cursor = _cursor_of(event)
            if cursor is not None:
                self._walked.add(cursor)
                if cursor == self._next and self.phase is Phase.SPLICE and not self._overflowed:
                    return events[: index + 1], True
        return events, False

    def _before_held(self, events: list[Any], *, is_last: bool) -> tuple[list[Any], bool]:
        """The events before the first that is held back, and whether it is among them: what follows it is held back as
        well then, with the deltas in their places.

        Not where something of that may be missing, or where a single old event that was delivered once more is all that
        both have.
        """
        durable = (cursor for each in self._held if (cursor := _durable_cursor(*each)) is not None)
        first, cursors = next(durable, None), [_cursor_of(event) for event in events]
        if first is None or first not in cursors or self._overflowed or self._once_more:
            return events, False
        at = cursors.index(first)
        common = len(events) - at
        is_same = cursors[at:] == [first, *islice(durable, common - 1)]
        is_whole = not any(method == "view/gap" for method, _ in self._held)
        if not (is_same and is_whole) or (common == 1 and not is_last):
            return events, False
        return events[:at], True

    def _finish(self, events: list[Any], after: str | None) -> FillStep:
        live, self._held, self._held_bytes = self._held, [], 0
        self.phase = Phase.IDLE
        self._outstanding = False
        return FillStep(
            events,
            after,
            live,
            done=True,
            lost_live=self._overflowed,
            reconcile_approvals=True,
            incomplete=self._hole,
        )

    def _fall_back(self, reason: str, events: list[Any] | None = None, after: str | None = None) -> FillStep:
        following = _FALLBACK[self.phase]
        if following is Phase.IDLE:
            self._hole = reason
            return self._finish(events or [], after)
        self._enter(following)
        return FillStep(events or [], after, re_anchored=reason)

    def _give_up_held(self) -> None:
        """Too much to hold: the pages will bring what is durable of it, if they are read to the end."""
        broadcasts = [event for event in self._held if NOTIFICATIONS.get(event[0], 0) & Delivery.BROADCAST]
        self._held, self._held_bytes = [], 0
        for event in reversed(broadcasts[-SAVED_BROADCASTS:]):
            size = weight(event[1], SAVED_BYTES)
            if self._held_bytes + size > SAVED_BYTES:
                break
            self._held.insert(0, event)
            self._held_bytes += size
        self._overflowed = True
        self._once_more = self._outstanding
        if self.phase is Phase.SPLICE and not self._outstanding:
            self._enter(Phase.RE_ANCHOR)


def _cursor_of(event: Any) -> str | None:
    params = event.get("params") if isinstance(event, dict) else None
    cursor = params.get("viewCursor") if isinstance(params, dict) else None
    return cursor if isinstance(cursor, str) else None


def _durable_cursor(method: str, params: Any) -> str | None:
    """The cursor of an event that pages have too."""
    is_durable = isinstance(params, dict) and isinstance(params.get("sourceRange"), dict)
    cursor = params.get("viewCursor") if is_durable and method not in SERVER_REQUESTS else None
    return cursor if isinstance(cursor, str) else None


def _last_cursor(events: list[Any]) -> str | None:
    return _cursor_of(events[-1]) if events else None
