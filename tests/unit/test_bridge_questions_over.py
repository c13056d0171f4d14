"""What becomes of questions while an answer is on its way: they may be over then, or others may come."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.acp.content import Text
from adapter.msp.errors import MspError
from adapter.wire.envelope import RpcError
from tests.consenting import Consenting, Json, consenting, settled
from tests.wired import until

pytestmark = pytest.mark.anyio

END_TURN: Json = {"stopReason": "end_turn"}

QUESTION: Json = {"id": "q", "header": "Database", "question": "Which database?", "options": []}


async def asked_in_text(talk: Consenting, question: Json = QUESTION) -> str:
    """A turn that waits for the next message; its prompt is answered."""
    turn = await talk.prompt()
    talk.host.tell("userInput/request", {"userInputId": "u", "turnId": turn, "questions": [question]})
    await talk.answer()
    return turn


def hold_answers(talk: Consenting, *, taken: bool = False) -> anyio.Event:
    """The host says whether it has taken an answer when the event is set."""
    said, command = anyio.Event(), talk.host.command

    async def held(method: str, params: Json, **more: Any) -> Json:
        ack = await command(method, params, **more)
        if method == "userInput/answer":
            await said.wait()
        if method == "userInput/answer" and not taken:
            raise MspError(-32057, "userInputAnswerInvalid", "sold out")
        return ack

    talk.host.command = held  # type: ignore[method-assign]
    return said


async def test_a_question_that_was_stopped_while_its_answer_was_on_its_way_is_not_shown_again() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        refused = hold_answers(talk)
        talk.send(Text("SQLite"))
        await until(lambda: bool(talk.host.sent("userInput/answer")))
        talk.conversation.cancel()
        refused.set()
        await settled()
        assert talk.text().count("Which database?") == 1 and "sold out" not in talk.text()
        assert len(talk.answers) == 1, "the turn runs on until the host has stopped it"
        talk.complete(turn, "cancelled")
        assert await talk.answer(2) == {"stopReason": "cancelled"}
        await talk.prompt("go on")
        assert talk.host.sent("turn/start")[-1]["input"] == [{"type": "text", "text": "go on"}]


async def test_a_refused_answer_to_a_question_that_is_settled_by_then_is_an_ordinary_prompt() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        refused = hold_answers(talk)
        talk.send(Text("SQLite"))
        await until(lambda: bool(talk.host.sent("userInput/answer")))
        talk.host.tell("userInput/settled", {"userInputId": "u", "outcome": "timedOut"})
        refused.set()
        await until(lambda: talk.host.turns == 2)
        assert talk.host.sent("turn/start")[-1]["input"] == [{"type": "text", "text": "SQLite"}]
        assert talk.text().count("Which database?") == 1
        talk.complete(turn)
        talk.complete("t2")
        assert await talk.answer(2) == END_TURN


@pytest.mark.parametrize(
    ("words", "told_by"), [("SQLite", "userInput/answer"), ("neither of the two", "userInput/clarify")]
)
async def test_an_answer_for_which_the_host_was_too_busy_is_wanted_no_more_when_the_question_is_settled(
    words: str, told_by: str
) -> None:
    async with consenting() as talk:
        options = [{"label": "SQLite"}, {"label": "Postgres"}]
        turn = await asked_in_text(talk, QUESTION | {"options": options, "allowFreeText": False})
        wanted: list[bool] = []
        command = talk.host.command

        async def busy(method: str, params: Json, **more: Any) -> Json:
            if method != told_by:
                return await command(method, params, **more)
            wanted.append(more["wanted"]())
            talk.host.tell("userInput/settled", {"userInputId": "u", "outcome": "timedOut"})
            wanted.append(more["wanted"]())
            raise MspError(-32031, "backpressured", "too busy")

        talk.host.command = busy  # type: ignore[method-assign]
        talk.send(Text(words))
        await until(lambda: talk.host.turns == 2)
        assert wanted == [True, False]
        assert talk.host.sent("turn/start")[-1]["input"] == [{"type": "text", "text": words}]
        talk.complete(turn)
        talk.complete("t2")
        assert await talk.answer(2) == END_TURN


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "refused"])
async def test_a_question_that_comes_while_an_answer_is_on_its_way_is_shown_again_only_behind_another(
    taken: bool,
) -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        said = hold_answers(talk, taken=taken)
        talk.send(Text("SQLite"))
        await until(lambda: bool(talk.host.sent("userInput/answer")))
        following = QUESTION | {"question": "And which version?"}
        talk.host.tell("userInput/request", {"userInputId": "v", "turnId": turn, "questions": [following]})
        assert await talk.answer(2) == END_TURN
        said.set()
        await settled()
        assert talk.text().count("And which version?") == 1
        assert talk.text().count("Which database?") == (1 if taken else 2)
        talk.send(Text("3"))
        await until(lambda: len(talk.host.sent("userInput/answer")) == 2)
        assert talk.host.sent("userInput/answer")[1]["userInputId"] == ("v" if taken else "u")


async def test_a_question_that_is_stopped_when_the_client_turns_out_to_have_no_forms_is_not_asked_in_text() -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        talk.host.tell("userInput/request", {"userInputId": "u", "turnId": turn, "questions": [QUESTION]})
        (await talk.dialog()).answer(RpcError(-32601, "no such method"))
        talk.conversation.cancel()
        await settled()
        assert "Which database?" not in talk.text()
