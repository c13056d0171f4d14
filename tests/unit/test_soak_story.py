"""What the client of `make soak` notices: each kind of wrong text is a problem, and nothing that is right is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.soak import prompts
from tests.soak.prompts import DONE, LEFT, Prompt
from tests.soak.story import Story

Json = dict[str, Any]

ONE, TWO = "The first ✓", "The second ✓"


def asking(text: str, answer: str) -> Prompt:
    return Prompt(text, "short", lambda decided: {answer}, frozenset({answer}))


class Session:
    """A session in which `one` and `two` were said and answered, or what `said` says."""

    def __init__(self, said: Callable[[Session], None] | None = None) -> None:
        self.problems: list[str] = []
        self.story = Story("ses-1", self.problems.append)
        (said or Session.two)(self)

    def two(self) -> None:
        self.turn("one", "t1", ONE, ONE)
        self.turn("two", "t2", TWO, TWO)

    def turn(self, text: str, turn_id: str, answer: str, shown: str, outcome: str = "ended") -> None:
        turn = self.story.asks(asking(text, answer))
        self.chunk("agent_message_chunk", f"{turn_id}-i2", shown)
        self.story.answered(turn, outcome)

    def chunk(self, kind: str, message_id: str, text: str) -> None:
        if text:
            content = {"type": "text", "text": text}
            self.story.update({"sessionUpdate": kind, "messageId": message_id, "content": content})

    def load(self, *rows: tuple[str, str, str]) -> list[str]:
        """The problems of a load that shows these: the turn, the prompt, the answer."""
        self.problems.clear()
        self.story.opens(replay=True)
        for turn_id, text, answer in rows:
            self.chunk("user_message_chunk", f"{turn_id}-i1", text)
            self.chunk("agent_message_chunk", f"{turn_id}-i2", answer)
        self.story.opened(well=True)
        return self.problems


FIRST, SECOND = ("t1", "one", ONE), ("t2", "two", TWO)


def test_what_is_as_it_was_is_no_problem() -> None:
    session = Session()
    assert session.problems == [] and session.load(FIRST, SECOND) == []


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([FIRST], "'two' (ended) is lost"),
        ([FIRST, SECOND, ("t3", "two", TWO)], "'two' comes twice"),
        ([SECOND, FIRST], "out of order"),
        ([FIRST, ("t2", "two", TWO[:-1])], "'two' was answered otherwise"),
        ([FIRST, ("t2", "two", TWO + TWO)], "'two' was answered otherwise"),
        ([FIRST, SECOND, ("t3", "three", "")], "'three' was never said"),
    ],
)
def test_a_load_that_tells_something_else_is_one(rows: list[tuple[str, str, str]], problem: str) -> None:
    assert problem in Session().load(*rows)[0]


@pytest.mark.parametrize("shown", ["", ONE[:-1], ONE + ONE, TWO])
def test_an_answer_must_be_whole(shown: str) -> None:
    session = Session(lambda session: session.turn("one", "t1", ONE, shown))
    assert session.problems


@pytest.mark.parametrize("outcome", ["cancelled", "died"])
def test_of_what_was_cut_off_there_is_the_beginning(outcome: str) -> None:
    session = Session(lambda session: session.turn("one", "t1", ONE, ONE[:4], outcome))
    assert session.problems == []
    assert session.load() == [], "it may not have been stored"
    assert session.load(("t1", "one", ONE[:6])) == []
    assert session.load() != [], "but what has been stored stays"
    session = Session(lambda session: session.turn("one", "t1", ONE, ONE[4:], outcome))
    assert session.problems


def test_nothing_is_shown_when_nothing_was_asked() -> None:
    session = Session()
    session.chunk("agent_message_chunk", "t3-i2", TWO)
    assert "nothing was asked" in session.problems[0]
    session = Session()
    turn = session.story.asks(asking("three", "The third"))
    session.chunk("agent_message_chunk", "t2-i2", TWO)
    session.story.answered(turn, "cancelled")
    assert "after its answer" in session.problems[0]


def test_a_resume_shows_nothing() -> None:
    session = Session()
    session.story.opens(replay=False)
    session.chunk("agent_message_chunk", "t2-i2", TWO)
    assert "a resume shows text" in session.problems[0]


@pytest.mark.parametrize(("allowed", "shown", "fits"), [(True, DONE, True), (False, DONE, False), (False, LEFT, True)])
def test_the_answer_is_that_to_what_was_decided(allowed: bool, shown: str, fits: bool) -> None:
    chance = random.Random(0)
    prompt = next(made for made in iter(lambda: prompts._approve(chance, "x"), None) if made.text == "approve\nx")
    session = Session(lambda session: None)
    turn = session.story.asks(prompt)
    session.story.decided("t1", "a", allowed=allowed)
    session.chunk("agent_message_chunk", "t1-i4", shown)
    session.story.answered(turn, "ended")
    assert (session.problems == []) is fits


def test_what_can_be_asked_is_different_each_time() -> None:
    chance = random.Random(0)
    made = [prompts.prompt(chance, f"u1-{number}", "1.4.13") for number in range(300)]
    assert len({each.text for each in made}) == len(made)
    assert "outputs" not in {each.kind for each in made}, "they are read on the verified version only"
