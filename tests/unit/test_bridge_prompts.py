"""Prompts in one session: in which order they are sent, stopped and answered, when the host is as slow as can be."""

from __future__ import annotations

import gc
import weakref
from typing import Any, cast

import pytest

from adapter.msp.errors import HostClosed, MspError
from adapter.wire.envelope import Request, RpcError
from adapter.wire.peer import Call
from tests.talking import CANCELLED, END_TURN, Watched, settled, talking, two_of_them
from tests.wired import outcome, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


async def test_of_a_prompt_that_runs_nothing_is_kept() -> None:
    async with talking() as talk:
        call = Call(Request(1, "session/prompt", {"prompt": "a long one"}), 1000)
        block = Watched("a long one")
        kept = weakref.ref(block)
        work = [talk.conversation.admit((block,), None, call)]
        talk._background.start(lambda: outcome(work.pop))
        del block
        await talk.starts(1)
        assert kept() is not None
        talk.ack("t1")
        talk.event("turn/started", turnId="t1")
        await settled()
        gc.collect()
        assert (call.size, call.params, kept()) == (0, {}, None)


async def test_a_prompt_is_sent_when_the_one_before_it_has_been_taken_in() -> None:
    async with talking() as talk:
        for name in ("one", "two", "three"):
            talk.prompt(name)
        await talk.starts(1)
        await settled()
        assert len(talk.host.sent("turn/start")) == 1
        talk.ack("t1")
        await talk.starts(2)
        talk.host.answer("turn/start", MspError(0, "backpressured", "full"))
        await talk.starts(3)
        said = [params["input"][0]["text"] for params in talk.host.sent("turn/start")]
        assert said == ["one", "two", "three"]
        talk.ack("t3", "queued")
        await settled()
        talk.end("t1")
        talk.end("t3")
        answers = await talk.answers(3)
        assert answers["one"] == answers["three"] == END_TURN
        assert isinstance(answers["two"], RpcError)


async def test_nothing_of_a_turn_is_shown_before_the_answer_to_the_last() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        talk.message("t1", "a")
        talk.end("t1")
        talk.message(None, "stray")
        talk.event("turn/started", turnId="t2")
        talk.message("t2", "b")
        talk.end("t2")
        await talk.answers(2)
        assert talk.log == ["a", ("one", END_TURN), "stray", "b", ("two", END_TURN)]


async def test_a_turn_over_before_its_acknowledgement_is_looked_at_is_in_order_too() -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.ack("t1")
        talk.event("turn/started", turnId="t1")
        talk.message("t1", "a")
        talk.end("t1")
        talk.event("turn/started", turnId="t2")
        talk.message("t2", "b")
        await talk.answers(1)
        await settled()
        assert talk.log == ["a", ("one", END_TURN), "b"], "what the host does by itself is shown after the answer"


async def test_a_question_in_text_that_comes_before_its_turn_has_a_prompt_answers_that_prompt() -> None:
    """The next message is the answer, and many a client sends none while a prompt is open."""
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.event("turn/started", turnId="t1")
        question = {"id": "q", "header": "Q", "question": "Which?"}
        talk.event("userInput/requested", userInputId="u", turnId="t1", itemId="i", questions=[question])
        await settled()
        talk.ack("t1")
        assert await talk.answers(1) == {"one": END_TURN}
        assert "Which?" in talk.log[0]


async def test_a_queued_prompt_is_reclaimed() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        talk.conversation._prompts._take_back(talk.conversation._prompts._runs[1])
        await until(lambda: bool(talk.host.sent("turn/unqueue")))
        talk.host.answer("turn/unqueue")
        await settled()
        assert not talk.log, "an acknowledgement is no end"
        talk.event("turn/unqueued", turnId="t2")
        assert await talk.answers(1) == {"two": CANCELLED}
        assert not talk.host.sent("turn/interrupt")
        talk.end("t1")
        assert (await talk.answers(2))["one"] == END_TURN


async def test_reclaiming_too_late_is_an_interrupt() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        talk.conversation._prompts._take_back(talk.conversation._prompts._runs[1])
        await until(lambda: bool(talk.host.sent("turn/unqueue")))
        talk.host.answer("turn/unqueue", MspError(-32030, "commandRejected", "it runs"))
        talk.end("t1")
        await settled()
        assert not talk.host.sent("turn/interrupt"), "nothing runs yet"
        talk.event("turn/started", turnId="t2")
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/interrupt")] == ["t2"])
        talk.end("t2")
        assert (await talk.answers(2))["two"] == CANCELLED


@pytest.mark.parametrize("answers", [True, False])
async def test_what_waits_is_reclaimed_before_what_runs_is_interrupted(answers: bool) -> None:
    async with talking() as talk:
        await two_of_them(talk)
        talk.prompt("three")
        await talk.starts(3)
        talk.conversation.cancel()
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/unqueue")))
        if answers:
            await settled()
            assert not talk.host.sent("turn/interrupt")
            talk.host.answer("turn/unqueue")
            talk.ack("t3", "queued")
            await until(lambda: len(talk.host.sent("turn/unqueue")) == 2)
            talk.host.answer("turn/unqueue")
        # Else it does not wait for ever.
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/interrupt")] == ["t1"])
        talk.end("t1", "cancelled")
        talk.event("turn/unqueued", turnId="t2")
        talk.end("t3", "cancelled")
        if not answers:
            talk.ack("t3", "queued")
        assert await talk.answers(3) == dict.fromkeys(("one", "two", "three"), CANCELLED)


async def test_a_prompt_whose_turn_never_was_is_cancelled_without_a_word_to_the_host() -> None:
    async with talking() as talk:
        talk.prompt("one")
        talk.prompt("two")
        await talk.starts(1)
        talk.conversation.cancel()
        assert await talk.answers(1) == {"two": CANCELLED}
        talk.ack("t1")
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.end("t1")
        assert (await talk.answers(2))["one"] == CANCELLED
        assert len(talk.host.sent("turn/start")) == 1


async def test_g6_a_queued_turn_that_was_given_up_is_stopped_when_it_begins() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        [one, two] = talk.conversation._prompts._runs
        talk.conversation._prompts._cancel_run(two, 0.01, ())
        assert await talk.answers(1) == {"two": CANCELLED}
        talk.end("t1")
        talk.event("turn/started", turnId="t2")
        talk.message("t2", "unwanted")
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/interrupt")] == ["t2"])
        assert one.settled.is_set()
        talk.prompt("three")
        await talk.starts(3)
        # What was given up while it waited is not what runs: nothing is replaced.
        assert "ifBusy" not in talk.host.sent("turn/start")[2]
        talk.ack("t3")
        await settled()
        talk.end("t3")
        await talk.answers(3)
        assert "unwanted" not in talk.log


async def test_g6_a_prompt_given_up_before_it_was_acknowledged_is_reclaimed_late() -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.conversation.cancel(0.01)
        assert await talk.answers(1) == {"one": CANCELLED}
        talk.ack("t1", "queued")
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/unqueue")] == ["t1"])
        talk.host.answer("turn/unqueue", MspError(-32030, "commandRejected", "it runs"))
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/interrupt")] == ["t1"])


async def test_an_interrupt_that_crosses_the_end_is_sent_once() -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        command_id = talk.host.sent("turn/start")[0]["commandId"]
        talk.event("turn/started", turnId="t1", commandId=command_id)
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.host.answer("turn/interrupt")
        talk.ack("t1")
        talk.end("t1", "cancelled")
        assert await talk.answers(1) == {"one": CANCELLED}
        await settled()
        assert len(talk.host.sent("turn/interrupt")) == 1


# -- turns nobody asked for


async def test_a_turn_of_the_hosts_own_is_shown_and_stopped() -> None:
    async with talking() as talk:
        talk.event("turn/started", turnId="t1")
        talk.message("t1", "working")
        assert talk.log == ["working"] and not talk.conversation.is_busy
        assert talk.conversation._prompts.turns.host_turns == {"t1"}
        talk.conversation.cancel()
        await until(lambda: [params["turnId"] for params in talk.host.sent("turn/interrupt")] == ["t1"])
        assert talk.conversation._prompts.is_stopped("t1")
        talk.host.answer("turn/interrupt")
        talk.end("t1", "cancelled")
        await talk.conversation._prompts.all_answered()
        talk.message(None, "late")
        assert talk.log == ["working"] and not talk.conversation._prompts.turns.host_turns


@pytest.mark.parametrize("refused", [True, False])
async def test_a_turn_of_the_hosts_own_that_does_not_end_is_given_up(refused: bool) -> None:
    async with talking() as talk:
        talk.event("turn/started", turnId="t1")
        talk.conversation.cancel(0.05)
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        if refused:
            talk.host.answer("turn/interrupt", MspError(0, "internal", "no"))
        await talk.conversation._prompts.all_answered()
        talk.message("t1", "unwanted")
        assert not talk.log
        talk.prompt("one")
        await talk.starts(1)
        assert talk.host.sent("turn/start")[0]["ifBusy"] == "replace"


async def test_a_prompt_behind_a_turn_of_the_hosts_own_waits_for_its_own() -> None:
    async with talking() as talk:
        talk.event("turn/started", turnId="t1")
        talk.prompt("one")
        await talk.starts(1)
        talk.ack("t2", "queued")
        await settled()
        talk.end("t1")
        await settled()
        assert not talk.log
        talk.event("turn/started", turnId="t2")
        talk.end("t2")
        assert await talk.answers(1) == {"one": END_TURN}


# -- the end of a host


async def test_e2_what_was_taken_in_ends_with_its_host() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        talk.host.die()
        answers = await talk.answers(2)
        for answer in answers.values():
            assert isinstance(answer, RpcError) and answer.data is not None
            assert answer.data["reason"] == "hostDied"
        # The next host may go on with what ran, and then it is shown and can be stopped.
        assert talk.conversation._prompts.turns.host_turns == {"t1"}
        talk.message("t1", "going on")
        talk.end("t1", "failed")
        await settled()
        assert talk.log[-1] == "going on" and not talk.conversation._prompts.turns.host_turns


async def test_e2_what_waits_at_a_host_that_dies_is_not_to_be_sent_again() -> None:
    """Nothing that was taken in is lost: the next host may run it."""
    async with talking() as talk:
        await two_of_them(talk)
        talk.host.die()
        answers = await talk.answers(2)
        assert [answers[name].data["retryable"] for name in ("one", "two")] == [True, False]
        assert "may run it" in answers["two"].data["details"]
        # Then it is shown, and can be stopped.
        talk.event("turn/started", turnId="t2", commandId=talk.host.sent("turn/start")[1]["commandId"])
        talk.message("t2", "run all the same")
        await settled()
        assert talk.log[-1] == "run all the same"
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/interrupt")))


async def test_e2_what_was_not_taken_in_fails_by_itself() -> None:
    async with talking() as talk:
        talk.prompt("one")
        await talk.starts(1)
        talk.host.die()
        await settled()
        assert not talk.log, "it may be sent again"
        talk.host.answer("turn/start", HostClosed("it died"))
        assert isinstance((await talk.answers(1))["one"], RpcError)


async def test_a_prompt_that_is_stopped_as_its_time_comes_is_not_sent() -> None:
    async with talking() as talk:

        async def not_a_command(blocks: Any) -> None:
            talk.conversation.cancel()

        talk.conversation._prompts.find_command = not_a_command
        talk.prompt("one")
        assert (await talk.answers(1))["one"] == CANCELLED
        await settled()
        assert talk.host.sent("turn/start") == []


async def test_an_answer_that_was_lost_on_the_way_is_shown_before_its_prompt_is_answered() -> None:
    """The end is read back with the text, before the acknowledgement is looked at."""
    async with talking() as talk:
        item = {"itemId": "i-1", "kind": "agentMessage", "turnId": "t1", "revision": 1, "text": "a"}
        lost: list[tuple[str, Json]] = [
            ("turn/completed", {"turnId": "t0", "terminal": "completed"}),
            ("turn/started", {"turnId": "t1"}),
            ("item/completed", {"item": {**item, "status": "completed"}}),
            ("turn/completed", {"turnId": "t1", "terminal": "completed"}),
        ]
        place = {"sessionId": "ses-1", "sourceRange": {}}
        events = [
            {"method": method, "params": {**place, "viewCursor": f"v{at}", **params}}
            for at, (method, params) in enumerate(lost, 2)
        ]

        async def query(method: str, params: Json, **more: Any) -> Json:
            if method != "view/page":
                raise MspError(-32601, "methodNotFound", method)
            return {"events": events, "nextCursor": None}

        cast(Any, talk.host).query = query
        talk.event("turn/started", turnId="t0", viewCursor="v1", sourceRange={})
        talk.prompt("one")
        await talk.starts(1)
        talk.event("view/gap", after="v1", next="v9")
        await settled()
        assert talk.log == []
        talk.ack("t1")
        await talk.answers(1)
        await settled()
        assert talk.log == ["a", ("one", END_TURN)]
