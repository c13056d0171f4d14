"""What counts as a slash command, and what `/goal` is told to do."""

from __future__ import annotations

import pytest

from adapter.acp.content import Block, EmbeddedText, ResourceLink, Text
from adapter.bridge.slash_commands.slash import GoalVerb, Slash, read_goal, read_slash

LINK = ResourceLink("file:///a", "a")
FILE = EmbeddedText("file:///b", "unsaved")


@pytest.mark.parametrize(
    ("blocks", "slash"),
    [
        ((Text("/compact"),), Slash("compact", "")),
        ((Text("/rename  the orchard "),), Slash("rename", "the orchard ")),
        ((Text("/goal one\ntwo"),), Slash("goal", "one\ntwo")),
        ((Text("/goal\nbelow"),), Slash("goal", "below")),
        ((Text("/plugin:skill x"),), Slash("plugin:skill", "x")),
        ((Text("/srv/a b"),), Slash("srv/a", "b")),
        ((Text("/goal plant "), LINK, Text(" twice"), FILE), Slash("goal", "plant ", (LINK, Text(" twice"), FILE))),
        ((LINK, Text("/goal x")), Slash("goal", "x", (LINK,))),
    ],
)
def test_the_start_of_the_first_text_counts(blocks: tuple[Block, ...], slash: Slash) -> None:
    assert read_slash(blocks) == slash


@pytest.mark.parametrize(
    "blocks",
    [
        (),
        (LINK,),
        (Text(""),),
        (Text(" /compact"),),
        (Text('"/compact"'),),
        (Text("do /compact"),),
        (Text("/"),),
        (Text("/ compact"),),
        (Text("hello"), Text("/compact")),
        (FILE, Text("\n/compact")),
    ],
)
def test_anything_before_it_lets_a_prompt_through(blocks: tuple[Block, ...]) -> None:
    assert read_slash(blocks) is None


@pytest.mark.parametrize(
    ("words", "verb", "objective"),
    [
        ("", "show", ""),
        ("pause", "pause", ""),
        ("Resume", "resume", ""),
        ("clear", "clear", ""),
        ("plant trees", "set", "plant trees"),
        ("release", "set", "release"),
        ("edit plant two trees", "edit", "plant two trees"),
        ("clear the warnings", "set", "clear the warnings"),
        ("stop the leak", "set", "stop the leak"),
    ],
)
def test_a_goal_is_set_or_changed(words: str, verb: GoalVerb, objective: str) -> None:
    assert read_goal(words) == (verb, objective)


@pytest.mark.parametrize("word", ["stop", "STOP", "cancel", "edit", "show", "off", "done", "help"])
def test_an_order_is_no_goal(word: str) -> None:
    assert read_goal(word)[0] == "refuse"
