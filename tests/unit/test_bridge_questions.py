"""Questions of the host put to the user: in forms, or in text that the next message answers; each settled once."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.acp.content import ResourceLink, Text
from adapter.bridge import terms
from adapter.bridge.consent import client_questions
from adapter.msp.errors import MspError, RequestTimeout
from adapter.wire.envelope import RpcError
from tests.consenting import SESSION, Consenting, Json, consenting, settled
from tests.wired import until

pytestmark = pytest.mark.anyio

END_TURN: Json = {"stopReason": "end_turn"}
CANCELLED: Json = {"stopReason": "cancelled"}

DATABASE: Json = {
    "id": "db",
    "header": "Database",
    "question": "Which database?",
    "options": [{"label": "Postgres"}, {"label": "SQLite"}],
    "selection": {"mode": "single"},
}
ANSWERS: Json = {"userInput/answer": "answers", "userInput/clarify": "clarification", "userInput/cancel": "reason"}


def ask(talk: Consenting, turn: str | None, input_id: str = "u", **changes: Any) -> Json:
    """Let the host ask."""
    params = {"userInputId": input_id, "turnId": turn, "itemId": "i", "questions": [DATABASE], **changes}
    talk.host.tell("userInput/request", params)
    return params


def told(talk: Consenting) -> list[tuple[str, Any]]:
    """What the host was answered so far."""
    return [
        (method.removeprefix("userInput/"), params[ANSWERS[method]])
        for method, params in talk.host.commands
        if method in ANSWERS
    ]


def accepted(choice: Any) -> Json:
    return {"action": "accept", "content": {"db": choice}}


def already_settled() -> MspError:
    return MspError(-32056, "userInputAlreadySettled", "too late")


SQLITE = ("answer", [{"questionId": "db", "selectedLabel": "SQLite"}])


# -- forms


@pytest.mark.acp(94)
async def test_a_form_is_put_once_and_its_answer_told() -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        params = ask(talk, turn)
        talk.host.tell("userInput/requested", params)
        form = await talk.dialog()
        assert form.method == "elicitation/create"
        form.answer(accepted("SQLite"))
        await until(lambda: bool(told(talk)))
        ask(talk, turn)
        await settled()
        assert told(talk) == [SQLITE] and len(talk.shown) == 1
        assert talk.host.notes == []


async def test_the_countdown_stops_while_a_form_is_on_screen() -> None:
    async with consenting(elicitation_form=True) as talk:
        ask(talk, await talk.prompt(), autoResolutionMs=120_000)
        await talk.dialog()
        assert talk.host.notes == [("userInput/engaged", {"sessionId": "ses-1", "userInputId": "u"})]


@pytest.mark.acp(94)
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "_later", "content": {"db": "SQLite"}},
        {"content": {"db": "SQLite"}},
        {},
        RpcError(-32602, "no such mode"),
        RpcError(-32603, "no window"),
    ],
    ids=str,
)
async def test_a_form_that_is_not_sent_off_answers_nothing(answer: Any) -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        ask(talk, turn)
        (await talk.dialog()).answer(answer)
        await until(lambda: bool(told(talk)))
        assert told(talk) == [("cancel", "the user did not answer")]
        assert talk.host.sent("turn/interrupt") == [], "the turn goes on"
        talk.complete(turn)
        assert await talk.answer() == END_TURN


@pytest.mark.acp(94)
@pytest.mark.parametrize("second", ["SQLite", "MySQL"], ids=["right", "wrong again"])
async def test_content_that_answers_nothing_is_asked_again_once(second: str) -> None:
    async with consenting(elicitation_form=True) as talk:
        ask(talk, await talk.prompt())
        (await talk.dialog()).answer(accepted("MySQL"))
        again = await talk.dialog(2)
        assert again.params["message"].startswith("Database: that is none of the options")
        again.answer(accepted(second))
        await until(lambda: bool(told(talk)))
        await settled()
        assert told(talk) == [SQLITE if second == "SQLite" else ("cancel", "the user did not answer")]
        assert len(talk.shown) == 2


async def test_answers_the_host_does_not_take_are_asked_again_with_its_words() -> None:
    async with consenting(elicitation_form=True) as talk:
        talk.host.refusals["userInput/answer"] = [MspError(-32057, "userInputAnswerInvalid", "SQLite is sold out")]
        ask(talk, await talk.prompt())
        (await talk.dialog()).answer(accepted("SQLite"))
        again = await talk.dialog(2)
        assert "SQLite is sold out" in again.params["message"]
        again.answer(accepted("Postgres"))
        await until(lambda: len(told(talk)) == 2)
        assert told(talk) == [SQLITE, ("answer", [{"questionId": "db", "selectedLabel": "Postgres"}])]


async def test_an_answer_that_the_host_does_not_acknowledge_is_asked_for_again_while_the_question_is_open() -> None:
    async with consenting(elicitation_form=True) as talk:
        talk.host.refusals["userInput/answer"] = [RequestTimeout("userInput/answer", 60)]
        talk.host.pending["userInputs"] = [ask(talk, await talk.prompt()) | {"sessionId": SESSION}]
        (await talk.dialog()).answer(accepted("SQLite"))
        again = await talk.dialog(2)
        assert "did not answer userInput/answer" in again.params["message"]
        again.answer(accepted("SQLite"))
        await until(lambda: len(told(talk)) == 2)
        assert told(talk) == [SQLITE] * 2


async def test_an_answer_that_was_taken_without_a_word_is_not_asked_for_again() -> None:
    async with consenting(elicitation_form=True) as talk:
        talk.host.refusals["userInput/answer"] = [RequestTimeout("userInput/answer", 60)]
        turn = await talk.prompt()
        ask(talk, turn)
        (await talk.dialog()).answer(accepted("SQLite"))
        await until(lambda: bool(told(talk)))
        await settled()
        assert len(talk.shown) == 1
        talk.complete(turn)
        assert await talk.answer() == END_TURN


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("failure", [MspError(-32603, "internal", "no"), RequestTimeout("userInput/cancel", 60)])
async def test_a_turn_does_not_wait_for_ever_where_the_host_does_not_take_that_nobody_answers(
    failure: Exception, failures: int
) -> None:
    async with consenting(elicitation_form=True) as talk:
        talk.host.refusals["userInput/cancel"] = [failure] * failures
        turn = await talk.prompt()
        ask(talk, turn)
        (await talk.dialog()).answer({"action": "decline"})
        await until(lambda: len(told(talk)) == 2)
        await settled()
        assert len(told(talk)) == 2 and bool(talk.host.sent("turn/interrupt")) == (failures == 2)
        talk.complete(turn, "cancelled" if failures == 2 else "completed")
        assert await talk.answer() == (CANCELLED if failures == 2 else END_TURN)


@pytest.mark.acp(79)
async def test_a_question_settled_elsewhere_is_withdrawn() -> None:
    async with consenting(elicitation_form=True) as talk:
        ask(talk, await talk.prompt())
        form = await talk.dialog()
        talk.host.tell("userInput/settled", {"userInputId": "u", "outcome": "timedOut"})
        await until(lambda: form.withdrawn)
        assert told(talk) == []


async def test_an_answer_that_comes_too_late_is_no_failure() -> None:
    async with consenting(elicitation_form=True) as talk:
        talk.host.refusals["userInput/answer"] = [already_settled()]
        turn = await talk.prompt()
        ask(talk, turn)
        (await talk.dialog()).answer(accepted("SQLite"))
        await until(lambda: bool(told(talk)))
        await settled()
        assert told(talk) == [SQLITE] and len(talk.shown) == 1


@pytest.mark.acp(94)
async def test_a_client_that_never_answers_is_waited_for_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_questions, "ANSWER_TIMEOUT", 0.05)
    async with consenting(elicitation_form=True) as talk:
        ask(talk, await talk.prompt())
        form = await talk.dialog()
        await until(lambda: bool(told(talk)))
        assert form.withdrawn and told(talk) == [("cancel", "the user did not answer")]


@pytest.mark.acp(94)
async def test_a_client_whose_forms_turn_out_to_be_missing_is_asked_in_text() -> None:
    async with consenting(elicitation_form=True) as talk:
        ask(talk, await talk.prompt())
        (await talk.dialog()).answer(RpcError(-32601, "no such method"))
        assert await talk.answer() == END_TURN
        assert "1. Postgres\n2. SQLite" in talk.text()
        talk.send(Text("2"))
        await until(lambda: bool(told(talk)))
        assert told(talk) == [SQLITE]


@pytest.mark.parametrize("forms", [True, False], ids=["forms", "text"])
async def test_a_question_that_cannot_be_read_is_declined(forms: bool) -> None:
    async with consenting(elicitation_form=forms) as talk:
        ask(talk, await talk.prompt(), questions=[{"question": "what?"}])
        await until(lambda: bool(told(talk)))
        assert told(talk) == [("cancel", "the question could not be shown")]
        assert talk.shown == [] and talk.text() == ""


@pytest.mark.parametrize("forms", [True, False], ids=["forms", "text"])
async def test_a_stop_answers_nothing_and_asks_nothing_more(forms: bool) -> None:
    async with consenting(elicitation_form=forms) as talk:
        turn = await talk.prompt()
        ask(talk, turn)
        await (until(lambda: bool(talk.shown)) if forms else talk.answer())
        talk.conversation.cancel()
        await until(lambda: bool(told(talk)) and bool(talk.host.sent("turn/interrupt")))
        ask(talk, turn, "v")
        await until(lambda: len(told(talk)) == 2)
        assert told(talk) == [("cancel", "the user stopped the turn")] * 2
        assert all(form.withdrawn for form in talk.shown) and len(talk.shown) == forms
        talk.complete(turn, "cancelled")
        assert await talk.answer() == (CANCELLED if forms else END_TURN)


# -- text


async def asked_in_text(talk: Consenting) -> str:
    """A turn that waits for the next message; its prompt is answered."""
    turn = await talk.prompt()
    ask(talk, turn)
    assert await talk.answer() == END_TURN
    return turn


@pytest.mark.acp(94)
async def test_without_forms_the_next_message_is_the_answer() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        assert talk.shown == [] and "Which database?" in talk.text()
        talk.send(Text("sqlite"))
        await until(lambda: bool(told(talk)))
        assert told(talk) == [SQLITE]
        assert len(talk.answers) == 1, "it is answered by the turn"
        message = {"itemId": "m", "kind": "agentMessage", "turnId": turn, "revision": 1, "status": "completed"}
        talk.host.tell("item/completed", {"item": message | {"text": "So be it."}})
        talk.complete(turn)
        assert await talk.answer(2) == END_TURN
        assert talk.text().endswith("So be it.")
        assert talk.host.turns == 1


async def test_a_message_that_is_no_answer_is_passed_on_in_the_users_words() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.send(Text("whichever is cheaper"))
        await until(lambda: bool(told(talk)))
        assert told(talk) == [("clarify", {"content": "whichever is cheaper", "format": "text"})]
        talk.complete(turn)
        assert await talk.answer(2) == END_TURN


@pytest.mark.parametrize(
    "blocks",
    [
        (Text("/unheard of"),),
        (Text("2"), ResourceLink(uri="file:///srv/a", name="a")),
        (Text("x" * 501),),
    ],
    ids=["command", "link", "long"],
)
async def test_a_message_that_can_be_no_answer_leaves_the_question_unanswered(blocks: Any) -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.send(*blocks)
        await until(lambda: bool(told(talk)) and talk.host.turns == 2)
        assert told(talk) == [("cancel", "the user went on with something else")]
        talk.complete(turn)
        await settled()
        assert len(talk.answers) == 1
        talk.complete("t2")
        assert await talk.answer(2) == END_TURN


async def test_however_many_questions_are_open_all_of_them_stay_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_questions, "MOST_OF_SESSION", 2000)
    monkeypatch.setattr(terms, "MOST_OF_ALL", 2000)
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        for number in range(1000):
            ask(talk, turn, f"u{number}")
        talk.send(Text("/unheard of"))
        talk.host.tell("userInput/settled", {"userInputId": "u0", "outcome": "timedOut"})
        await until(lambda: len(told(talk)) == 1000)
        assert set(told(talk)) == {("cancel", "the user went on with something else")}


async def test_a_leading_space_makes_an_answer_of_what_looks_like_a_command() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        ask(talk, turn, questions=[DATABASE | {"options": []}])
        await talk.answer()
        talk.send(Text(" /srv/data"))
        await until(lambda: bool(told(talk)))
        assert told(talk) == [("answer", [{"questionId": "db", "freeText": "/srv/data"}])]


async def test_an_empty_message_answers_nothing_and_loses_nothing() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.send(Text(""))
        assert await talk.answer(2) == END_TURN
        assert told(talk) == []
        talk.send(Text("2"))
        await until(lambda: told(talk) == [SQLITE])
        talk.complete(turn)
        assert await talk.answer(3) == END_TURN


async def test_once_the_question_is_settled_the_next_message_is_an_ordinary_one() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.host.tell("userInput/settled", {"userInputId": "u", "outcome": "timedOut"})
        message = {"itemId": "m", "kind": "agentMessage", "turnId": turn, "revision": 1, "status": "completed"}
        talk.host.tell("item/completed", {"item": message | {"text": "I go on alone."}})
        talk.complete(turn)
        assert "alone" not in talk.text(), "text belongs to a prompt"
        next_turn = await talk.prompt("2")
        assert talk.text().endswith("I go on alone.")
        assert told(talk) == []
        talk.complete(next_turn)
        assert await talk.answer(2) == END_TURN


async def test_an_answer_that_meets_a_settled_question_is_an_ordinary_prompt() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.host.refusals["userInput/answer"] = [already_settled()]
        talk.send(Text("2"))
        await until(lambda: talk.host.turns == 2)
        assert talk.host.sent("turn/start")[1]["input"] == [{"type": "text", "text": "2"}]
        talk.complete(turn)
        talk.complete("t2")
        assert await talk.answer(2) == END_TURN


async def test_an_answer_the_host_does_not_take_is_asked_for_again() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.host.refusals["userInput/answer"] = [MspError(-32057, "userInputAnswerInvalid", "sold out")]
        talk.send(Text("2"))
        assert await talk.answer(2) == END_TURN
        assert "sold out" in talk.text() and talk.text().count("Which database?") == 2
        talk.send(Text("1"))
        await until(lambda: len(told(talk)) == 2)
        talk.complete(turn)
        assert await talk.answer(3) == END_TURN


async def test_two_questions_in_text_are_answered_one_after_the_other() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        ask(talk, turn)
        ask(talk, turn, "v", questions=[DATABASE | {"question": "And the other one?"}])
        assert await talk.answer() == END_TURN
        await settled()
        assert "other one" not in talk.text()
        talk.send(Text("2"))
        assert await talk.answer(2) == END_TURN
        assert "And the other one?" in talk.text()
        talk.send(Text("1"))
        await until(lambda: len(told(talk)) == 2)
        assert [params["userInputId"] for params in talk.host.sent("userInput/answer")] == ["u", "v"]
        talk.complete(turn)
        assert await talk.answer(3) == END_TURN


async def test_a_stop_reaches_a_turn_that_waits_for_a_message() -> None:
    async with consenting() as talk:
        turn = await asked_in_text(talk)
        talk.conversation.cancel()
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.complete(turn, "cancelled")
        next_turn = await talk.prompt("2")
        assert [method for method, _ in told(talk)] == ["cancel"]
        talk.complete(next_turn)
        assert await talk.answer(2) == END_TURN


async def test_an_answer_to_a_dying_host_fails_with_it() -> None:
    async with consenting() as talk:
        await asked_in_text(talk)
        talk.send(Text("2"))
        await until(lambda: bool(told(talk)))
        talk.host.die()
        answer = await talk.answer(2)
        assert isinstance(answer, RpcError) and answer.data is not None and answer.data["reason"] == "hostDied"


async def test_what_names_no_turn_cannot_be_asked_in_text() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        ask(talk, None)
        await until(lambda: bool(told(talk)))
        assert told(talk) == [("cancel", "the editor cannot show questions")]
        talk.complete(turn)
        assert await talk.answer() == END_TURN
