"""The shapes of a session's options and modes, as results and updates carry them (`acp.md §11`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adapter.acp.text import one_line

Json = dict[str, Any]

MAX_DESCRIPTION = 500
"""Characters of a description; clients show it in a tooltip or a line."""


def choice(value: str, name: str, description: str | None = None) -> Json:
    """One value of an option; `value` goes out as it is, for it is what comes back."""
    return {"value": value, "name": one_line(name) or value, **_described(description)}


def select(
    option_id: str,
    name: str,
    current: str,
    choices: Sequence[Json],
    *,
    category: str | None = None,
    description: str | None = None,
) -> Json:
    """An option with one of several values; `current` is one of them. `category` is one that clients know: of others,
    which the protocol allows, the official Python client takes none."""
    assert any(each["value"] == current for each in choices), "the current value is on offer"
    return {
        "id": option_id,
        "name": name,
        "type": "select",
        **({} if category is None else {"category": category}),
        "currentValue": current,
        "options": list(choices),
        **_described(description),
    }


def mode(mode_id: str, name: str, description: str) -> Json:
    """One session mode, in the older form."""
    return {"id": mode_id, "name": name, "description": description}


def modes(current: str, available: Sequence[Json]) -> Json:
    """The modes of a session and the one it is in, in the older form."""
    return {"currentModeId": current, "availableModes": list(available)}


def _described(description: str | None) -> Json:
    text = one_line(description, MAX_DESCRIPTION) if description else ""
    return {"description": text} if text else {}
