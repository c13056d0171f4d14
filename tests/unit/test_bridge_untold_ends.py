"""The end of a turn that was lost is found out, and no turn that still runs is ended."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from adapter.bridge.turns import untold_ends
from adapter.bridge.turns.untold_ends import UntoldEnds
from adapter.msp.changes import Change, TurnEnded
from adapter.msp.errors import MspError
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]

TICK = 0.01


class Says:
    """A host that answers with `row`; without one it knows no such method."""

    def __init__(self) -> None:
        self.gone: object = None
        self.row: Json | None = None
        self.asked = 0
        self.given: set[float | None] = set()
        self.takes = 0.0

    async def query(self, method: str, params: Json, *, seconds: float | None = None) -> Json:
        self.asked += 1
        self.given.add(seconds)
        await anyio.sleep(self.takes)
        if self.row is None:
            raise MspError(-32601, "methodNotFound", "no")
        if method == "session/list":
            return {"sessions": [{"sessionId": "other", "status": "idle"}, {"sessionId": "ses-1", **self.row}]}
        return {"session": "of another shape"}


class Watched:
    def __init__(self, background: Background) -> None:
        self.host = Says()
        self.ended: list[str] = []
        self.awaited = {"t1"}
        self.session = Session(cast(Host, self.host), "ses-1", self._changed, background)
        self.ends = UntoldEnds(self.session, background, lambda: self.awaited)

    def _changed(self, change: Change) -> None:
        if isinstance(change, TurnEnded):
            assert change.outcome.untold
            self.ended.append(change.turn_id)

    def event(self, method: str, **params: Any) -> None:
        self.session.receive(method, {"sessionId": "ses-1", **params})

    async def looks(self, many: int = 4) -> None:
        """The host has been asked so often; twice is enough to end a turn."""
        asked = self.host.asked + 2 * many
        await until(lambda: self.host.asked >= asked)


@asynccontextmanager
async def watched(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    monkeypatch.setattr(untold_ends, "LOOK_SECONDS", TICK)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Watched(Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("status", ["idle", "notLoaded"])
async def test_h6_a_turn_the_host_no_longer_runs_ends(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    async with watched(monkeypatch) as it:
        it.event("turn/started", turnId="t0")
        it.host.row = {"status": status}
        it.ends.gap_ended()
        await until(lambda: sorted(it.ended) == ["t0", "t1"])


async def test_h6_a_turn_that_runs_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(monkeypatch) as it:
        it.host.row = {"status": "running", "activeTurnId": None}
        it.ends.gap_ended()
        await until(lambda: it.host.asked == 2)
        await anyio.sleep(5 * TICK)
        assert not it.ended and it.host.asked == 2
        # It ends unheard, and the host begins another one.
        it.event("turn/started", turnId="t1")
        it.event("turn/started", turnId="t2")
        it.ends.turn_changed()
        await until(lambda: it.ended == ["t1"])


async def test_h6_a_host_that_says_it_is_idle_is_believed_when_nothing_more_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with watched(monkeypatch) as it:
        for odd in (["idle"], {"idle": True}, 7, None):
            it.ends.status_changed({"status": odd})
        it.event("session/statusChanged", status="idle")
        it.ends.status_changed({"status": "idle"})
        it.event("item/delta", itemId="i", delta="still here")
        await it.looks()
        assert not it.ended
        it.event("session/statusChanged", status="idle")
        it.ends.status_changed({"status": "idle"})
        await until(lambda: it.ended == ["t1"])


async def test_h6_an_end_that_comes_late_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(monkeypatch) as it:
        it.host.row = {"status": "idle"}
        it.ends.status_changed({"status": "idle"})
        it.session.fold.apply("turn/completed", {"turnId": "t1", "terminal": "completed"})
        await anyio.sleep(5 * TICK)
        assert not it.ended and not it.host.asked


async def test_h6_a_turn_that_waits_for_the_user_is_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(monkeypatch) as it:
        it.host.row = {"status": "idle"}
        it.event("approval/requested", approvalId="a1", turnId="t1")
        it.ends.gap_ended()
        await it.looks()
        assert not it.ended
        it.event("approval/resolved", approvalId="a1")
        await until(lambda: it.ended == ["t1"])


@pytest.mark.parametrize("calls", [False, True], ids=["thinking", "command"])
async def test_h6_a_host_that_cannot_say_is_given_up_when_it_is_silent(
    monkeypatch: pytest.MonkeyPatch, calls: bool
) -> None:
    monkeypatch.setattr(untold_ends, "QUIET_SECONDS", 3 * TICK)
    async with watched(monkeypatch) as it:
        if calls:
            item = {"itemId": "i", "kind": "toolCall", "turnId": "t1", "revision": 1, "status": "inProgress"}
            it.event("item/started", item=item)
        it.ends.gap_ended()
        if calls:
            await it.looks(8)
            assert not it.ended
            monkeypatch.setattr(untold_ends, "QUIET_CALL_SECONDS", 3 * TICK)
        await until(lambda: it.ended == ["t1"])


async def test_h6_an_answer_that_waits_to_be_read_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untold_ends, "ANSWER_SECONDS", TICK)
    monkeypatch.setattr(untold_ends, "QUIET_SECONDS", 3 * TICK)
    async with watched(monkeypatch) as it:
        # How long that may take is the host's to measure, which knows when it is listened to.
        it.host.row, it.host.takes = {"status": "running", "activeTurnId": "t1"}, 10 * TICK
        it.ends.gap_ended()
        await until(lambda: it.host.asked == 2 and not it.ends._looking)
        assert not it.ended and it.host.given == {TICK}


async def test_nobody_is_asked_for_a_session_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watched(monkeypatch) as it:
        it.event("turn/started", turnId="t1")
        it.ends.gap_ended()
        await it.looks(2)
        it.ends.end()
        await anyio.sleep(3 * TICK)
        asked = it.host.asked
        it.ends.gap_ended()
        await anyio.sleep(5 * TICK)
        assert it.host.asked == asked and not it.ended
