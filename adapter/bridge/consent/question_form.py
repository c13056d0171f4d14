"""A question of the host as a form, and a filled form as its answer (`acp.md §9`, `msp.md §16`). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from adapter.acp import elicitation
from adapter.bridge.consent.question import FREE_TEXT_LENGTH, Answer, NotAnAnswer, Option, Question

_META_MEMBERS: Final = {
    "museUserInputId": "userInputId",
    "museTurnId": "turnId",
    "museToolCallId": "toolCallId",
    "museToolName": "toolName",
}


def form(
    session_id: str, params: dict[str, Any], questions: Sequence[Question], problem: str | None = None
) -> dict[str, Any]:
    """The params of `elicitation/create`; `problem` is what was wrong with the answers given before."""
    message = questions[0].text if len(questions) == 1 else f"Muse has {len(questions)} questions."
    parts = [problem, message or "Muse asks you something.", "Do not enter passwords or keys."]
    item_id = params.get("itemId")
    known = {key: params.get(member) for key, member in _META_MEMBERS.items()}
    return elicitation.form(
        session_id,
        "\n\n".join(elicitation.bounded(part) for part in parts if part),
        {question.id: _field(question) for question in questions},
        [question.id for question in questions if not question.multiple or question.least],
        tool_call_id=item_id if isinstance(item_id, str) else None,
        meta={key: value for key, value in known.items() if value is not None},
    )


def answers(questions: Sequence[Question], content: dict[str, Any]) -> list[Answer]:
    """One answer to each question, as the host takes them.

    Raises:
        NotAnAnswer: the content is not what was asked for; clients need not check it.
    """
    return [_answer(question, content.get(question.id)) for question in questions]


def _field(question: Question) -> dict[str, Any]:
    if not question.options:
        return elicitation.text_field(question.title, question.text, max_length=FREE_TEXT_LENGTH, min_length=1)
    options = [elicitation.option(option.name, option.name, option.description) for option in question.options]
    if not question.multiple:
        return elicitation.choice_field(question.title, question.text, options)
    return elicitation.choices_field(question.title, question.text, options, least=question.least, most=question.most)


def _answer(question: Question, value: Any) -> Answer:
    if not question.options:
        return question.written(value if isinstance(value, str) else "")
    if value is None:
        return question.chosen([])
    names = value if question.multiple else [value]
    if not isinstance(names, list):
        raise NotAnAnswer(f"{question.title}: choose {question.how_many()}")
    return question.chosen([_option(question, name) for name in names])


def _option(question: Question, name: Any) -> Option:
    for option in question.options:
        if option.name == name:
            return option
    raise NotAnAnswer(f"{question.title}: that is none of the options")
