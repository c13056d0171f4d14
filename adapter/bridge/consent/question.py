"""A question of the host, read (`msp.md §16`): what is asked, what may be chosen, and what an answer to it looks like.
Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

FREE_TEXT_LENGTH: Final = 500
"""Characters of a free answer or a clarification that a host takes."""

MOST_QUESTIONS: Final = 50
MOST_OPTIONS: Final = 200
"""What a person can be asked at once; more cannot be meant to be read."""

Answer = dict[str, Any]


class NotAnAnswer(Exception):
    """What was said does not answer the question; the message says why, to the user."""


class Option(msgspec.Struct, frozen=True):
    """What may be chosen. `name` is unique in its question, `label` is what the host knows it by."""

    label: str
    name: str
    description: str = ""


class Question(msgspec.Struct, frozen=True):
    """One question. Without `options` it is answered in free words, with them by `least` to `most` of them."""

    id: str
    header: str
    text: str
    options: tuple[Option, ...] = ()
    multiple: bool = False
    least: int = 1
    most: int = 1

    @property
    def title(self) -> str:
        """A few words that tell it from its neighbours."""
        return self.header or self.text or self.id

    def chosen(self, options: list[Option]) -> Answer:
        """The answer that chooses these.

        Raises:
            NotAnAnswer: too few, too many, or one of them twice.
        """
        if len(set(options)) != len(options):
            raise NotAnAnswer(f"{self.title}: the same option was chosen twice")
        if not self.least <= len(options) <= self.most:
            raise NotAnAnswer(f"{self.title}: choose {self.how_many()}")
        if self.multiple:
            return {"questionId": self.id, "selectedLabels": [option.label for option in options]}
        return {"questionId": self.id, "selectedLabel": options[0].label}

    def written(self, text: str) -> Answer:
        """The answer in these words.

        Raises:
            NotAnAnswer: there are none, or too many.
        """
        if not text.strip():
            raise NotAnAnswer(f"{self.title}: an answer is needed")
        if len(text) > FREE_TEXT_LENGTH:
            raise NotAnAnswer(f"{self.title}: at most {FREE_TEXT_LENGTH} characters can be passed on")
        return {"questionId": self.id, "freeText": text}

    def how_many(self) -> str:
        """How many options are to be chosen, in words."""
        if not self.multiple:
            return "one"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


def read_questions(params: dict[str, Any]) -> tuple[Question, ...] | None:
    """The questions of a `userInput/request`; None if they cannot be asked as they are."""
    listed = params.get("questions")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_QUESTIONS:
        return None
    questions = [_read(question) for question in listed]
    ids = {question.id for question in questions if question is not None}
    return tuple(question for question in questions if question is not None) if len(ids) == len(listed) else None


def _read(question: Any) -> Question | None:
    if not isinstance(question, dict) or not isinstance(question.get("id"), str) or not question["id"]:
        return None
    header, text, listed = _text(question.get("header")), _text(question.get("question")), question.get("options")
    if listed is None or listed == []:
        return Question(question["id"], header, text)
    options = _options(listed)
    if not options:
        return None
    selection = question.get("selection")
    selection = selection if isinstance(selection, dict) else {}
    if selection.get("mode") != "multiple":
        return Question(question["id"], header, text, options)
    most = min(_count(selection.get("maxSelections"), len(options)), len(options))
    least = min(_count(selection.get("minSelections"), 0), most)
    return Question(question["id"], header, text, options, multiple=True, least=least, most=most)


def _options(listed: Any) -> tuple[Option, ...]:
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    options: list[Option] = []
    names: set[str] = set()
    for row in rows[:MOST_OPTIONS]:
        label = row.get("label")
        if isinstance(label, str) and label:
            name, number = label, 2
            while name in names:
                name, number = f"{label} ({number})", number + 1
            names.add(name)
            options.append(Option(label, name, _described(row)))
    return tuple(options)


def _described(row: dict[str, Any]) -> str:
    preview = row.get("preview")
    shown = _text(preview.get("content")) if isinstance(preview, dict) else ""
    return "\n".join(part for part in (_text(row.get("description")), shown) if part)


def _count(value: Any, default: int) -> int:
    return value if type(value) is int and value >= 0 else default


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
