"""The skills a host offers in a session, as slash commands (`msp.md §20`)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from adapter.acp.text import one_line
from adapter.wire.envelope import Params

MOST_SKILLS: Final = 500
SELECTOR_LENGTH: Final = 200
DESCRIPTION_LENGTH: Final = 500
HINT_LENGTH: Final = 100


class Skill(msgspec.Struct, frozen=True):
    """A skill by the word that runs it."""

    selector: str
    description: str
    hint: str | None = None


def read_skills(result: Params) -> dict[str, Skill]:
    """The skills in a `skill/list` result by their selector; rows that cannot be typed as a command are left out."""
    rows = result.get("skills")
    skills: dict[str, Skill] = {}
    for row in rows if isinstance(rows, list) else ():
        skill = _read(row) if isinstance(row, dict) else None
        if skill is not None and len(skills) < MOST_SKILLS:
            skills.setdefault(skill.selector, skill)
    return skills


def skill_part(selector: str, arguments: str) -> Params:
    """The input part that runs a skill: its name as text would not."""
    return {"type": "skill", "selector": selector} | ({"arguments": arguments} if arguments else {})


def _read(row: dict[str, Any]) -> Skill | None:
    selector = row.get("selector")
    if not isinstance(selector, str) or not 0 < len(selector) <= SELECTOR_LENGTH or selector.split() != [selector]:
        return None
    words = (row.get(name) for name in ("description", "title", "displayName"))
    description = next((one_line(text, DESCRIPTION_LENGTH) for text in words if isinstance(text, str) and text), "")
    hint = row.get("argumentHint")
    return Skill(
        selector, description or selector, one_line(hint, HINT_LENGTH) if isinstance(hint, str) and hint else None
    )
