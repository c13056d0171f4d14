"""Approvals as dialogs: each stage asked once, told to the host as it was clicked, withdrawn when overtaken."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.consent import client_questions, dialogs
from adapter.bridge.consent.client_questions import CANNOT_ASK
from adapter.msp.errors import MspError
from adapter.wire.envelope import RpcError
from tests.consenting import (
    ALLOW,
    ALWAYS,
    CHOICES,
    DENY,
    Consenting,
    Json,
    consenting,
    decided,
    selected,
    settled,
    stage,
    updated,
)
from tests.wired import until

pytestmark = pytest.mark.anyio

CANCELLED: Json = {"stopReason": "cancelled"}
END_TURN: Json = {"stopReason": "end_turn"}


@pytest.mark.acp(93)
async def test_open_dialogs_are_answered_in_any_order_each_for_itself() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        for name in "abc":
            talk.host.tell("approval/requested", talk.approval(turn, name))
        await talk.dialog(3)
        # They were asked about at once, in any order.
        shown = {dialog.params["_meta"]["museApprovalId"]: dialog for dialog in talk.shown}
        for name, option in (("b", "no"), ("c", "yes"), ("a", "always")):
            shown[name].answer(selected(option))
            await settled()
        assert decided(talk) == [("b", 0, "no"), ("c", 0, "yes"), ("a", 0, "always")]


async def test_an_update_that_overtakes_the_ack_of_a_decision_waits_for_it() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: bool(decided(talk)))
        talk.host.acks["approval/decide"] = {"terminal": False}
        talk.host.tell("approval/updated", updated(params | stage(1)))
        second = await talk.dialog(2)
        assert second.params["_meta"]["museRequirementId"]["sourceIndex"] == 1
        assert decided(talk) == [("a", 0, "yes")]


async def test_after_the_last_stage_nothing_is_asked_any_more() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.acks["approval/decide"] = {"terminal": True}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await settled()
        talk.host.tell("approval/updated", updated(params | {"availableChoices": [ALLOW, DENY]}, "persistence"))
        talk.host.tell("approval/requested", params)
        await settled()
        assert len(talk.shown) == 1
        talk.host.tell("approval/resolved", {"approvalId": "a", "itemId": "item-of-a", "decision": "approved"})
        talk.host.tell("approval/requested", params)
        await settled()
        assert len(talk.shown) == 1


@pytest.mark.parametrize("how", ["resolved", "listed no more"])
async def test_what_is_settled_elsewhere_is_withdrawn(how: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        shown = await talk.dialog()
        if how == "resolved":
            talk.host.tell("approval/resolved", {"approvalId": "a", "itemId": "item-of-a", "resolvedBy": "policy"})
        else:
            await talk.conversation._session.reconcile()
        await until(lambda: shown.withdrawn)
        assert decided(talk) == []


async def test_an_automatic_reviewer_at_work_asks_nothing() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/reviewing", talk.approval(turn))
        await settled()
        assert talk.shown == [] and talk.host.sent("approval/decide") == []


# -- a client that does not answer


@pytest.mark.acp(73, 91)
async def test_i4_a_client_that_never_answers_is_waited_for_once_and_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_questions, "ANSWER_TIMEOUT", 0.05)
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        shown = await talk.dialog()
        await until(lambda: bool(decided(talk)))
        assert shown.withdrawn
        assert decided(talk) == [("a", 0, "no")]
        talk.complete(turn)
        assert await talk.answer() == END_TURN


@pytest.mark.acp(91)
async def test_i4_a_client_without_the_method_is_asked_once_a_session_and_the_transcript_says_so() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(RpcError(-32601, "no such method"))
        await until(lambda: bool(decided(talk)))
        talk.host.tell("approval/request", talk.approval(turn, "b"))
        await until(lambda: len(decided(talk)) == 2)
        assert [choice for _, _, choice in decided(talk)] == ["no", "no"]
        assert len(talk.shown) == 1
        assert talk.text() == CANNOT_ASK


@pytest.mark.acp(91)
async def test_a_client_that_once_failed_is_asked_again() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(RpcError(-32603, "no window"))
        talk.host.tell("approval/request", talk.approval(turn, "b"))
        (await talk.dialog(2)).answer(selected("yes"))
        await until(lambda: len(decided(talk)) == 2)
        assert sorted(decided(talk)) == [("a", 0, "no"), ("b", 0, "yes")]


# -- nothing that could be refused


@pytest.mark.acp(91)
@pytest.mark.parametrize(
    "choices",
    [[], [ALLOW, ALWAYS], [{"choiceId": "x", "decision": "perhaps"}]],
    ids=["none", "only consent", "unheard"],
)
async def test_where_nothing_can_be_refused_the_turn_is_stopped(choices: list[Json]) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn, availableChoices=choices))
        if len(choices) == 2:
            shown = await talk.dialog()
            assert shown.params["options"][-1]["kind"] == "reject_once"
            shown.answer(selected(shown.params["options"][-1]["optionId"]))
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.complete(turn, "cancelled")
        assert await talk.answer() == CANCELLED
        assert decided(talk) == []


async def test_only_the_turn_that_asks_is_stopped() -> None:
    async with consenting() as talk:
        first = await talk.prompt()
        second = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(first))
        (await talk.dialog()).answer({"outcome": {"outcome": "cancelled"}})
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.complete(first, "cancelled")
        talk.complete(second)
        assert sorted(answer["stopReason"] for answer in (await talk.answer(), await talk.answer(2))) == [
            "cancelled",
            "end_turn",
        ]
        assert [each["turnId"] for each in talk.host.sent("turn/interrupt")] == [first]


@pytest.mark.acp(73, 79)
async def test_i5_a_host_that_lets_an_approval_stand_is_told_no_in_the_end() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        shown = await talk.dialog()
        talk.conversation.cancel(0.05)
        assert await talk.answer() == CANCELLED
        await until(lambda: bool(decided(talk)))
        assert decided(talk) == [("a", 0, "no")]
        assert shown.withdrawn


# -- words that go with a decision


def feedback(talk: Consenting) -> list[str | None]:
    return [each.get("feedback") for each in talk.host.sent("approval/decide")]


@pytest.mark.acp(94)
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"action": "accept", "content": {"feedback": " use the cache "}}, "use the cache"),
        ({"action": "accept", "content": {"feedback": "x" * 5000}}, "x" * 2000),
        ({"action": "accept", "content": {"feedback": ["no"]}}, None),
        ({"action": "accept"}, None),
        ({"action": "decline"}, None),
        ({"action": "cancel"}, None),
        ({"action": "_later"}, None),
        (RpcError(-32601, "no forms"), None),
        (RpcError(-32603, "no window"), None),
    ],
    ids=["words", "long", "no text", "empty", "decline", "cancel", "unknown", "no method", "failed"],
)
async def test_a_refusal_may_say_why(reply: Any, words: str | None) -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected("no"))
        form = await talk.dialog(2)
        assert form.method == "elicitation/create"
        assert form.params["requestedSchema"]["required"] == []
        assert "passwords" in form.params["message"]
        form.answer(reply)
        await until(lambda: bool(decided(talk)))
        assert decided(talk) == [("a", 0, "no")]
        assert feedback(talk) == [words]


@pytest.mark.parametrize("picked", ["yes", "always"])
async def test_a_choice_that_takes_no_words_is_not_asked_for_any(picked: str) -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected(picked, **{"muse/feedback": "never mind"}))
        await until(lambda: bool(decided(talk)))
        assert feedback(talk) == [None] and len(talk.shown) == 1


@pytest.mark.parametrize("forms", [True, False], ids=["forms", "no forms"])
async def test_words_may_come_with_the_selection(forms: bool) -> None:
    async with consenting(elicitation_form=forms) as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected("no", **{"muse/feedback": "not today"}))
        await until(lambda: bool(decided(talk)))
        assert feedback(talk) == ["not today"] and len(talk.shown) == 1


@pytest.mark.parametrize("overtaken", ["stage", "settled"])
async def test_a_form_about_one_stage_never_decides_another(overtaken: str) -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("no"))
        form = await talk.dialog(2)
        if overtaken == "stage":
            talk.host.tell("approval/updated", updated(params | stage(1)))
            assert (await talk.dialog(3)).params["_meta"]["museRequirementId"]["sourceIndex"] == 1
        else:
            talk.host.tell("approval/resolved", {"approvalId": "a", "decision": "denied"})
        await until(lambda: form.withdrawn)
        form.answer({"action": "accept", "content": {"feedback": "late"}})
        await settled()
        assert decided(talk) == []


async def test_the_decision_does_not_wait_long_for_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs, "FEEDBACK_TIMEOUT", 0.05)
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected("no"))
        form = await talk.dialog(2)
        await until(lambda: bool(decided(talk)))
        assert form.withdrawn and feedback(talk) == [None]


async def test_words_the_host_does_not_take_do_not_cost_the_decision() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [MspError(-32052, "approvalChoiceInvalid", "no words here")]
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"}], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("no", **{"muse/feedback": "because"}))
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("a", 0, "no")] * 2
        assert feedback(talk) == ["because", None]


def test_the_choices_of_these_tests_are_what_they_seem() -> None:
    assert [choice["choiceId"] for choice in CHOICES if choice.get("acceptsFeedback")] == ["no"]
