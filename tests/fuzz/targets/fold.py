"""A conversation that is told as the rules say (`msp.md §11, §13`): whatever is told twice, late, or read again from
history, the same conversation comes out, no text is shown twice, and each turn ends once."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from adapter.msp.changes import Change, TextAppended, TurnEnded
from adapter.msp.fold import SessionFold
from adapter.msp.view import SessionView
from tests.fuzz.reading import Choices

FIELDS: Final = {
    "agentMessage": ("text", "text"),
    "reasoning": ("summary.0", "summary"),
    "toolCall": ("output", "visibleOutput"),
}
MOST_ITEMS: Final = 5
MOST_STEPS: Final = 60


class Item(NamedTuple):
    """What is going on with an item; `text` is all of it so far."""

    item_id: str
    kind: str
    revision: int = 0
    text: str = ""
    ended: bool = False

    def told(self, turn_id: str) -> dict[str, Any]:
        """The full object."""
        member = FIELDS[self.kind][1]
        return {
            "itemId": self.item_id,
            "kind": self.kind,
            "turnId": turn_id,
            "revision": self.revision,
            "status": "completed" if self.ended else "inProgress",
            member: [self.text] if self.kind == "reasoning" else self.text,
        }


class Told:
    """The conversation as a host tells it."""

    def __init__(self, choices: Choices) -> None:
        self.events: list[dict[str, Any]] = []
        self.items: list[Item] = []
        self.turn = 0
        self._event("turn/started", turnId="t0")
        for _ in range(MOST_STEPS):
            if not choices:
                break
            self._step(choices)
        for at, item in enumerate(self.items):
            if not item.ended:
                self._tell(at, item._replace(ended=True))
        self._event("turn/completed", turnId=f"t{self.turn}", terminal="completed")

    def _event(self, method: str, *, durable: bool = True, **params: Any) -> None:
        place: dict[str, Any] = {"sessionId": "s", "viewCursor": f"c{len(self.events)}"}
        self.events.append({"method": method, "params": place | ({"sourceRange": {}} if durable else {}) | params})

    def _tell(self, at: int, item: Item) -> None:
        """The item has changed."""
        item = item._replace(revision=item.revision + 1)
        stage = "completed" if item.ended else "started" if item.revision == 1 else "updated"
        self._event(f"item/{stage}", item=item.told(f"t{self.turn}"))
        if at == len(self.items):
            self.items.append(item)
        else:
            self.items[at] = item

    def _step(self, choices: Choices) -> None:
        step = choices.below(6)
        open_ones = [at for at, item in enumerate(self.items) if not item.ended]
        if step == 0 or not open_ones:
            if len(self.items) < MOST_ITEMS:
                kind = sorted(FIELDS)[choices.below(3)]
                self._tell(len(self.items), Item(f"i{len(self.items)}", kind))
            return
        at = open_ones[choices.below(len(open_ones))]
        item = self.items[at]
        if step < 4:
            text = choices.text()
            self.items[at] = item._replace(text=item.text + text)
            field = FIELDS[item.kind][0]
            self._event("item/delta", durable=False, itemId=item.item_id, delta=text, field=field)
        elif step == 4:
            self._tell(at, item._replace(text=item.text + (choices.text() if choices.yes() else "")))
        else:
            self._tell(at, item._replace(ended=True, text=item.text + (choices.text() if choices.yes() else "")))


def one(data: bytes) -> None:
    """The first half of the bytes is what is told, the second how it arrives."""
    told, choices = Told(Choices(data[: len(data) // 2])), Choices(data[len(data) // 2 :])
    durable = [event for event in told.events if "sourceRange" in event["params"]]
    _check(told, *_repeated(told.events, choices))
    _check(told, *_read_and_live(told.events, choices))
    _check(told, *_from_pages(told.events, choices), whole=False)
    fold = SessionFold("s")
    _check(told, fold, fold.load_events(durable), whole=False)


def _repeated(events: list[dict[str, Any]], choices: Choices) -> tuple[SessionFold, list[Change]]:
    """Durable events come again, at once or later."""
    fold, changes = SessionFold("s"), list[Change]()
    late: list[dict[str, Any]] = []
    for event in events:
        changes += fold.apply(event["method"], event["params"])
        if "sourceRange" in event["params"]:
            late.append(event)
        if late and choices.below(3) == 1:
            again = late[choices.below(len(late))]
            changes += fold.apply(again["method"], again["params"])
    return fold, changes


def _read_and_live(events: list[dict[str, Any]], choices: Choices) -> tuple[SessionFold, list[Change]]:
    """History up to some point, then live events from there on, or from a little before."""
    end = choices.below(len(events))
    begin = max(0, end - choices.below(4))
    # Text that was streamed before is not in history, so what is open there comes whole at its end.
    while any(event["method"] == "item/delta" for event in events[begin:end]):
        begin += 1
    fold = SessionFold("s")
    changes = list(fold.load_events([event for event in events[:end] if "sourceRange" in event["params"]]))
    for event in events[begin:]:
        changes += fold.apply(event["method"], event["params"])
    return fold, changes


def _from_pages(events: list[dict[str, Any]], choices: Choices) -> tuple[SessionFold, list[Change]]:
    """Some of it is lost, told to be, and read from pages."""
    view, changes = SessionView("s", page_limit=1 + choices.below(4)), list[Change]()
    begin = 1 + choices.below(len(events) - 1)
    end = min(len(events) - 1, begin + choices.below(6))
    for at, event in enumerate(events):
        if begin <= at < end:
            continue
        if at == end and begin < end:
            gap = {"sessionId": "s", "after": f"c{begin - 1}", "next": f"c{end}"}
            changes += view.receive("view/gap", gap)
        changes += view.receive(event["method"], event["params"])
    durable = [event for event in events if "sourceRange" in event["params"]]
    while (request := view.next_page()) is not None:
        after = int(request.cursor[1:]) if request.cursor else -1
        rest = [event for event in durable if int(event["params"]["viewCursor"][1:]) > after]
        page = rest[: request.limit]
        following = page[-1]["params"]["viewCursor"] if len(rest) > len(page) else None
        changes += view.take_page({"events": page, "nextCursor": following})
    assert not view.recovery.active
    return view.fold, changes


def _check(told: Told, fold: SessionFold, changes: list[Change], *, whole: bool = True) -> None:
    for expected in told.items:
        item = fold.items.get(expected.item_id)
        assert item is not None and not item.is_open
        assert item.text(FIELDS[item.kind][0]) == expected.text, "the text is the host's"
        shown = "".join(c.text for c in changes if isinstance(c, TextAppended) and c.item.item_id == item.item_id)
        assert len(shown) <= len(expected.text), "no text is shown twice"
        assert not whole or shown == expected.text, "all of it is shown"
    ends = Counter(change.turn_id for change in changes if isinstance(change, TurnEnded))
    assert ends == {f"t{told.turn}": 1}, "the turn ends once"
    assert not fold.turns.running
