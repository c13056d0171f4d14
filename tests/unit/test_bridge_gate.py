"""Events pass in order, and only when nothing holds them."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.turns.gate import EventGate


class Passing:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gate = EventGate(self.take)
        self.holding: set[str] = set()
        self.odd: set[str] = set()

    def take(self, method: str, params: dict[str, Any]) -> None:
        self.seen.append(method)
        if method in self.holding:
            self.gate.hold()
        if method in self.odd:
            raise ValueError(method)

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
