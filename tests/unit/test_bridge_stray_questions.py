"""Questions in sessions that are not open here: what is kept of such a session until it is known whose it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from adapter.bridge.consent import stray_questions
from adapter.bridge.consent.stray_questions import StrayQuestions
from adapter.msp.errors import MspError
from adapter.msp.event_routing import EVENTS_LOST
from adapter.msp.host import Host
from tests.consenting import SESSION, Consenting, Json, consenting, selected, settled
from tests.wired import until

pytestmark = pytest.mark.anyio


class Placing:
    """Sessions whose parent the host tells when `told` is set; `listed` is what they have open then, `looked_at` the
    sessions of which it was asked for."""

    def __init__(self, talk: Consenting, parent_id: str = SESSION) -> None:
        self.talk = talk
        self.told = anyio.Event()
        self.listed: list[Json] = []
        self.looked_at: list[str] = []
        self.can_list = True
        self.strays = StrayQuestions(lambda: [talk.conversation], lambda session_id: False, talk.background)

        async def query(method: str, params: Json, **more: Any) -> Json:
            session_id = params["sessionId"]
            if method == "session/read":
                await self.told.wait()
                return {"session": {"parentSessionId": parent_id}}
            self.looked_at.append(session_id)
            if method != "approval/listPending" or not self.can_list:
                raise MspError(-32603, "internal", method)
            return {"approvals": [each for each in self.listed if each["sessionId"] == session_id], "userInputs": []}

        talk.host.query = query  # type: ignore[method-assign]

    def asks(self, approval_id: str, session_id: str = "kid", **changes: Any) -> Json:
        """A question comes; the first of a session that nobody listens to is a stray one."""
        params = self.talk.approval(f"turn-of-{session_id}", approval_id, sessionId=session_id, **changes)
        if self.talk.host.listens(session_id):
            self.talk.host.tell("approval/requested", params, session_id)
        else:
            self.strays.receive(cast(Host, self.talk.host), session_id, "approval/requested", params)
        self.listed.append(params)
        return params

    async def shown(self, number: int) -> list[str]:
        """The approvals that the client is asked about, when it is about so many."""
        await self.talk.dialog(number)
        await settled()
        return sorted(each.params["_meta"]["museApprovalId"] for each in self.talk.shown)

    def refused(self) -> list[str]:
        sent = self.talk.host.sent("approval/decide")
        assert {each["choiceId"] for each in sent} <= {"no"}
        return sorted(each["approvalId"] for each in sent)


@asynccontextmanager
async def placing(parent_id: str = SESSION) -> AsyncIterator[Placing]:
    async with consenting() as talk:
        await talk.prompt()
        yield Placing(talk, parent_id)


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four events of a session are kept."""
    monkeypatch.setattr(stray_questions, "MOST_WAITING", 4)


@pytest.mark.usefixtures("four")
async def test_i2_what_a_child_says_meanwhile_takes_no_room_from_what_it_asks() -> None:
    async with placing() as it:
        it.asks("a")
        for number in range(10):
            it.talk.host.tell("item/delta", {"itemId": "m", "delta": f"{number}"}, "kid")
        subagent = {"itemId": "i", "kind": "subagent", "childSessionId": "grandkid", "status": "inProgress"}
        it.talk.host.tell("item/started", {"item": subagent}, "kid")
        for name in "bc":
            it.asks(name)
        it.told.set()
        assert await it.shown(3) == ["a", "b", "c"]
        assert it.talk.conversation.children.knows("grandkid") and it.looked_at == []


@pytest.mark.usefixtures("four")
async def test_i2_whatever_else_happens_meanwhile_leaves_room_for_questions_and_is_read_afterwards() -> None:
    async with placing() as it:
        it.asks("a")
        for number in range(10):
            it.talk.host.tell("turn/started", {"turnId": f"t{number}"}, "kid")
        it.talk.host.tell("approval/resolved", {"approvalId": "a", "decision": "denied"}, "kid")
        it.listed.clear()
        it.asks("b")
        it.told.set()
        await until(lambda: it.looked_at == ["kid"])
        await until(lambda: [each for each in it.talk.shown if each.is_open] != [])
        await settled()
        still_asked = [each.params["_meta"]["museApprovalId"] for each in it.talk.shown if each.is_open]
        assert still_asked == ["b"], "the other one is settled"


@pytest.mark.usefixtures("four")
async def test_i2_those_are_asked_also_where_the_host_cannot_tell_what_is_open() -> None:
    async with placing() as it:
        it.can_list = False
        it.asks("a")
        for number in range(10):
            it.talk.host.tell("turn/started", {"turnId": f"t{number}"}, "kid")
        it.asks("b")
        it.told.set()
        assert await it.shown(2) == ["a", "b"]
        assert it.looked_at == ["kid"]


@pytest.mark.usefixtures("four")
async def test_i2_questions_beyond_what_can_be_kept_are_asked_for() -> None:
    async with placing() as it:
        for name in "abcdef":
            it.asks(name)
        it.told.set()
        assert await it.shown(6) == [*"abcdef"]
        for each in it.talk.shown:
            each.answer(selected("no"))
        await until(lambda: it.refused() == [*"abcdef"])
        assert it.looked_at == ["kid"]


@pytest.mark.usefixtures("four")
async def test_i2_in_a_session_that_is_nobodys_those_are_refused_too_and_each_once() -> None:
    async with placing("of somebody else") as it:
        for name in "abcdef":
            it.asks(name)
        it.told.set()
        await until(lambda: len(it.refused()) >= 6)
        await settled()
        assert it.refused() == [*"abcdef"] and it.talk.shown == [] and it.looked_at == ["kid"]


async def test_i2_what_all_such_sessions_say_is_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_questions, "WAITING_BYTES", 100_000)
    async with placing() as it:
        for name in ("kid-1", "kid-2", "kid-3"):
            it.asks(f"of-{name}", name, rawArgs="x" * 40_000)
        it.asks("of-kid-4", "kid-4", rawArgs="x" * 200_000)
        it.told.set()
        assert await it.shown(4) == [f"of-kid-{number}" for number in (1, 2, 3, 4)]
        assert sorted(it.looked_at) == ["kid-3", "kid-4"]
        it.asks("of-kid-5", "kid-5", rawArgs="x" * 40_000)
        assert await it.shown(5) == [f"of-kid-{number}" for number in (1, 2, 3, 4, 5)]
        assert len(it.looked_at) == 2, "there is room again"


@pytest.mark.parametrize("ours", [True, False], ids=["ours", "nobody's"])
async def test_i2_a_question_that_could_not_be_read_meanwhile_is_asked_for(ours: bool) -> None:
    async with placing(SESSION if ours else "of somebody else") as it:
        it.asks("a")
        it.listed.append(it.talk.approval("turn-of-kid", "lost", sessionId="kid"))
        it.talk.host.tell(EVENTS_LOST, {}, "kid")
        it.told.set()
        if ours:
            assert await it.shown(2) == ["a", "lost"]
        else:
            await until(lambda: it.refused() == ["a", "lost"])


async def test_i2_what_a_host_asked_that_has_died_meanwhile_is_not_asked() -> None:
    async with placing() as it:
        it.asks("a")
        await settled()
        it.talk.host.die()
        it.told.set()
        await settled()
        assert it.talk.shown == []
