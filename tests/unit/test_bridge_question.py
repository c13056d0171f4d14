"""Questions of the host: as forms, as text, and what counts as an answer."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.consent import question_form, question_text
from adapter.bridge.consent.question import NotAnAnswer, Question, read_questions
from tests.oracles.acp_schema import check_agent_frame

Json = dict[str, Any]

DATABASE: Json = {
    "id": "db",
    "header": "Database",
    "question": "Which database?",
    "options": [{"label": "Postgres", "description": "As elsewhere."}, {"label": "SQLite"}],
    "selection": {"mode": "single"},
}
FEATURES: Json = {
    "id": "features",
    "header": "Features",
    "question": "What does it need?",
    "options": [{"label": "Backups"}, {"label": "Replicas"}, {"label": "Logs, and metrics"}],
    "selection": {"mode": "multiple", "minSelections": 1, "maxSelections": 2},
}
NAME: Json = {"id": "name", "header": "", "question": "What is it called?", "options": []}


def read(*questions: Any) -> tuple[Question, ...]:
    found = read_questions({"questions": list(questions)})
    assert found is not None
    return found


def with_selection(question: Json, selection: Any) -> Json:
    return question | {"selection": selection}


# -- reading


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"questions": None},
        {"questions": []},
        {"questions": ["what?"]},
        {"questions": [DATABASE, None]},
        {"questions": [DATABASE, DATABASE]},
        {"questions": [DATABASE | {"id": ""}]},
        {"questions": [DATABASE | {"id": 7}]},
        {"questions": [DATABASE | {"options": [{"description": "no label"}]}]},
        {"questions": [DATABASE | {"options": "Postgres"}]},
        {"questions": [DATABASE | {"id": str(number)} for number in range(51)]},
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_not_asked(params: Json) -> None:
    assert read_questions(params) is None


@pytest.mark.parametrize(
    ("selection", "bounds"),
    [
        ({"mode": "multiple"}, (0, 3)),
        ({"mode": "multiple", "minSelections": 2}, (2, 3)),
        ({"mode": "multiple", "maxSelections": 9}, (0, 3)),
        ({"mode": "multiple", "minSelections": 5, "maxSelections": 2}, (2, 2)),
        ({"mode": "multiple", "minSelections": -1, "maxSelections": True}, (0, 3)),
        ({"mode": "single", "minSelections": 2}, (1, 1)),
        (None, (1, 1)),
    ],
    ids=str,
)
def test_how_many_may_be_chosen(selection: Any, bounds: tuple[int, int]) -> None:
    [question] = read(with_selection(FEATURES, selection))
    assert (question.least, question.most) == bounds


def test_options_that_look_alike_get_names_of_their_own_and_keep_their_labels() -> None:
    rows = [{"label": "Yes"}, {"label": "Yes"}, {"label": "Yes (2)"}, {"label": "Yes"}, 7, {"label": ""}]
    [question] = read(DATABASE | {"options": rows})
    assert [(option.name, option.label) for option in question.options] == [
        ("Yes", "Yes"),
        ("Yes (2)", "Yes"),
        ("Yes (2) (2)", "Yes (2)"),
        ("Yes (3)", "Yes"),
    ]


def test_a_preview_stands_below_the_description() -> None:
    preview = {"content": "CREATE TABLE", "format": "text"}
    [question] = read(DATABASE | {"options": [{"label": "SQL", "description": "Old.", "preview": preview}]})
    assert question.options[0].description == "Old.\nCREATE TABLE"


# -- forms


def form(*questions: Json, problem: str | None = None) -> Json:
    params = {"userInputId": "u", "turnId": "t", "itemId": "i", "toolCallId": "c", "toolName": "ask"}
    return question_form.form("ses", params, read(*questions), problem)


@pytest.mark.acp(94)
def test_a_form_has_a_field_for_each_question() -> None:
    asked = form(DATABASE, FEATURES, NAME)
    check_agent_frame({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": asked})
    assert asked["requestedSchema"] == {
        "type": "object",
        "properties": {
            "db": {
                "type": "string",
                "title": "Database",
                "description": "Which database?",
                "oneOf": [
                    {"const": "Postgres", "title": "Postgres", "description": "As elsewhere."},
                    {"const": "SQLite", "title": "SQLite"},
                ],
            },
            "features": {
                "type": "array",
                "title": "Features",
                "description": "What does it need?",
                "items": {
                    "anyOf": [
                        {"const": "Backups", "title": "Backups"},
                        {"const": "Replicas", "title": "Replicas"},
                        {"const": "Logs, and metrics", "title": "Logs, and metrics"},
                    ]
                },
                "minItems": 1,
                "maxItems": 2,
            },
            "name": {
                "type": "string",
                "title": "What is it called?",
                "description": "What is it called?",
                "minLength": 1,
                "maxLength": 500,
            },
        },
        "required": ["db", "features", "name"],
    }
    assert (asked["mode"], asked["sessionId"], asked["toolCallId"]) == ("form", "ses", "i")
    assert asked["_meta"] == {
        "museUserInputId": "u",
        "museTurnId": "t",
        "museToolCallId": "c",
        "museToolName": "ask",
    }


@pytest.mark.acp(94)
def test_a_form_warns_of_secrets_and_says_what_was_wrong() -> None:
    assert form(DATABASE)["message"] == "Which database?\n\nDo not enter passwords or keys."
    again = form(DATABASE, FEATURES, problem="Features: choose 1 to 2")["message"]
    assert again == "Features: choose 1 to 2\n\nMuse has 2 questions.\n\nDo not enter passwords or keys."


def test_a_choice_of_none_need_not_be_made() -> None:
    none = with_selection(FEATURES, {"mode": "multiple"})
    asked = form(none)
    assert asked["requestedSchema"]["required"] == []
    assert question_form.answers(read(none), {}) == [{"questionId": "features", "selectedLabels": []}]


def test_a_form_of_endless_words_is_no_endless_form() -> None:
    long = "x" * 100_000
    asked = form(DATABASE | {"header": long, "question": long, "options": [{"label": "a", "description": long}]})
    assert len(str(asked)) < 10_000


ANSWER: Json = {"db": "SQLite", "features": ["Replicas", "Backups"], "name": "orchard"}


def test_a_filled_form_is_answered_by_label() -> None:
    assert question_form.answers(read(DATABASE, FEATURES, NAME), ANSWER | {"other": 1}) == [
        {"questionId": "db", "selectedLabel": "SQLite"},
        {"questionId": "features", "selectedLabels": ["Replicas", "Backups"]},
        {"questionId": "name", "freeText": "orchard"},
    ]
    alike = DATABASE | {"options": [{"label": "Yes"}, {"label": "Yes"}]}
    assert question_form.answers(read(alike), {"db": "Yes (2)"}) == [{"questionId": "db", "selectedLabel": "Yes"}]


@pytest.mark.acp(94)
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"db": None}, "Database: choose one"),
        ({"db": "MySQL"}, "Database: that is none of the options"),
        ({"db": ["SQLite"]}, "Database: that is none of the options"),
        ({"db": True}, "Database: that is none of the options"),
        ({"features": []}, "Features: choose 1 to 2"),
        ({"features": None}, "Features: choose 1 to 2"),
        ({"features": "Backups"}, "Features: choose 1 to 2"),
        ({"features": ["Backups", "Backups"]}, "Features: the same option was chosen twice"),
        ({"features": ["Backups", "Replicas", "Logs, and metrics"]}, "Features: choose 1 to 2"),
        ({"features": ["Backups", 7]}, "Features: that is none of the options"),
        ({"name": None}, "What is it called?: an answer is needed"),
        ({"name": "  "}, "What is it called?: an answer is needed"),
        ({"name": 7}, "What is it called?: an answer is needed"),
        ({"name": "x" * 501}, "What is it called?: at most 500 characters can be passed on"),
    ],
    ids=str,
)
def test_what_a_client_sends_back_is_checked_again(wrong: Json, told: str) -> None:
    with pytest.raises(NotAnAnswer) as caught:
        question_form.answers(read(DATABASE, FEATURES, NAME), ANSWER | wrong)
    assert str(caught.value) == told


# -- text


def test_questions_as_text_say_how_to_answer() -> None:
    assert question_text.shown(read(DATABASE, FEATURES, NAME)) == (
        "**Database**: Which database?\n1. Postgres (As elsewhere.)\n2. SQLite\n\n"
        "**Features**: What does it need? (choose 1 to 2)\n1. Backups\n2. Replicas\n3. Logs, and metrics\n\n"
        "What is it called?\n\n"
        "Your next message is the answer, a line for each question: the number or the words of an option, several "
        "separated by commas; or your own words. Anything else is passed on as you write it. Do not enter passwords or "
        "keys."
    )
    assert question_text.shown(read(NAME), "Not so.").startswith("Not so.\n\nWhat is it called?")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("1", "Postgres"),
        (" 2. ", "SQLite"),
        ("2)", "SQLite"),
        ("sqlite", "SQLite"),
        ('"SQLite".', "SQLite"),
        ("Postgres\n", "Postgres"),
    ],
)
def test_an_option_goes_by_its_number_or_its_words(text: str, label: str) -> None:
    assert question_text.answers_in(read(DATABASE), text) == [{"questionId": "db", "selectedLabel": label}]


@pytest.mark.parametrize("text", ["0", "3", "-1", "1, 2", "both", "why?", "1 please", "١", "9" * 5000])
def test_anything_else_is_for_the_model(text: str) -> None:
    assert question_text.answers_in(read(DATABASE), text) is None


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1", ["Backups"]),
        ("1, replicas", ["Backups", "Replicas"]),
        ("3,1", ["Logs, and metrics", "Backups"]),
        ("logs, and metrics", ["Logs, and metrics"]),
        ("1, 1", None),
        ("1, 2, 3", None),
        ("1, nothing", None),
        ("", None),
    ],
)
def test_several_options_are_separated_by_commas(text: str, labels: list[str] | None) -> None:
    answers = None if labels is None else [{"questionId": "features", "selectedLabels": labels}]
    assert question_text.answers_in(read(FEATURES), text) == answers


def test_an_option_may_be_called_like_the_number_of_another() -> None:
    [question] = read(DATABASE | {"options": [{"label": "2"}, {"label": "1"}]})
    assert question_text.answers_in([question], "2") == [{"questionId": "db", "selectedLabel": "2"}]


def test_several_questions_are_answered_line_by_line() -> None:
    questions = read(DATABASE, NAME)
    answers = [{"questionId": "db", "selectedLabel": "SQLite"}, {"questionId": "name", "freeText": "2"}]
    assert question_text.answers_in(questions, "2\n\n 2 \n") == answers
    assert question_text.answers_in(questions, "2") is None
    assert question_text.answers_in(questions, "2\n2\n2") is None


def test_a_free_answer_is_the_whole_message() -> None:
    assert question_text.answers_in(read(NAME), "two\nlines") == [{"questionId": "name", "freeText": "two\nlines"}]
    assert question_text.answers_in(read(NAME), "x" * 501) is None
