"""Events pass in order, and only when nothing holds them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from adapter.bridge.turns.gate import EventGate
from adapter.msp.event_routing import EVENTS_LOST
from adapter.wire.background import Background


class Passing:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gate = EventGate(self.take, cast(Background, self))
        self.holding: set[str] = set()
        self.odd: set[str] = set()
        self.begun: list[Callable[[], Awaitable[None]]] = []

    def take(self, method: str, params: dict[str, Any]) -> None:
        self.seen.append(method)
        if method in self.holding:
            self.gate.hold()
        if method in self.odd:
            raise ValueError(method)

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """Done when `rounds` pass."""
        self.begun.append(function)

    async def rounds(self) -> None:
        while self.begun:
            await self.begun.pop(0)()

    def send(self, *methods: str) -> None:
        for method in methods:
            self.gate.receive(method, {})


def test_events_pass_at_once_and_in_order() -> None:
    passing = Passing()
    passing.send("a", "b")
    assert passing.seen == ["a", "b"]
    passing.gate.hold()
    passing.send("c", "d")
    assert passing.seen == ["a", "b"]
    passing.gate.release()
    passing.send("e")
    assert passing.seen == ["a", "b", "c", "d", "e"]


def test_every_hold_has_to_be_released() -> None:
    passing = Passing()
    passing.gate.hold()
    passing.gate.hold()
    passing.send("a")
    passing.gate.release()
    assert passing.seen == []
    passing.gate.release()
    assert passing.seen == ["a"]


def test_an_event_may_hold_the_rest_of_what_waited() -> None:
    passing = Passing()
    passing.holding = {"end"}
    passing.gate.hold()
    passing.send("a", "end", "b", "end", "c")
    passing.gate.release()
    assert passing.seen == ["a", "end"]
    passing.send("d")
    passing.gate.release()
    assert passing.seen == ["a", "end", "b", "end"]
    passing.gate.release()
    assert passing.seen == ["a", "end", "b", "end", "c", "d"]


def test_one_that_cannot_be_handled_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    passing = Passing()
    passing.odd = {"odd"}
    passing.gate.hold()
    passing.send("a", "odd", "b")
    passing.gate.release()
    passing.send("c")
    assert passing.seen == ["a", "odd", "b", "c"]
    assert "odd could not be handled" in caplog.text


def event(cursor: str) -> tuple[str, dict[str, Any]]:
    return cursor, {"viewCursor": cursor}


def gap(after: str, following: str = "v9") -> tuple[str, dict[str, Any]]:
    return "view/gap", {"after": after, "next": following}


END: tuple[str, dict[str, Any]] = ("turn/completed", {"viewCursor": "v9"})


def receive(passing: Passing, *events: tuple[str, dict[str, Any]]) -> None:
    for method, params in events:
        passing.gate.receive(method, params)


@pytest.mark.anyio
async def test_k3_a_gap_told_with_the_end_of_a_turn_comes_before_it() -> None:
    passing = Passing()
    receive(passing, event("v1"), END, event("v10"), gap("v1"), event("v11"))
    assert passing.seen == ["v1"]
    await passing.rounds()
    assert passing.seen == ["v1", "view/gap", "turn/completed", "v10", "v11"]
    receive(passing, event("v12"))
    assert passing.seen[-1] == "v12"


def test_k3_gaps_among_what_waits_are_handed_on_where_they_are() -> None:
    passing = Passing()
    passing.gate.hold()
    first, second = gap("v2"), gap("v7")
    receive(passing, event("v1"), event("v2"), event("v4"), first, second, event("v9"))
    assert list(passing.gate._waiting) == [event("v1"), event("v2"), first, second, event("v4"), event("v9")]


@pytest.mark.anyio
async def test_an_end_waits_no_longer_when_nothing_can_come() -> None:
    passing = Passing()
    receive(passing, END)
    assert passing.seen == []
    passing.gate.listen_no_longer()
    assert passing.seen == ["turn/completed"]
    receive(passing, event("v10"))
    await passing.rounds()
    receive(passing, event("v11"))
    assert passing.seen == ["turn/completed", "v10", "v11"]


def test_too_much_that_waits_is_told_once() -> None:
    passing = Passing()
    told: list[int] = []
    passing.gate.on_full = lambda: told.append(len(passing.seen))
    for _ in range(2):
        passing.gate.hold()
        for _ in range(12):
            passing.gate.receive("a", {"text": "x" * 1024 * 1024})
        passing.gate.release()
    assert told == [0, 12]


def test_p1_what_is_more_than_can_wait_is_dropped_and_read_back() -> None:
    passing = Passing()
    passing.gate.hold()
    big = {"text": "x" * 1024 * 1024}
    passing.gate.receive("approval/request", {})
    for _ in range(40):
        passing.gate.receive("item/delta", big)
    passing.gate.receive("turn/completed", {"turnId": "t"})
    passing.gate.receive("item/completed", {})
    assert passing.gate.has_end("t")
    passing.gate.release()
    assert passing.seen == [EVENTS_LOST, "approval/request", "turn/completed"]
    passing.send("a")
    assert passing.seen[3:] == ["a"]


def test_p1_what_is_kept_of_it_has_a_bound_too() -> None:
    passing = Passing()
    passing.gate.hold()
    for _ in range(100):
        passing.gate.receive("approval/request", {"text": "x" * 1024 * 1024})
    passing.gate.release()
    assert passing.seen[0] == EVENTS_LOST and len(passing.seen) < 40
