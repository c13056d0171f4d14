"""What a client learns of a session beside its messages: each fact when it changes, and only then."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from adapter.acp.updates import TextChunk
from adapter.bridge.session_state.facts import CONTEXT_WAIT, Facts
from adapter.bridge.session_state.notices import Notices
from adapter.msp.changes import Change, GapLeft
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.peer import Peer
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class FakeHost:
    handshake = Handshake.read({})

    def scrub(self, text: str) -> str:
        return text.replace("s3cret", "***")


class Shown:
    """The facts of a session, and what its client is told."""

    def __init__(self, background: Background, *, notices: bool) -> None:
        self.told: list[Json] = []
        self.in_turn = False
        self.host = FakeHost()
        peer = cast(Peer, self)
        self.session = Session(cast(Host, self.host), "ses", self._changed, background)
        remarks = Notices("ses", peer, shown=notices, in_turn=lambda: self.in_turn)
        self.facts = Facts(self.session, peer, remarks, background)

    def _changed(self, change: Change) -> None:
        self.facts.hear(change)
        self.facts.show(change)

    def notify(self, method: str, params: Json) -> None:
        self.told.append(params["update"])

    def notify_mergeable(self, chunk: TextChunk) -> None:
        self.told.append(chunk.params()["update"])

    def event(self, method: str, **params: Any) -> list[Json]:
        """Take in an event; what the client is told of it."""
        before = len(self.told)
        self.session.receive(method, {"sessionId": "ses", **params})
        return self.told[before:]


@asynccontextmanager
async def shown(*, notices: bool = True) -> AsyncIterator[Shown]:
    async with anyio.create_task_group() as tasks:
        yield Shown(Background(tasks, logging.getLogger("tests")), notices=notices)


STEP = {"text": "Read", "status": "pending"}
ENTRY = {"content": "Read", "priority": "medium", "status": "pending"}


@pytest.mark.acp(86)
async def test_the_whole_plan_is_told_whenever_it_changes() -> None:
    async with shown() as it:
        assert it.event("session/todoListChanged", items=[], revision=0) == [], "there was no plan to clear"
        assert it.event("session/todoListChanged", items=[STEP], revision=1) == [
            {"sessionUpdate": "plan", "entries": [ENTRY]}
        ]
        assert it.event("session/todoListChanged", items=[STEP], revision=2) == [], "the same plan"
        two = it.event("session/todoListChanged", items=[STEP, {**STEP, "text": "Write"}], revision=3)
        assert [entry["content"] for entry in two[0]["entries"]] == ["Read", "Write"]
        assert it.event("session/todoListChanged", items=[], revision=4) == [{"sessionUpdate": "plan", "entries": []}]
        assert it.event("session/todoListChanged", items="x") == []


@pytest.mark.acp(87)
async def test_usage_is_told_when_it_is_known_and_has_changed() -> None:
    async with shown() as it:
        assert it.event("session/tokenUsage", cumulative={"totalTokens": 5}) == []
        (first,) = it.event("session/contextUsage", usedTokens=5, windowTokens=50)
        assert (first["used"], first["size"], first["_meta"]["muse/usage"]["cumulative"]) == (5, 50, {"totalTokens": 5})
        assert it.event("session/contextUsage", usedTokens=5, windowTokens=50, again=1) == []
        it.event("session/tokenUsage", cumulative={"totalTokens": 5, "cost": {"usd": 0.5}})
        (third,) = it.event("turn/started", turnId="t1", commandId="c1")
        assert third["cost"] == {"amount": 0.5, "currency": "USD"}
        it.event("session/modelChanged", modelId="other")
        assert it.event("session/contextUsage", usedTokens=6) == [], "how much the other model holds is not known"
        assert it.event("session/contextUsage", usedTokens=6, windowTokens=60)[0]["size"] == 60
        it.event("session/modelChanged", modelId="other", source="policy")
        assert it.event("session/contextUsage", usedTokens=7)[0]["size"] == 60, "it is the same model"


def counted(tokens: int) -> Json:
    return {"cumulative": {"totalTokens": tokens, "cost": {"usd": tokens / 10}}}


@pytest.mark.acp(87)
async def test_the_counts_of_a_call_and_its_context_are_told_together() -> None:
    async with shown() as it:
        it.event("session/contextUsage", usedTokens=5, windowTokens=50)
        assert it.event("session/tokenUsage", **counted(7)) == [], "the context was that of the call before"
        (update,) = it.event("session/contextUsage", usedTokens=7, windowTokens=50)
        assert (update["used"], update["cost"]["amount"]) == (7, 0.7)
        await anyio.sleep(CONTEXT_WAIT * 1.5)
        assert it.told[-1] is update, "nothing is left over"


@pytest.mark.acp(87)
async def test_counts_whose_context_is_unchanged_are_told_with_the_next_event_or_soon() -> None:
    async with shown() as it:
        it.event("session/contextUsage", usedTokens=5, windowTokens=50)
        it.event("session/tokenUsage", **counted(7))
        (update,) = it.event("turn/completed", turnId="t1", terminal="completed")
        assert (update["used"], update["cost"]["amount"]) == (5, 0.7)
        it.event("session/tokenUsage", **counted(8))
        with anyio.fail_after(PATIENCE):
            await until(lambda: it.told[-1]["cost"]["amount"] == 0.8)
        it.event("session/tokenUsage", **counted(9))
        it.facts.settle()
        assert it.told[-1]["cost"]["amount"] == 0.9, "a host that has died tells no more"
        it.event("session/tokenUsage", **counted(10))
        it.facts.end()
        await anyio.sleep(CONTEXT_WAIT * 1.5)
        assert it.told[-1]["cost"]["amount"] == 0.9, "the session is closed"


@pytest.mark.parametrize(("after", "told"), [({"tokensAfter": 3}, [9]), ({}, [5, 9])], ids=["done", "undone"])
async def test_the_context_before_a_compaction_is_not_told_again(after: Json, told: list[int]) -> None:
    async with shown() as it:
        it.event("session/contextUsage", usedTokens=5, windowTokens=50)
        it.told.clear()
        item = {"itemId": "i1", "turnId": "t0", "kind": "compaction", "revision": 1, "status": "completed", **after}
        it.event("item/completed", item=item)
        it.event("session/tokenUsage", turnId="t0", **counted(8))
        it.event("turn/started", turnId="t1", commandId="c1")
        it.event("session/contextUsage", usedTokens=9)
        assert [update["used"] for update in it.told] == told
        assert it.told[-1]["cost"]["amount"] == 0.8, "the cost of what shortened it is not lost"


async def test_counts_from_before_a_compaction_and_a_context_that_is_the_same_after_it() -> None:
    async with shown() as it:
        it.event("session/contextUsage", usedTokens=5, windowTokens=50)
        it.event("session/tokenUsage", turnId="t0", **counted(8))
        item = {"itemId": "i1", "turnId": "t0", "kind": "compaction", "revision": 1, "status": "completed"}
        assert it.event("item/completed", item={**item, "tokensAfter": 3}) == [], "not with the context of before"
        it.event("session/tokenUsage", turnId="t1", **counted(9))
        (update,) = it.event("turn/completed", turnId="t1", terminal="completed")
        assert (update["used"], update["cost"]["amount"]) == (5, 0.9), "a host tells only what has changed"


@pytest.mark.acp(88)
async def test_a_title_is_told_when_it_changes_and_null_clears_it() -> None:
    async with shown() as it:
        (first,) = it.event("session/nameChanged", name="Orchard", nameOrigin="automatic")
        assert first["title"] == "Orchard" and first["updatedAt"].endswith("Z")
        assert it.event("session/nameChanged", name="Orchard", nameOrigin="custom") == []
        (third,) = it.event("session/nameChanged", name=None)
        assert third["title"] is None and third["sessionUpdate"] == "session_info_update"


async def test_after_a_replay_all_is_told_that_is_known_and_once() -> None:
    async with shown() as it:
        it.session.fold.load_snapshot(
            {
                "todoList": {"items": [STEP]},
                "contextUsage": {"usedTokens": 5, "windowTokens": 50},
                "tokenUsage": {"totalTokens": 7},
                "name": "Orchard",
            }
        )
        it.facts.show_all({"title": "Heuristic", "updatedAt": "2026-01-02T03:04:05Z"})
        it.facts.show_all({"title": "Heuristic", "updatedAt": "2026-01-02T03:04:05Z"})
        assert [update["sessionUpdate"] for update in it.told] == ["plan", "usage_update", "session_info_update"]
        assert it.told[1]["_meta"]["muse/usage"]["cumulative"] == {"totalTokens": 7}
        assert (it.told[2]["title"], it.told[2]["updatedAt"]) == ("Orchard", "2026-01-02T03:04:05Z")
        assert it.event("session/contextUsage", usedTokens=5, windowTokens=50) == [], "trap: counted twice"


async def test_of_a_session_nothing_is_known_of_nothing_is_told() -> None:
    async with shown() as it:
        it.facts.show_all({})
        assert it.told == []


@pytest.mark.parametrize("method", ["session/goalChanged", "session/branchChanged", "usage/changed"])
async def test_other_facts_are_kept_and_not_told(method: str) -> None:
    async with shown() as it:
        assert it.event(method, goal={"objective": "x"}, branch="main") == []
        assert it.session.fold.facts


# -- remarks

RETRY: Json = {
    "turnId": "t1",
    "attempt": 1,
    "nextAttempt": 2,
    "maxAttempts": 3,
    "retryDelayMs": 1500,
    "reason": "the provider s3cret hung up",
}


@pytest.mark.parametrize("method", ["turn/retryScheduled", "turn/modelRetryScheduled"])
@pytest.mark.acp(89)
async def test_a_retry_is_a_notice_where_the_client_shows_them(method: str) -> None:
    async with shown() as it:
        (notice,) = it.event(method, **RETRY)
        assert notice == {
            "sessionUpdate": "notice",
            "severity": "warning",
            "title": "Muse asks the model again: attempt 2 of 3, in 1.5 s",
            "description": "the provider *** hung up",
        }


@pytest.mark.acp(89)
async def test_a_retry_is_a_thought_of_its_own_elsewhere_and_only_in_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    async with shown(notices=False) as it:
        assert it.event("turn/retryScheduled", **RETRY) == []
        assert "Muse asks the model again" in caplog.text and "s3cret" not in caplog.text
        it.in_turn = True
        (first,), (second,) = it.event("turn/retryScheduled", **RETRY), it.event("turn/retryScheduled", **RETRY)
        assert first["sessionUpdate"] == "agent_thought_chunk"
        assert first["content"]["text"].startswith("Muse asks the model again: attempt 2 of 3, in 1.5 s: the provider")
        assert first["messageId"] != second["messageId"]


@pytest.mark.parametrize("params", [{}, {"nextAttempt": "2", "retryDelayMs": None, "reason": 3}, {"retryDelayMs": -1}])
async def test_a_retry_that_says_little_is_told_all_the_same(params: Json) -> None:
    async with shown() as it:
        (notice,) = it.event("turn/retryScheduled", **params)
        assert notice["title"] == "Muse asks the model again"
        assert "description" not in notice


@pytest.mark.parametrize(
    ("cause", "word"),
    [
        (lambda it: it.event("session/modelRouteUnserved", modelId="large"), "large"),
        (lambda it: it.event("session/modelRouteUnserved"), "not served"),
        (lambda it: it.event("session/viewHealthChanged", health="unavailable"), "no longer tells"),
        (lambda it: it.facts.show(GapLeft("the page s3cret broke")), "could not be read"),
    ],
)
async def test_what_a_user_has_to_know_is_a_notice(cause: Callable[[Shown], Any], word: str) -> None:
    async with shown() as it:
        cause(it)
        (notice,) = it.told
        assert notice["sessionUpdate"] == "notice" and word in notice["title"]
        assert "s3cret" not in str(notice)


async def test_health_that_is_no_trouble_is_not_told() -> None:
    async with shown() as it:
        assert it.event("session/viewHealthChanged", health="available") == []


async def test_a_missing_sandbox_is_told_once_when_a_turn_begins() -> None:
    async with shown() as it:
        it.host.handshake = Handshake.read(
            {"sandboxAvailability": "unavailable", "sandboxUnavailableReason": "no bwrap"}
        )
        (notice,) = it.event("turn/started", turnId="t1", commandId="c1")
        assert (notice["title"], notice["description"]) == ("Muse cannot run tools in its sandbox", "no bwrap")
        assert it.event("turn/started", turnId="t2", commandId="c2") == []


async def test_a_sandbox_that_is_there_is_nothing_to_tell() -> None:
    async with shown() as it:
        assert it.event("turn/started", turnId="t1", commandId="c1") == []
