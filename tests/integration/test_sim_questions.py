"""Questions of the simulated host, and what becomes of the answers (`msp.md §16`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim_driver import Json, Refused, SimHost, items_of, methods, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def asked(host: SimHost, prompt: str) -> Json:
    host.prompt(host.start(), prompt)
    return host.until_method("userInput/request")


def about(question: Json) -> Json:
    return {key: question[key] for key in ("sessionId", "userInputId")}


def last_words(host: SimHost) -> str:
    host.until_method("turn/completed")
    text: str = items_of(host.frames, "agentMessage")[-1]["text"]
    return text


@pytest.mark.parametrize(
    ("prompt", "answers", "words"),
    [
        ("ask multi", [{"questionId": "regions", "selectedLabels": ["Oslo", "東京"]}], "Oslo, 東京"),
        ("ask text", [{"questionId": "service_name", "freeText": "grüßer"}], "grüßer"),
        (
            "ask two",
            [
                {"questionId": "db_choice", "selectedLabel": "SQLite", "note": "for now"},
                {"questionId": "size", "selectedLabel": "Small"},
            ],
            "SQLite (for now); Small",
        ),
    ],
)
def test_answers_are_repeated(host: SimHost, prompt: str, answers: list[Json], words: str) -> None:
    question = asked(host, prompt)
    assert all(option["description"] for row in question["questions"] for option in row["options"])
    host.command("userInput/answer", {**about(question), "answers": answers})
    assert last_words(host) == f"The question was answered ✓ You chose: {words}"


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("ask multi", {"questionId": "regions", "selectedLabels": ["Oslo"]}),
        ("ask multi", {"questionId": "regions", "selectedLabel": "Oslo"}),
        ("ask text", {"questionId": "service_name", "selectedLabel": "grüßer"}),
        ("ask text", {"questionId": "service_name", "freeText": "x" * 501}),
        ("ask two", {"questionId": "size", "selectedLabel": "Small"}),
    ],
)
def test_answers_that_do_not_fit_leave_it_open(host: SimHost, prompt: str, answer: Json) -> None:
    question = asked(host, prompt)
    with pytest.raises(Refused) as caught:
        host.command("userInput/answer", {**about(question), "answers": [answer]})
    assert caught.value.code == -32057
    assert len(host.ask("approval/listPending", {"sessionId": question["sessionId"]})["userInputs"]) == 1


def test_a_clarification_is_repeated_and_after_a_cancel_it_goes_on_without(host: SimHost) -> None:
    question = asked(host, "ask two")
    clarification = {"content": "what do they cost? — bitte", "format": "text"}
    host.command("userInput/clarify", {**about(question), "clarification": clarification})
    assert last_words(host) == "The question was clarified ✓ You said: what do they cost? — bitte"
    host.frames.clear()
    host.command("userInput/cancel", about(asked(host, "ask two")))
    assert last_words(host) == "The question was cancelled ✓ I go on without an answer."


def test_somebody_else_answers(host: SimHost) -> None:
    question = asked(host, "ask elsewhere")
    settled = host.until_method("userInput/settled")
    assert (settled["userInputId"], settled["decidedByCommandId"]) == (question["userInputId"], None)
    assert last_words(host) == "The question was answered ✓ You chose: Postgres"
    answer = {"answers": [{"questionId": "db_choice", "selectedLabel": "SQLite"}]}
    with pytest.raises(Refused) as caught:
        host.command("userInput/answer", {**about(question), **answer})
    assert caught.value.code == -32056


def test_an_answer_before_somebody_else_counts(host: SimHost) -> None:
    question = asked(host, "ask elsewhere")
    answer = {"answers": [{"questionId": "db_choice", "selectedLabel": "SQLite"}]}
    host.command("userInput/answer", {**about(question), **answer})
    assert last_words(host).endswith("SQLite")
    host.quiet(0.5)
    assert methods(host.frames).count("userInput/settled") == 1
