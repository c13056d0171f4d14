"""The skills in what a host lists, whatever it lists."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.slash_commands.skills import MOST_SKILLS, Skill, read_skills, skill_part


def row(selector: Any, **members: Any) -> dict[str, Any]:
    return {"selector": selector, "description": "does it", **members}


def test_a_row_becomes_a_command() -> None:
    rows = [row("review", argumentHint="[path]"), row("my:skill", description=None, title="Mine"), row("bare", x=1)]
    assert read_skills({"skills": rows}) == {
        "review": Skill("review", "does it", "[path]"),
        "my:skill": Skill("my:skill", "Mine"),
        "bare": Skill("bare", "does it"),
    }
    assert read_skills({"skills": [{"selector": "x"}]}) == {"x": Skill("x", "x")}


@pytest.mark.parametrize("selector", [None, "", 7, "two words", " x", "x" * 300, ["x"]])
def test_what_cannot_be_typed_is_left_out(selector: Any) -> None:
    assert list(read_skills({"skills": [row(selector), row("good")]})) == ["good"]


@pytest.mark.parametrize("result", [{}, {"skills": None}, {"skills": {}}, {"skills": [None, 7, []]}])
def test_odd_results_list_nothing(result: dict[str, Any]) -> None:
    assert read_skills(result) == {}


def test_the_first_of_a_name_counts_and_there_is_a_bound() -> None:
    rows = [row("a", description="first"), row("a", description="second")]
    assert read_skills({"skills": rows})["a"].description == "first"
    assert len(read_skills({"skills": [row(f"s{at}") for at in range(MOST_SKILLS + 100)]})) == MOST_SKILLS
    assert len(read_skills({"skills": [row("long", description="x" * 10_000)]})["long"].description) == 500


def test_arguments_are_given_if_there_are_any() -> None:
    assert skill_part("review", "a b") == {"type": "skill", "selector": "review", "arguments": "a b"}
    assert skill_part("review", "") == {"type": "skill", "selector": "review"}
