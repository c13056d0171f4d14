"""A question of the host as text, for clients without forms, and the user's next message as its answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from adapter.acp.elicitation import bounded
from adapter.acp.text import one_line
from adapter.bridge.consent.question import Answer, NotAnAnswer, Option, Question


def shown(questions: Sequence[Question], problem: str | None = None) -> str:
    """The questions with numbered options, and how to answer; `problem` is what was wrong with the last answer."""
    parts = [problem] if problem else []
    parts += [_question(question) for question in questions]
    return "\n\n".join([*parts, _how(questions)])


def answers_in(questions: Sequence[Question], text: str) -> list[Answer] | None:
    """One answer to each question, a line each; None if the message is something else, for the model to make sense
    of."""
    lines = [text.strip()] if len(questions) == 1 else [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(questions):
        return None
    try:
        return [_answer(question, line) for question, line in zip(questions, lines, strict=True)]
    except NotAnAnswer:
        return None


def _question(question: Question) -> str:
    title = f"**{one_line(question.header)}**: " if question.header else ""
    choose = f" (choose {question.how_many()})" if question.multiple else ""
    lines = [f"{title}{bounded(question.text)}{choose}"]
    for number, option in enumerate(question.options, 1):
        described = f" ({one_line(option.description)})" if option.description else ""
        lines.append(f"{number}. {one_line(option.name)}{described}")
    return "\n".join(lines)


def _how(questions: Sequence[Question]) -> str:
    ways = []
    if any(question.options for question in questions):
        several = any(question.multiple for question in questions)
        ways.append("the number or the words of an option" + (", several separated by commas" if several else ""))
    if any(not question.options for question in questions):
        ways.append("your own words")
    lines = "" if len(questions) == 1 else ", a line for each question"
    return (
        f"Your next message is the answer{lines}: {'; or '.join(ways)}. Anything else is passed on as you write it. Do "
        "not enter passwords or keys."
    )


def _answer(question: Question, line: str) -> Answer:
    if not question.options:
        return question.written(line)
    whole = _option(question, line)
    if whole is not None:
        return question.chosen([whole])
    options = [_option(question, word) for word in line.split(",")] if question.multiple else [None]
    named = [option for option in options if option is not None]
    if len(named) != len(options):
        raise NotAnAnswer(question.title)
    return question.chosen(named)


def _option(question: Question, word: str) -> Option | None:
    """The option that goes by this number or these words. Words count first: an option may be called `2`."""
    plain = _plain(word)
    for option in question.options:
        if plain in (_plain(option.name), _plain(option.label)):
            return option
    number = word.strip().rstrip(".)")
    if number.isascii() and number.isdigit() and 0 < int(number[:6]) <= len(question.options):
        return question.options[int(number[:6]) - 1]
    return None


def _plain(words: str) -> str:
    return words.strip().strip("\"'`*.").strip().casefold()
