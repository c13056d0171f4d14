"""What is kept of the events of a session that nobody listens to yet, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp import event_routing
from adapter.msp.event_routing import EVENTS_LOST, EventRouting
from adapter.wire.envelope import Params

pytestmark = pytest.mark.anyio


class Heard:
    """Who listens to a session."""

    def __init__(self, routing: EventRouting, session_id: str) -> None:
        self.events: list[tuple[str, Params]] = []
        routing.listen(session_id, lambda method, params: self.events.append((method, params)))

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.events]


def delta(session_id: str, text: str = "x") -> tuple[str, Params]:
    return "item/delta", {"sessionId": session_id, "delta": text}


def question(session_id: str, **more: Any) -> tuple[str, Params]:
    return "approval/requested", {"sessionId": session_id, **more}


async def test_long_events_are_kept_as_far_as_there_is_room() -> None:
    routing = EventRouting()
    async with routing.opening():
        for _ in range(7):
            routing.on_notification(*delta("a", "x" * 1024 * 1024))
        assert Heard(routing, "a").methods == ["item/delta"] * 7
        for _ in range(9):
            routing.on_notification(*delta("b", "x" * 1024 * 1024))
        assert Heard(routing, "b").methods == [EVENTS_LOST]


async def test_questions_are_kept_where_other_events_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    routing = EventRouting()
    async with routing.opening():
        routing.on_notification(*question("a", approvalId="1"))
        for _ in range(10):
            routing.on_notification(*delta("b"))
        for number in range(2, 4):
            routing.on_notification(*question("b", approvalId=str(number)))
        routing.on_notification(*delta("c"))
        assert Heard(routing, "a").methods == ["approval/requested"], "nothing of it was lost"
        assert Heard(routing, "b").methods == [EVENTS_LOST, "approval/requested", "approval/requested"]
        assert Heard(routing, "c").methods == ["item/delta"]


async def test_more_questions_than_can_be_kept_are_a_loss_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    routing = EventRouting()
    async with routing.opening():
        for number in range(20):
            routing.on_notification(*question("a", approvalId=str(number)))
        heard = Heard(routing, "a")
    assert heard.methods[0] == EVENTS_LOST
    assert len(heard.methods) < 10


async def test_sessions_that_lost_something_are_remembered_as_far_as_there_are_not_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 1)
    monkeypatch.setattr(event_routing, "MAX_LOSSY_SESSIONS", 3)
    routing = EventRouting()
    async with routing.opening():
        for number in range(3):
            routing.on_notification(*delta(f"s{number}"))
        assert Heard(routing, "of which nothing came").methods == []
        for name in ("s3", "s4", "s" * 2000):
            routing.on_notification(*delta(name))
        assert len(routing._lossy) == 3
        for name in ("s0", "s4", "s" * 2000):
            assert Heard(routing, name).methods[0] == EVENTS_LOST, "of none it is forgotten"
    async with routing.opening():
        assert Heard(routing, "s5").methods == []


async def test_what_is_kept_is_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[Params] = []

    def weight(params: Params, most: int) -> int:
        weighed.append(params)
        return len(params["approvalId"])

    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    monkeypatch.setattr(event_routing, "weight", weight)
    routing = EventRouting()
    async with routing.opening():
        for number in range(100):
            routing.on_notification(*question("a", approvalId=str(number)))
        Heard(routing, "b")
    assert len(weighed) == 100


async def test_a_session_that_came_when_all_was_full_has_lost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    routing = EventRouting()
    async with routing.opening():
        for _ in range(5):
            routing.on_notification(*delta("a"))
        routing.on_notification(*delta("b"))
        assert Heard(routing, "b").methods == ["item/delta"]
        assert Heard(routing, "a").methods == [EVENTS_LOST]


async def test_a_loss_is_told_once_and_only_of_what_was_opened_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    routing = EventRouting()
    async with routing.opening():
        for session_id in ("a", "b"):
            for _ in range(10):
                routing.on_notification(*delta(session_id))
        assert Heard(routing, "a").methods == [EVENTS_LOST]
        assert Heard(routing, "a").methods == []
    async with routing.opening():
        routing.on_notification(*delta("b"))
        assert Heard(routing, "b").methods == ["item/delta"]
