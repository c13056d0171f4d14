"""Questions to the user and their answers (`msp.md §15, §16`, `acp.md §8, §9`): an approval is allowed by nothing but
the clear selection of an offered choice that allows, and a question is answered with what it offers."""

from __future__ import annotations

from typing import Any

from adapter.bridge.consent import permission, question_text
from adapter.bridge.consent.question import NotAnAnswer, Question, read_questions
from adapter.bridge.consent.question_form import answers, form
from adapter.wire.framing import ACP_OUTBOUND_CAP, encode_frame
from tests.fuzz.reading import objects

MOST_LINES = 8


def one(data: bytes) -> None:
    """The first line is what a host asks, the others are what clients answer."""
    lines = objects(data)[:MOST_LINES]
    if lines:
        _approval(lines[0], lines[1:])
        _questions(lines[0], lines[1:])


def _approval(asked: dict[str, Any], said: list[dict[str, Any]]) -> None:
    choices = asked.get("availableChoices")
    params = asked | {"approvalId": "a"}
    offered = permission.options(choices)
    _check_offer(choices, offered)
    shown = permission.question(params, workspace="/srv/demo")
    encode_frame(permission.request("s", params, shown, offered, []), ACP_OUTBOUND_CAP)
    encode_frame(permission.feedback_form("s", params), ACP_OUTBOUND_CAP)
    assert permission.same(params, params)
    refusing = permission.refusal(offered, choices)
    assert refusing is None or _kind(offered, refusing) == "reject_once", "a refusal in the user's place lasts for once"
    for answer in said:
        chosen = permission.selected_choice(answer, offered)
        outcome: Any = answer.get("outcome")
        clear = isinstance(outcome, dict) and outcome.get("outcome") == "selected"
        if chosen is not None:
            assert clear and type(chosen) is str and outcome["optionId"] == chosen, "only a clear selection counts"
            assert chosen in {option["optionId"] for option in offered}, "only what was offered counts"
            permission.takes_feedback(chosen, choices)
        words = permission.feedback_in(answer)
        assert words is None or 0 < len(words) <= permission.FEEDBACK_LENGTH
        assert not (permission.is_cancelled(answer) and chosen is not None)
        permission.is_allowed(answer)


def _check_offer(choices: Any, offered: list[dict[str, Any]]) -> None:
    ids = [option["optionId"] for option in offered]
    assert len(set(ids)) == len(ids), "an option's id stands for one thing"
    assert not ids or any(option["kind"].startswith("reject") for option in offered), "there is one that refuses"
    for option in offered:
        if option["optionId"] == permission.STOP_OPTION:
            continue
        meant = [
            choice for choice in choices if isinstance(choice, dict) and choice.get("choiceId") == option["optionId"]
        ]
        allows = {str(choice.get("decision")).startswith("approved") for choice in meant}
        assert allows == {option["kind"].startswith("allow")}, "an option allows if its choice does"


def _kind(offered: list[dict[str, Any]], chosen: str) -> Any:
    return next(option["kind"] for option in offered if option["optionId"] == chosen)


def _questions(asked: dict[str, Any], said: list[dict[str, Any]]) -> None:
    questions = read_questions(asked)
    if questions is None:
        return
    encode_frame(form("s", asked, questions, "try again"), ACP_OUTBOUND_CAP)
    assert question_text.shown(questions)
    for answer in said:
        try:
            found = answers(questions, answer)
        except NotAnAnswer:
            pass
        else:
            _check_answers(questions, found)
        text = answer.get("text")
        if isinstance(text, str) and (read := question_text.answers_in(questions, text)) is not None:
            _check_answers(questions, read)


def _check_answers(questions: tuple[Question, ...], found: list[dict[str, Any]]) -> None:
    assert [answer["questionId"] for answer in found] == [question.id for question in questions]
    for question, answer in zip(questions, found, strict=True):
        labels = {option.label for option in question.options}
        if not labels:
            assert answer["freeText"].strip()
        elif question.multiple:
            assert question.least <= len(answer["selectedLabels"]) <= question.most
            assert set(answer["selectedLabels"]) <= labels
        else:
            assert answer["selectedLabel"] in labels
