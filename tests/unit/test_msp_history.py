"""What a host serves of a session when it opens it: always read as what it is, never as what was asked for."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from adapter.bridge.stored_output.scan import FactScan
from adapter.msp.changes import TurnStarted
from adapter.msp.errors import MalformedResult, MspError
from adapter.msp.fold import SessionFold
from adapter.msp.history import History, Opened
from adapter.msp.host import Host

STATE: dict[str, Any] = {"items": [], "goal": None}


def served(mode: str, **members: Any) -> dict[str, Any]:
    history = {"mode": mode, "items": None, "snapshot": None, **members}
    session = {"sessionId": "s", "status": "idle", "workspaceRoot": "/srv/demo"}
    return {"session": session, "viewCursor": "v:1", "history": history}


@pytest.mark.parametrize("mode", ["snapshot", "anchoredSnapshot", "newer"])
def test_a_snapshot_is_one_whatever_it_is_called(mode: str) -> None:
    opened = Opened.read(served(mode, snapshot={"schemaVersion": 1, "viewCursor": "v:1", "state": STATE}))
    assert (opened.state, opened.is_snapshot) == (STATE, True)
    assert (opened.session_id, opened.root, opened.at_rest, opened.view_cursor) == ("s", "/srv/demo", True, "v:1")


def test_a_snapshot_of_a_newer_schema_is_not_read() -> None:
    opened = Opened.read(served("snapshot", snapshot={"schemaVersion": 2, "state": STATE}))
    assert (opened.state, opened.is_snapshot) == (None, False)


def test_items_alone_are_no_snapshot() -> None:
    opened = Opened.read(served("inline", items=[{"itemId": "i"}]))
    assert (opened.state, opened.is_snapshot) == ({"items": [{"itemId": "i"}]}, False)


def test_nothing_served_has_a_reason() -> None:
    opened = Opened.read(served("none", noneReason="historyBudget"))
    assert (opened.state, opened.is_snapshot, opened.none_reason) == (None, False, "historyBudget")


@pytest.mark.parametrize("odd", [None, 5, "x", [], {}, {"status": ["idle"], "sessionId": 5}])
def test_whatever_a_host_says_is_taken(odd: Any) -> None:
    for result in (
        {},
        {"session": odd, "history": odd, "viewCursor": odd},
        served("snapshot", snapshot=odd, items=odd, noneReason=odd),
        served("snapshot", snapshot={"schemaVersion": odd, "state": odd}),
    ):
        opened = Opened.read(result)
        assert opened.state is None or isinstance(opened.state, dict)
        assert opened.session_id in (None, "s")
        assert opened.at_rest in (True, False)


@pytest.mark.parametrize(
    ("status", "at_rest"), [("idle", True), ("notLoaded", True), ("running", False), ("new", False)]
)
def test_only_some_statuses_are_rest(status: str, at_rest: bool) -> None:
    assert Opened({"status": status}).at_rest is at_rest
    assert not Opened({}).at_rest


class GivesNoEvents:
    """Answers every page with one that lacks what a page is for."""

    async def query(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"nextCursor": None}


@pytest.mark.anyio
async def test_a_page_with_no_list_of_events_is_not_taken_for_an_empty_past() -> None:
    history = History(cast(Host, GivesNoEvents()), SessionFold("s"))
    async with anyio.create_task_group() as tasks:
        with pytest.raises(MalformedResult):
            async for _ in history.pages(tasks):
                pass
    assert not history.complete


class LeadsInCircles:
    """Its pages lead to one another; `too_large`: its events fit none."""

    def __init__(self, *, too_large: bool) -> None:
        self.asked: list[str | None] = []
        self._too_large = too_large

    async def query(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        cursor = params.get("cursor")
        self.asked.append(cursor)
        following = {None: "a", "a": "b", "b": "c", "c": "a"}[cursor]
        if self._too_large:
            raise MspError(-32603, "pageEventTooLarge", "no", data={"viewCursor": following})
        return {"events": [], "nextCursor": following}


@pytest.mark.anyio
@pytest.mark.parametrize("too_large", [False, True])
async def test_a_past_that_leads_in_circles_is_read_once(too_large: bool) -> None:
    host = LeadsInCircles(too_large=too_large)
    history = History(cast(Host, host), SessionFold("s"))
    async with anyio.create_task_group() as tasks:
        if too_large:
            with pytest.raises(MspError):
                async for _ in history.pages(tasks):
                    pass
        else:
            assert len([page async for page in history.pages(tasks)]) == 4
    assert host.asked == [None, "a", "b", "c"]
    assert not history.complete


class HasPages:
    """It has so many pages, each with one event."""

    def __init__(self, pages: int) -> None:
        self.asked = 0
        self._pages = pages

    async def query(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        event = {"method": "turn/started", "params": {"sessionId": "s", "turnId": f"t{self.asked}"}}
        return {"events": [event], "nextCursor": f"v:{self.asked}" if self.asked < self._pages else None}


@pytest.mark.anyio
async def test_before_a_page_is_shown_the_next_one_is_asked_for_and_no_other() -> None:
    host = HasPages(4)
    history = History(cast(Host, host), SessionFold("s"))
    read_ahead: list[int] = []
    async with anyio.create_task_group() as tasks:
        async for changes in history.pages(tasks):
            assert changes == [TurnStarted(f"t{len(read_ahead) + 1}", None)]
            # Without waiting: whoever shows a page does not wait either.
            read_ahead.append(host.asked)
    assert read_ahead == [2, 3, 4, 4]
    assert history.complete and history.events == 4


def fact(method: str, number: int) -> dict[str, Any]:
    return {"method": method, "params": {"sessionId": "s", "viewCursor": f"v:{number}"}}


def test_the_newest_of_each_fact_is_found() -> None:
    scan = FactScan("s")
    assert scan.next_page() is not None
    events: list[Any] = [fact("session/nameChanged", 4), fact("turn/started", 5), None, {"method": 5}]
    scan.take({"events": [*events, fact("session/goalChanged", 6)], "nextCursor": "v:4"})
    assert scan.next_page() is not None
    scan.take({"events": [fact("session/todoListChanged", 1), fact("session/nameChanged", 2)], "nextCursor": None})
    assert scan.next_page() is None
    assert [event["params"]["viewCursor"] for event in scan.found()] == ["v:1", "v:4", "v:6"]
