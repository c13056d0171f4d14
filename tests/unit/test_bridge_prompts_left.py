"""A prompt that was stopped is answered, sometimes before its turn is over or even has a name: what comes of that turn
later is not shown, neither at once nor with the next prompt."""

from __future__ import annotations

from typing import cast

import pytest

from adapter.msp.errors import HostClosed
from adapter.msp.host import Host
from tests.consenting import consenting, decided
from tests.talking import CANCELLED, END_TURN, Talk, settled, talking
from tests.wired import until

pytestmark = pytest.mark.anyio

Json = dict[str, object]


def late(talk: Talk, told: str) -> None:
    """What the host tells of the turn `t1` of the first prompt after it has been answered."""
    command_id = talk.host.sent("turn/start")[0]["commandId"]
    if told == "its start":
        talk.event("turn/started", turnId="t1", commandId=command_id)
    if told == "its prompt":
        item: Json = {"itemId": "i-user", "kind": "userMessage", "turnId": "t1", "revision": 1, "status": "completed"}
        talk.event("turn/started", turnId="t1")
        talk.event("item/completed", item={**item, "commandId": command_id})
    talk.message("t1", "unwanted")
    talk.event("item/started", item={"itemId": "i-2", "kind": "agentMessage", "turnId": "t1", "revision": 1})
    talk.event("item/delta", itemId="i-2", turnId="t1", field="text", delta="unwanted too")


async def says_the_next(talk: Talk) -> None:
    """The next prompt is answered, and shows its own text alone."""
    talk.prompt("two")
    await talk.starts(2)
    talk.ack("t2")
    await settled()
    talk.event("turn/started", turnId="t2")
    talk.message("t2", "wanted")
    talk.end("t2")
    assert (await talk.answers(2))["two"] == END_TURN
    assert talk.log == [("one", CANCELLED), "wanted", ("two", END_TURN)]


@pytest.mark.acp(72)
@pytest.mark.parametrize("told", ["its start", "its prompt", "nothing"])
@pytest.mark.parametrize("ends", [True, False])
async def test_g9_a_turn_that_only_the_next_host_names_is_not_shown_if_it_was_stopped(told: str, ends: bool) -> None:
    """The host took the prompt in and died before it said so; the user stopped it before the next host was there, which
    then tells all that came of it."""
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.conversation.cancel()
        talk.host.answer("turn/start", HostClosed("it died"))
        assert await talk.answers(1) == {"one": CANCELLED}
        late(talk, told)
        if ends:
            talk.end("t1")
        await settled()
        await says_the_next(talk)
        stopped = [params["turnId"] for params in talk.host.sent("turn/interrupt")]
        assert stopped == ([] if told == "nothing" else ["t1"])


@pytest.mark.parametrize("told", ["its start", "nothing"])
async def test_g9_a_turn_that_was_stopped_and_ended_with_its_host_is_not_shown(told: str) -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.ack("t1")
        await settled()
        talk.event("turn/started", turnId="t1")
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.host.die()
        assert await talk.answers(1) == {"one": CANCELLED}
        talk.host.gone = None
        late(talk, told)
        assert not talk.conversation._prompts.turns.host_turns
        talk.end("t1", "failed")
        await settled()
        await says_the_next(talk)


@pytest.mark.parametrize("told", ["its start", "its prompt", "nothing"])
async def test_g9_a_turn_that_begins_after_its_prompt_was_given_up_is_not_shown(told: str) -> None:
    """It has no acknowledgement yet, which names it."""
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.conversation.cancel(0.01)
        assert await talk.answers(1) == {"one": CANCELLED}
        late(talk, told)
        await settled()
        talk.ack("t1")
        await settled()
        talk.end("t1", "cancelled")
        await settled()
        await says_the_next(talk)


async def test_h6_the_end_of_a_turn_whose_prompt_was_given_up_is_not_that_of_the_next_prompt() -> None:
    """It begins while that one waits for its own turn, which the host names later."""
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.conversation.cancel(0.01)
        assert await talk.answers(1) == {"one": CANCELLED}
        talk.prompt("two")
        await talk.starts(2)
        command_id = talk.host.sent("turn/start")[0]["commandId"]
        item: Json = {"itemId": "i-user", "kind": "userMessage", "turnId": "t1", "revision": 1, "status": "completed"}
        talk.event("item/completed", item={**item, "commandId": command_id})
        talk.ack("t1")
        await settled()
        talk.ack("t2")
        talk.end("t1", "failed")
        await settled()
        talk.event("turn/started", turnId="t2")
        talk.message("t2", "wanted")
        talk.end("t2")
        assert (await talk.answers(2))["two"] == END_TURN
        assert talk.log == [("one", CANCELLED), "wanted", ("two", END_TURN)]


async def test_a_turn_that_was_stopped_and_asks_again_at_the_next_host_is_stopped_there() -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.ack("t1")
        await settled()
        talk.event("turn/started", turnId="t1")
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.host.die()
        assert await talk.answers(1) == {"one": CANCELLED}
        question = {"kind": "freeText", "id": "q", "question": "Which?"}
        talk.event("userInput/requested", userInputId="u1", turnId="t1", questions=[question])
        await until(lambda: len(talk.host.sent("turn/interrupt")) == 2)
        assert talk.log == [("one", CANCELLED)]


async def test_a_turn_that_was_stopped_gets_no_consent_at_the_next_host() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/requested", talk.approval(turn))
        await talk.dialog()
        talk.conversation.cancel()
        talk.host.die()
        assert await talk.answer() == CANCELLED
        talk.host.gone = None
        talk.conversation._session.move_to(cast(Host, talk.host))
        asked_before = len(talk.host.sent("turn/interrupt"))
        talk.host.tell("approval/requested", talk.approval(turn))
        await until(lambda: bool(decided(talk)))
        assert decided(talk) == [("a", 0, "no")] and len(talk.shown) == 1
        await until(lambda: len(talk.host.sent("turn/interrupt")) > asked_before)
