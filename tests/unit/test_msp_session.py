"""One live session: gaps are read back in order, commands carry what they must, questions are reconciled."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from adapter.msp import session
from adapter.msp.changes import ApprovalOpened, ApprovalResolved, Change, GapLeft, ItemChanged, TextAppended
from adapter.msp.errors import HostClosed, HostGone, MspError, RequestTimeout
from adapter.msp.event_routing import EVENTS_LOST
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class Answering:
    """What a session needs of a host. `answers` gives the result of a method, or raises."""

    def __init__(self, **answers: Callable[[Json], Json]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Json]] = []
        self.commanded: list[tuple[str, Json, str | None]] = []

    async def query(self, method: str, params: Json, *, seconds: float | None = None) -> Json:
        self.asked.append((method, params))
        await anyio.lowlevel.checkpoint()
        return self.answers[method.partition("/")[2]](params)

    async def command(
        self, method: str, params: Json, *, command_id: str | None = None, trace: Json | None = None, **more: Any
    ) -> Json:
        self.commanded.append((method, params, command_id))
        return {"commandId": command_id, "turnId": "turn-1"}


class Listening:
    """A session on such a host, and everything it told."""

    def __init__(self, host: Answering, background: Background) -> None:
        self.host = host
        self.changes: list[Change] = []
        self.session = Session(cast(Host, host), "ses-1", self.changes.append, background)

    @property
    def shown(self) -> list[str]:
        """The text that was told, in order."""
        return [change.text for change in self.changes if isinstance(change, TextAppended)]

    async def rests(self) -> None:
        await until(lambda: not self.session._view.recovery.active and not self.session._view.reconcile_due)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

    def tell(self, *events: Json) -> None:
        for event in events:
            self.session.receive(event["method"], event["params"])


@asynccontextmanager
async def listening(**answers: Callable[[Json], Json]) -> AsyncIterator[Listening]:
    answers.setdefault("listPending", lambda params: {"approvals": [], "userInputs": []})
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Listening(Answering(**answers), Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


def message(number: int) -> Json:
    """The durable event number `number`: a whole message."""
    item = {"itemId": f"i{number}", "kind": "agentMessage", "revision": 1, "status": "completed", "text": f"m{number}"}
    params = {"sessionId": "ses-1", "viewCursor": f"v{number}", "sourceRange": {}, "item": item}
    return {"method": "item/completed", "params": params}


def gap(after: int, following: int) -> Json:
    params = {"sessionId": "ses-1", "after": f"v{after}", "next": f"v{following}", "reason": "slow"}
    return {"method": "view/gap", "params": params}


def page(*numbers: int, following: str | None = None) -> Json:
    return {"events": [message(number) for number in numbers], "nextCursor": following}


def pages(*results: Json | Exception) -> Callable[[Json], Json]:
    """One result after the other."""
    left = list(results)

    def answer(params: Json) -> Json:
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    return answer


async def test_a_change_that_cannot_be_told_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(page=pages(page(2, 3))) as told:
        taken = told.session._on_change

        def choosy(change: Change) -> None:
            if isinstance(change, TextAppended) and change.text in ("m1", "m2"):
                raise TypeError("not this one")
            taken(change)

        told.session._on_change = choosy
        told.tell(message(1), gap(1, 4), message(4), message(5))
        await told.rests()
        assert told.shown == ["m3", "m4", "m5"]
        assert caplog.text.count("telling of a change failed") == 2


async def test_a_gap_is_filled_in_its_place() -> None:
    async with listening(page=pages(page(2, 3))) as told:
        told.tell(message(1), gap(1, 4), message(4), message(5))
        assert told.shown == ["m1"]
        await told.rests()
        assert told.shown == ["m1", "m2", "m3", "m4", "m5"]
        [(method, params)] = [row for row in told.host.asked if row[0] == "view/page"]
        assert method == "view/page"
        assert (params["sessionId"], params["cursor"], params["direction"]) == ("ses-1", "v1", "forward")
        told.tell(message(6))
        assert told.shown[-1] == "m6"


@pytest.mark.parametrize("opened_at", [None, "v1"])
async def test_what_could_not_be_kept_before_anybody_listened_is_read(opened_at: str | None) -> None:
    lost = {"method": EVENTS_LOST, "params": {"sessionId": "ses-1"}}
    async with listening(page=pages(page(2, 3, 4))) as told:
        told.session.opened_at = opened_at
        if opened_at is None:
            told.tell(message(1))
        told.tell(lost, message(4), message(5))
        await told.rests()
        assert told.shown == ["m1"] * (opened_at is None) + ["m2", "m3", "m4", "m5"]
        assert [params["cursor"] for method, params in told.host.asked if method == "view/page"] == ["v1"]
        assert told.host.asked[-1][0] == "approval/listPending"


async def test_e2_a_session_of_which_nothing_was_told_is_read_from_where_it_was_opened() -> None:
    """Its first prompt may have run at a host that has died."""
    async with listening(page=pages(page(2, 3))) as told:
        told.session.opened_at = "v1"
        told.session.catch_up("v3")
        await told.rests()
        assert told.shown == ["m2", "m3"]


async def test_without_a_place_to_read_from_what_is_open_is_asked_for() -> None:
    question = {"approvalId": "a", "sessionId": "ses-1"}
    async with listening(listPending=lambda params: {"approvals": [question], "userInputs": []}) as told:
        told.tell({"method": EVENTS_LOST, "params": {"sessionId": "ses-1"}})
        await until(lambda: told.changes == [ApprovalOpened(question)])
        assert [method for method, _ in told.host.asked] == ["approval/listPending"]


async def test_a_long_gap_takes_several_pages() -> None:
    async with listening(page=pages(page(2, 3, following="c3"), page(4, 5, following="c5"), page(6))) as told:
        told.tell(message(1), gap(1, 6), message(7))
        await told.rests()
        assert told.shown == [f"m{number}" for number in range(1, 8)]
        assert [params.get("cursor") for method, params in told.host.asked if method == "view/page"] == [
            "v1",
            "c3",
            "c5",
        ]


async def test_a_second_gap_while_the_first_is_filled() -> None:
    async with listening(page=pages(page(2, following="v2"), page(3, 4, 5))) as told:
        told.tell(message(1), gap(1, 3), message(3), gap(3, 5), message(5), message(6))
        await told.rests()
        assert told.shown == [f"m{number}" for number in range(1, 7)]


async def test_a_second_gap_behind_a_page_that_was_read_before_it() -> None:
    def answer(params: Json) -> Json:
        if params["cursor"] != "v1":
            return page(4, 5)
        told.tell(gap(3, 5), message(5), message(6))
        return page(2, 3)

    async with listening(page=answer) as told:
        told.tell(message(1), gap(1, 3), message(3))
        await told.rests()
        assert told.shown == [f"m{number}" for number in range(1, 7)]


async def test_a_gap_after_a_gap() -> None:
    async with listening(page=pages(page(2), page(5))) as told:
        told.tell(message(1), gap(1, 3), message(3))
        await told.rests()
        told.tell(message(4), gap(4, 6), message(6))
        await told.rests()
        assert told.shown == [f"m{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    "error",
    [MspError(-32000, "invalidCursor", "unknown cursor"), MspError(-32603, "internal", "no")],
    ids=["cursor", "internal"],
)
async def test_a_page_that_is_refused_is_read_from_further_back(error: MspError) -> None:
    async with listening(page=pages(error, page(1, 2, 3), page(1, 2, 3))) as told:
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        assert told.shown == ["m1", "m2", "m3", "m4"]


async def test_a_page_event_that_fits_no_frame_is_left_out() -> None:
    too_large = MspError(-32000, "pageEventTooLarge", "too large", data={"viewCursor": "v2"})
    async with listening(page=pages(too_large, page(3))) as told:
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        assert told.shown == ["m1", "m3", "m4"]
        assert [params.get("cursor") for method, params in told.host.asked if method == "view/page"] == ["v1", "v2"]


async def test_live_events_flow_again_when_nobody_can_fill(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(page=pages(HostGone("no answer"))) as told:
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        told.tell(message(5))
        assert told.shown == ["m1", "m4", "m5"]
    assert "could not be filled" in caplog.text


async def test_e2_what_a_host_did_not_live_to_read_back_is_read_from_the_next_one() -> None:
    async with listening(page=pages(HostClosed("it died"))) as told:
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        assert told.shown == ["m1", "m4"]
        other = Answering(page=pages(page(2, 3, 4, 5)), listPending=told.host.answers["listPending"])
        told.session.move_to(cast(Host, other))
        told.session.catch_up("v5")
        await told.rests()
        assert sorted(told.shown) == ["m1", "m2", "m3", "m4", "m5"]
        assert [params["cursor"] for method, params in other.asked if method == "view/page"] == ["v1"]
        assert not [change for change in told.changes if isinstance(change, GapLeft)]


async def test_live_events_flow_again_when_a_page_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PAGE_SECONDS", 0.01)
    async with listening() as told:
        told.host.query = late  # type: ignore[method-assign]
        told.tell(message(1), gap(1, 3), message(3))
        await until(lambda: told.shown == ["m1", "m3"])
        assert [change.why for change in told.changes if isinstance(change, GapLeft)] == [
            "the host did not send it in time"
        ]


async def late(method: str, params: Json, *, seconds: float | None = None) -> Json:
    assert seconds is not None
    await anyio.sleep(seconds)
    raise RequestTimeout(method, seconds)


async def test_h6_a_page_that_waits_to_be_read_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PAGE_SECONDS", 0.01)

    async def slow(method: str, params: Json, *, seconds: float | None = None) -> Json:
        # How long it may take is the host's to measure, which knows when it is listened to.
        assert seconds is not None
        await anyio.sleep(20 * seconds)
        return page(2)

    async with listening() as told:
        told.host.query = slow  # type: ignore[method-assign]
        told.tell(message(1), gap(1, 3), message(3))
        await until(lambda: told.shown == ["m1", "m2", "m3"])


@pytest.mark.parametrize("bad", [{}, {"events": 1}, {"events": [None, 3, {}]}, page(2, following="v1")], ids=repr)
async def test_a_page_of_any_shape_ends_the_fill(bad: Json) -> None:
    async with listening(page=lambda params: bad) as told:
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        told.tell(message(5))
        assert told.shown[0] == "m1" and told.shown[-2:] == ["m4", "m5"]


def approval(approval_id: str) -> Json:
    return {"sessionId": "ses-1", "approvalId": approval_id, "currentRequirementId": 0, "availableChoices": []}


async def test_a_question_lost_in_a_gap_is_found() -> None:
    pending = pages({"approvals": [approval("lost")]})
    async with listening(page=pages(page(2)), listPending=pending) as told:
        told.tell({"method": "approval/request", "params": approval("old")}, message(1), gap(1, 3), message(3))
        await told.rests()
        await until(lambda: any(isinstance(change, ApprovalResolved) for change in told.changes))
        opened = [change.params["approvalId"] for change in told.changes if isinstance(change, ApprovalOpened)]
        resolved = [change.params["approvalId"] for change in told.changes if isinstance(change, ApprovalResolved)]
        assert (opened, resolved) == (["old", "lost"], ["old"])


@pytest.mark.parametrize("error", [MspError(-32601, "methodNotFound", "no"), HostClosed("gone")], ids=["old", "gone"])
async def test_questions_that_cannot_be_read_stay_as_they_are(error: Exception) -> None:
    async with listening(listPending=pages(error)) as told:
        told.tell({"method": "approval/request", "params": approval("old")})
        await told.session.reconcile()
        assert not any(isinstance(change, ApprovalResolved) for change in told.changes)


async def test_text_is_not_continued_on_another_host() -> None:
    started = message(1)
    started["method"] = "item/started"
    started["params"]["item"] |= {"status": "inProgress", "text": ""}
    delta = {"sessionId": "ses-1", "itemId": "i1", "field": "text", "delta": "half "}
    whole = message(1)
    whole["params"]["item"] |= {"revision": 2, "text": "half a sentence"}
    whole["params"]["viewCursor"] = "w1"
    async with listening() as told:
        told.tell(started, {"method": "item/delta", "params": delta})
        other = Answering()
        told.session.move_to(cast(Host, other))
        told.tell({"method": "item/delta", "params": {**delta, "delta": "lost tail"}}, whole)
        assert "".join(told.shown) == "half a sentence"
        assert isinstance(told.changes[-1], ItemChanged)
        await told.session.interrupt("turn-1")
        assert other.commanded and not told.host.commanded


async def test_commands_name_the_session_and_what_they_are_about() -> None:
    async with listening() as told:
        session = told.session
        ack = await session.start_turn("id-1", [{"type": "text", "text": "go"}])
        await session.start_turn("id-2", [], replace=True)
        await session.interrupt("turn-1")
        await session.decide("apr-1", {"sourceIndex": 2}, "allow_once")
        await session.cancel_input("in-1", "nobody is there")
        assert ack["turnId"] == "turn-1"
        assert [(method, command_id) for method, _, command_id in told.host.commanded] == [
            ("turn/start", "id-1"),
            ("turn/start", "id-2"),
            ("turn/interrupt", None),
            ("approval/decide", None),
            ("userInput/cancel", None),
        ]
        params = [params for _, params, _ in told.host.commanded]
        assert all(row["sessionId"] == "ses-1" for row in params)
        assert "ifBusy" not in params[0] and params[1]["ifBusy"] == "replace"
        assert params[3]["requirementId"] == {"sourceIndex": 2} and params[3]["choiceId"] == "allow_once"


async def test_a_change_can_hold_those_that_came_with_it() -> None:
    async with listening(page=pages(page(2, 3))) as told:
        holds = True
        told.session.may_tell = lambda: not (holds and "m2" in told.shown)
        told.tell(message(1), gap(1, 4), message(4))
        await told.rests()
        assert told.shown == ["m1", "m2"]
        holds = False
        told.session.tell_on()
        assert told.shown == ["m1", "m2", "m3", "m4"]
