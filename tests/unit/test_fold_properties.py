"""Whatever a host may do to the delivery of a conversation, the same conversation comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.msp.changes import Change, TextAppended, TextRestated
from adapter.msp.fold import SessionFold
from adapter.msp.view import SessionView

FIELDS = {
    "agentMessage": ("text", "text"),
    "reasoning": ("summary.0", "summary"),
    "toolCall": ("output", "visibleOutput"),
}
TURNS = ("t-0", "t-1")


class Event(NamedTuple):
    method: str
    params: dict[str, Any]

    @property
    def cursor(self) -> str:
        return str(self.params["viewCursor"])

    @property
    def durable(self) -> bool:
        return "sourceRange" in self.params

    def paged(self) -> dict[str, Any]:
        return {"method": self.method, "params": self.params}


class Script(NamedTuple):
    """All events of a session in the order of its view, and what every item says in the end."""

    events: list[Event]
    finals: dict[str, str]


@st.composite
def item_events(
    draw: st.DrawFn, item_id: str, turn_id: str, late_starts: bool
) -> tuple[list[tuple[str, dict[str, Any], bool]], str]:
    """One item's life as (method, params, durable): start, deltas, maybe updates and stale copies, completion."""
    kind = draw(st.sampled_from(sorted(FIELDS)))
    field, member = FIELDS[kind]
    chunks = draw(st.lists(st.text("abé", min_size=1, max_size=3), max_size=6))
    final = "".join(chunks) + draw(st.sampled_from(["", "z"]))
    revision, text = 1, ""
    base = {"itemId": item_id, "kind": kind, "turnId": turn_id}

    def full(revision: int, status: str, text: str) -> dict[str, Any]:
        whole = [text] if kind == "reasoning" else text
        return {"item": base | {"revision": revision, "status": status, member: whole}}

    started = ("item/started", full(1, "inProgress", ""), draw(st.booleans()))
    events = [started]
    for chunk in chunks:
        text += chunk
        named = {"field": field} if kind != "agentMessage" or draw(st.booleans()) else {}
        events.append(("item/delta", {"itemId": item_id, "delta": chunk, **named}, False))
        step = draw(st.sampled_from(["none", "none", "update", "stale"]))
        if step == "update":
            revision += 1
            events.append(("item/updated", full(revision, "inProgress", text), True))
        elif step == "stale":
            events.append(("item/updated", full(draw(st.integers(1, revision)), "inProgress", ""), True))
    late = draw(st.integers(0, 2)) if late_starts else 0
    if late and all(method == "item/delta" for method, _, _ in events[1 : late + 1]):
        events.insert(min(late, len(events) - 1), events.pop(0))
    events.append(("item/completed", full(revision + 1, "completed", final), True))
    events += draw(st.lists(st.just(("item/completed", full(revision, "completed", ""), True)), max_size=1))
    return events, final


@st.composite
def scripts(draw: st.DrawFn, late_starts: bool = True) -> Script:
    """`late_starts`: an item's first deltas may overtake its start. Where a host loses some as well, nothing tells that
    the start which arrived was not the beginning."""
    merged: list[tuple[str, dict[str, Any], bool]] = []
    finals: dict[str, str] = {}
    for turn_id in TURNS[draw(st.integers(0, 1)) :]:
        merged.append(("turn/started", {"turnId": turn_id}, True))
        queues = []
        for _ in range(draw(st.integers(1, 3))):
            name = f"item-{len(finals)}"
            events, finals[name] = draw(item_events(name, turn_id, late_starts))
            queues.append(events)
        while queues:
            queue = draw(st.sampled_from(queues))
            merged.append(queue.pop(0))
            queues = [queue for queue in queues if queue]
        merged.append(("turn/completed", {"turnId": turn_id, "terminal": "completed"}, True))
    sent = []
    for n, (method, params, durable) in enumerate(merged):
        source: dict[str, Any] = {"sourceRange": {}} if durable else {}
        sent.append(Event(method, {"sessionId": "s", "viewCursor": f"c{n}", **source, **params}))
    return Script(sent, finals)


class Host:
    """Delivers a script with holes, and serves pages of what is in its log by then."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def page(self, request: Any, written: int) -> dict[str, Any]:
        log = [event for event in self._events[:written] if event.durable]
        position = {event.cursor: n for n, event in enumerate(self._events)}
        after = position[request.cursor] if request.cursor else -1
        rest = [event for event in log if position[event.cursor] > after]
        served = rest[: request.limit]
        following = served[-1].cursor if len(rest) > len(served) else None
        return {"events": [event.paged() for event in served], "nextCursor": following}


def shown(changes: list[Change], item_id: str) -> str:
    return "".join(c.text for c in changes if isinstance(c, TextAppended) and c.item.item_id == item_id)


def restated(changes: list[Change], item_id: str) -> list[str]:
    return [c.text for c in changes if isinstance(c, TextRestated) and c.item.item_id == item_id]


def assert_final(fold: SessionFold, finals: dict[str, str]) -> None:
    for item_id, final in finals.items():
        item = fold.items.get(item_id)
        assert item is not None
        assert not item.is_open
        assert item.text(FIELDS[item.kind][0]) == final
    outcome = fold.turns.outcome(TURNS[-1])
    assert outcome is not None
    assert outcome.terminal == "completed"


@st.composite
def holes(draw: st.DrawFn, length: int) -> list[range]:
    """Stretches of events that are lost; the last event always arrives."""
    if length < 3 or draw(st.booleans()):
        return []
    points = sorted(draw(st.lists(st.integers(1, length - 1), min_size=2, max_size=6, unique=True)))
    return [range(a, b) for a, b in zip(points[::2], points[1::2], strict=False)]


@given(scripts(), st.data())
def test_whole_delivery_shows_exactly_the_final_text(script: Script, data: st.DataObject) -> None:
    fold = SessionFold("s")
    changes: list[Change] = []
    for event in script.events:
        for _ in range(2 if event.durable and data.draw(st.booleans()) else 1):  # durable events may be repeated
            changes += fold.apply(event.method, event.params)
    assert_final(fold, script.finals)
    for item_id, final in script.finals.items():
        assert shown(changes, item_id) == final


@given(st.booleans(), st.data())
@settings(max_examples=2 * settings().max_examples)
def test_text_with_holes_is_filled_or_told_anew_and_never_doubled(late_starts: bool, data: st.DataObject) -> None:
    script = data.draw(scripts(late_starts=late_starts))
    lost = data.draw(holes(len(script.events)))
    frame_after_next = data.draw(st.booleans())
    view, host = SessionView("s", page_limit=data.draw(st.integers(1, 4))), Host(script.events)
    changes: list[Change] = []
    waiting: list[tuple[Any, int]] = []

    def ask(written: int) -> None:
        request = view.next_page()
        if request is not None:
            waiting.append((request, written))

    def answer() -> None:
        request, written = waiting.pop(0)
        changes.extend(view.take_page(host.page(request, written)))

    for n, event in enumerate(script.events):
        if any(n in hole for hole in lost):
            continue
        gaps = [hole for hole in lost if hole.stop == n]
        frames = [(event.method, event.params)]
        for hole in gaps:
            gap = {"sessionId": "s", "after": script.events[hole.start - 1].cursor, "next": event.cursor}
            frames.insert(1 if frame_after_next else 0, ("view/gap", gap))
        for method, params in frames:
            changes += view.receive(method, params)
        ask(data.draw(st.integers(n + 1, len(script.events))))
        answer_now: bool = data.draw(st.booleans())
        if waiting and answer_now:
            answer()
    while waiting or view.recovery.active:
        ask(len(script.events))
        answer()

    assert_final(view.fold, script.finals)
    assert view.reconcile_due == bool(lost)
    for item_id, final in script.finals.items():
        text, anew, item = shown(changes, item_id), restated(changes, item_id), view.fold.items.get(item_id)
        assert item is not None
        assert len(text) <= len(final)
        if item.kind == "toolCall":
            assert not anew  # output is redrawn, so what is appended may skip
            assert lost or text == final
        elif text == final:
            assert not anew
        else:
            assert anew == [final]
            # Only where a host reorders as well, or tells too late, is a middle taken for what comes next.
            assert lost and (late_starts or frame_after_next)


@given(scripts(), st.integers(0, 3), st.data())
def test_history_and_live_events_in_any_overlap(script: Script, again: int, data: st.DataObject) -> None:
    """Pages up to some point, then live events from any earlier point on."""
    read = data.draw(st.integers(0, len(script.events)))
    live_from = max(0, read - again)
    fold = SessionFold("s")
    changes: list[Change] = fold.load_events(event.paged() for event in script.events[:read] if event.durable)
    for event in script.events[live_from:]:
        changes += fold.apply(event.method, event.params)
    assert_final(fold, script.finals)
    for item_id, final in script.finals.items():
        assert len(shown(changes, item_id)) <= len(final)
