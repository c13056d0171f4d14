"""One session's view folded into its present state, change by change (`msp.md §11`-`§13`, `§15`, `§16`, `§18`).

Plain synchronous code: notifications go in, in the order they arrive; what a reader must be told comes out. Whatever
a host sends, nothing here raises: members of the wrong type yield no change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from adapter.msp.changes import (
    Change,
    ContextUsageChanged,
    GapSeen,
    ItemChanged,
    RetryScheduled,
    SessionClosed,
    SessionFactChanged,
    TextAppended,
    TextRestated,
    TodoListChanged,
    TokenUsageChanged,
    TurnEnded,
    TurnStarted,
    Unrecognised,
)
from adapter.msp.cursors import ArrivalOrder, Decided
from adapter.msp.early import EarlyDeltas
from adapter.msp.facts import DECIDED_BY_ORDER, FACTS, NOTICES, SNAPSHOT_FACTS, SNAPSHOT_VALUES
from adapter.msp.items import REMEMBERED_SETTLED_BYTES, ItemState, ItemStore
from adapter.msp.joining import FIRST
from adapter.msp.members import objects_in
from adapter.msp.open_questions import OpenQuestions
from adapter.msp.streams import MESSAGE_FIELD
from adapter.msp.turns import TurnLedger
from adapter.msp.vocabulary import OPEN_STATUS, SERVER_REQUESTS

DIFFERING_ITEMS: Final = 50
"""Items of one turn whose final text differs from what was shown, remembered until a gap explains it."""

Params = dict[str, Any]
Changes = Sequence[Change]


class SessionFold:
    """The present state of one session.

    Attributes:
        items: all items in the order of first sight.
        turns: which turns run, and how the others ended.
        facts: present values by name (`facts.FACTS`), as the params that brought them.
        last_durable_cursor: the newest event a host can be asked to continue from (`msp.md §11.1`).
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.items = ItemStore()
        self.turns = TurnLedger()
        self.facts: dict[str, Params] = {}
        self.last_durable_cursor: str | None = None
        self._early = EarlyDeltas()
        self._order = ArrivalOrder()
        self._decided = Decided(self._order)
        self._questions = OpenQuestions(session_id, self._decided)
        self._differing: dict[str, ItemState] = {}
        """Settled in the present turn with another text than was shown: a gap may be told that explains it."""
        self._last_delta: Any = None
        """The cursor of the delta that came last."""
        self._live = True
        self._paging = False
        self._handlers: dict[str, Callable[[Params], Changes]] = {
            "turn/started": self._turn_started,
            "turn/completed": self._turn_completed,
            "turn/unqueued": self._turn_unqueued,
            "turn/retracted": self._turn_retracted,
            "turn/retryScheduled": _retry_scheduled,
            "turn/modelRetryScheduled": _retry_scheduled,
            "item/started": lambda params: self._full_item(params, OPEN_STATUS, is_start=True),
            "item/updated": lambda params: self._full_item(params, OPEN_STATUS),
            "item/completed": lambda params: self._full_item(params, "completed"),
            **self._questions.handlers,
            "view/gap": self._gap,
            "session/closed": _session_closed,
        }
        for method, name in NOTICES.items():
            self._handlers.setdefault(method, partial(_notice, name))
        for method, name in FACTS.items():
            self._handlers[method] = partial(self._fact, name)

    @property
    def open_approvals(self) -> dict[str, Params]:
        """Approvals that wait for a decision, by `approvalId`, each as it stands now."""
        return self._questions.approvals.open

    @property
    def open_inputs(self) -> dict[str, Params]:
        """Questions that wait for an answer, by `userInputId`."""
        return self._questions.inputs.open

    @property
    def todo(self) -> list[dict[str, Any]]:
        """The plan as it stands."""
        return _todo_items(self.facts.get("todoList", {})) or []

    # -- live -----------------------------------------------------------------------------------------------------

    def apply(self, method: str, params: Any) -> Changes:
        """Folds in one live notification, or the params of one server request, and answers what changed."""
        if not isinstance(params, dict):
            return ()
        if method == "item/delta":
            return self._delta(params)
        # A request is sent again whenever its question still stands, with the cursor it had at first.
        if method not in SERVER_REQUESTS:
            cursor = params.get("viewCursor")
            if isinstance(cursor, str) and isinstance(params.get("sourceRange"), dict):
                self.last_durable_cursor = cursor
                if not self._order.arrive(cursor):
                    self._catch_up_with(params.get("item"))
                    return ()
        return self._dispatch(method, params)

    def distrust_streams(self) -> None:
        """Deltas may be missing from here on: what is open is completed by its full object instead."""
        for item in self.items.open_items():
            item.frozen = True
        self._early.distrust()
        # The next host may use a cursor again of which the last one told no durable event.
        self._last_delta = None

    def note_hole(self) -> None:
        """Events have been lost: deltas may be missing in what was shown (`msp.md §11.4`)."""
        self.distrust_streams()
        for item in (*self.items.open_items(), *self._differing.values()):
            item.holed = True

    def restate(self) -> list[Change]:
        """The whole texts of settled items where those that were shown have a hole, when all that could be read of
        them has been."""
        changes: list[Change] = []
        for item in [item for item in self._differing.values() if item.holed]:
            del self._differing[item.item_id]
            changes += [TextRestated(item, field, text) for field, text in item.restate()]
        return changes

    def end_untold(self, turn_id: str) -> Changes:
        """A turn is over as far as anybody can know, and nobody told what came of it."""
        ended = self.turns.end_untold(turn_id)
        return (TurnEnded(*ended),) if ended else ()

    def forget_asked(self) -> None:
        """See `OpenQuestions.forget_asked`."""
        self._questions.forget_asked()

    @property
    def open_questions(self) -> frozenset[str]:
        """Ids of all open approvals and questions."""
        return self._questions.ids

    def reconcile(self, pending: Params, before: Collection[str]) -> list[Change]:
        """See `OpenQuestions.reconcile`; `before` is what `open_questions` was when the list was asked for."""
        return self._questions.reconcile(pending, before)

    # -- history --------------------------------------------------------------------------------------------------

    def load_snapshot(self, state: Params, cursor: str | None = None) -> list[Change]:
        """Folds in a snapshot's `state`, taken at `cursor`; every member of it is optional (`msp.md §10.3`). What is
        streamed goes on with the deltas that come after it.

        Its `pendingApprovals` and `pendingUserInputs` are only pointers: the questions follow as server requests.
        """
        self._order.settle(cursor)
        if cursor is not None:
            self.last_durable_cursor = cursor
        items = objects_in(state.get("items"))
        changes = self._take_up(state, items)
        if "activeTurn" in state:
            for item in items:
                self.turns.note_past(item.get("turnId"))
        for name, params in self._facts_of(state):
            changes += self._fact(name, params)
        return changes

    def complete_from(self, state: Params) -> list[Change]:
        """Takes from a snapshot what the pages read after it do not have: facts of which no event tells, and the text
        that has been streamed of what is still open. An event that was read decides against the snapshot: it is no
        older."""
        opened = [item for item in objects_in(state.get("items")) if item.get("status") == OPEN_STATUS]
        changes = self._take_up(state, opened)
        for name, params in self._facts_of(state):
            if name not in self.facts:
                changes += self._fact(name, params)
        return changes

    def _take_up(self, state: Params, items: list[Params]) -> list[Change]:
        active = state.get("activeTurn")
        with self._loading():
            changes = list(self._turn_started(active)) if isinstance(active, dict) else []
            for raw in items:
                changes += self._full_item({"item": raw}, OPEN_STATUS)
                item = self.items.get(str(raw.get("itemId")))
                if item is not None and item.is_open and item.revision == raw.get("revision"):
                    item.raw = raw
                    changes += [TextAppended(item, field, text) for field, text in item.catch_up()]
                    item.frozen = item.ahead = False
        return changes

    def _facts_of(self, state: Params) -> Iterator[tuple[str, Params]]:
        for member, name in SNAPSHOT_FACTS.items():
            value = state.get(member)
            if isinstance(value, dict):
                yield name, value
        for member, (name, inner) in SNAPSHOT_VALUES.items():
            value = state.get(member)
            if value is not None or (member in state and name in self.facts):
                yield name, {inner: value}

    def load_events(self, events: Iterable[Any], after: str | None = None, *, asking: bool = False) -> list[Change]:
        """Folds in the events of a `view/page` that was read forward from `after` (None: from the beginning).

        Events seen before are skipped, except where the order of the view decides what stands. `asking`: the changes
        are acted on like live ones, so questions among them count as asked and a request for them tells nothing new.
        """
        changes: list[Change] = []
        # Items of which a change is among these: what is told of an item is what is known of it by then.
        told: set[str] = set()
        self._order.walk_from(after)
        visit, handlers = self._order.visit, self._handlers
        with self._loading(paging=True, asking=asking):
            for event in events:
                if not isinstance(event, dict):
                    continue
                method, params = event.get("method"), event.get("params")
                if not isinstance(method, str) or not isinstance(params, dict):
                    continue
                cursor = params.get("viewCursor")
                if isinstance(cursor, str):
                    self.last_durable_cursor = cursor
                    if not visit(cursor) and method not in DECIDED_BY_ORDER:
                        continue
                handler = handlers.get(method)
                for change in handler(params) if handler else (Unrecognised(method),):
                    if type(change) is ItemChanged:
                        if change.item.item_id in told:
                            continue
                        told.add(change.item.item_id)
                    changes.append(change)
        self._order.end_walk()
        return changes

    @contextmanager
    def _loading(self, *, paging: bool = False, asking: bool = False) -> Iterator[None]:
        """While history is read: deltas that led to an open item are not in it, and its questions were not asked."""
        self._live, self._paging, self._questions.asking = False, paging, asking
        try:
            yield
        finally:
            self._live, self._paging, self._questions.asking = True, False, True

    # -- one event ------------------------------------------------------------------------------------------------

    def _dispatch(self, method: str, params: Params) -> Changes:
        handler = self._handlers.get(method)
        return handler(params) if handler else (Unrecognised(method),)

    def _delta(self, params: Params) -> Changes:
        item_id, text, field = params.get("itemId"), params.get("delta"), params.get("field")
        if field is None:
            field = MESSAGE_FIELD
        if not (isinstance(item_id, str) and isinstance(text, str) and isinstance(field, str) and text):
            return ()
        # Each event has a cursor of its own: it is the same one, told again.
        before, self._last_delta = self._last_delta, params.get("viewCursor")
        if before is not None:
            first, length = params.get(FIRST) or (self._last_delta, len(text))
            if first == before:
                text = text[length:]
                if not text:
                    return ()
        item = self.items.get(item_id)
        if item is None:
            if not self.items.is_forgotten(item_id):
                self._early.hold(item_id, field, text)
            return ()
        return (TextAppended(item, field, text),) if item.follow(field, text) else ()

    def _full_item(self, params: Params, default_status: str, *, is_start: bool = False) -> Changes:
        raw = params.get("item")
        applied = self.items.apply(raw, default_status) if isinstance(raw, dict) else None
        if applied is None:
            return ()
        item, first = applied
        item.ahead = self._paging
        changes: list[Change] = [ItemChanged(item, True), *self._begin(item, is_start)] if first else []
        for field, text in item.catch_up():
            changes.append(TextAppended(item, field, text))
        if item.differs and not item.is_open:
            self._differ(item)
            if not self._paging:
                changes += self.restate()
        if not first:
            changes.append(ItemChanged(item, False))
        return changes

    def _differ(self, item: ItemState) -> None:
        """Remember an item whose text is another one than was shown, instead of older ones if those are too much."""
        differing = self._differing
        differing[item.item_id] = item
        while len(differing) > 1 and (
            len(differing) > DIFFERING_ITEMS
            or sum(known.weight for known in differing.values()) > REMEMBERED_SETTLED_BYTES
        ):
            differing.pop(next(iter(differing)))

    def _catch_up_with(self, raw: Any) -> None:
        """The live stream has reached a full object that a page brought before."""
        item = self.items.get(raw["itemId"]) if isinstance(raw, dict) and isinstance(raw.get("itemId"), str) else None
        if item is not None and item.raw == raw:
            item.ahead = False

    def _begin(self, item: ItemState, is_start: bool) -> Changes:
        """The text that came before its item; none if it, or what is still to come, is not the text's beginning.

        An unchanged item is told again at any time, so once events have been lost only a start is a beginning; and a
        host may still have let deltas overtake a start, or tell that one twice.
        """
        deltas = self._early.release(item.item_id)
        seen_from_birth = self._live and item.revision <= 1 and (is_start or self._early.trusted)
        item.holed = seen_from_birth and not self._early.trusted
        if not seen_from_birth or deltas is None or not item.continues(deltas):
            item.frozen = True
            return ()
        return [TextAppended(item, field, text) for field, text in deltas if item.follow(field, text)]

    def _turn_started(self, params: Params) -> Changes:
        turn_id, command_id = params.get("turnId"), params.get("commandId")
        command_id = command_id if isinstance(command_id, str) else None
        if not isinstance(turn_id, str) or not self.turns.start(turn_id, command_id):
            return ()
        self._differing.clear()
        if self._live:
            self._early.trust()
        return (TurnStarted(turn_id, command_id),)

    def _turn_completed(self, params: Params) -> Changes:
        ended = self.turns.complete(params)
        return (*self.restate(), TurnEnded(*ended)) if ended else ()

    def _turn_unqueued(self, params: Params) -> Changes:
        ended = self.turns.unqueue(params.get("turnId"))
        return (TurnEnded(*ended),) if ended else ()

    def _turn_retracted(self, params: Params) -> Changes:
        self.turns.retract(params.get("turnId"), params.get("outcome"))
        return _notice(NOTICES["turn/retracted"], params)

    def _gap(self, params: Params) -> Changes:
        after, following = params.get("after"), params.get("next")
        if not isinstance(after, str) or not isinstance(following, str):
            return ()
        self.note_hole()
        return (GapSeen(after, following),)

    def _fact(self, name: str, params: Params) -> Changes:
        todo = _todo_items(params) if name == "todoList" else []
        # A status that is told again is news: another one before it may have been lost.
        known = name != "status" and self.facts.get(name) == params
        if todo is None or not self._decided.may(name) or known:
            return ()
        self.facts[name] = params
        self._decided.note(name)
        if name == "todoList":
            return (TodoListChanged(todo),)
        if name == "tokenUsage":
            self.turns.finish(params.get("turnId"), params.get("finishReason"))
            return (TokenUsageChanged(params),)
        if name == "contextUsage":
            return (ContextUsageChanged(params),)
        return (SessionFactChanged(name, params),)


def _retry_scheduled(params: Params) -> Changes:
    return (RetryScheduled(params),)


def _session_closed(params: Params) -> Changes:
    reason = params.get("reason")
    return (SessionClosed(reason if isinstance(reason, str) else "unknown"),)


def _notice(name: str, params: Params) -> Changes:
    return (SessionFactChanged(name, params),)


def _todo_items(params: Params) -> list[dict[str, Any]] | None:
    items = params.get("items")
    return objects_in(items) if isinstance(items, list) else None
