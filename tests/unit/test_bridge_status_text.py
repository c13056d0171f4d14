"""What `/status` and `/output` say."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.session_state.settings import Settings
from adapter.bridge.slash_commands.status_text import goal_text, outputs_text, status_text
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.msp.items import ItemState


def rows(**facts: Any) -> dict[str, str]:
    text = status_text("ses-1", "1.4.13", Settings(), facts)
    return dict(line.split(": ", 1) for line in text.split("  \n"))


def test_what_is_not_known_is_left_out() -> None:
    assert rows() == {"Session": "ses-1", "Muse": "1.4.13", "Reasoning effort": "default", "Mode": "default"}
    assert "Muse" not in status_text("ses-1", "", Settings(), {})


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ({"usedTokens": 50, "windowTokens": 200}, "50 of 200 tokens (25 %)"),
        ({"usedTokens": 50}, "50 tokens"),
        ({"usedTokens": 50, "windowTokens": 0}, "50 tokens"),
        ({"usedTokens": 50, "windowTokens": float("nan")}, "50 tokens"),
        ({"usedTokens": True, "windowTokens": 200}, None),
        ({"usedTokens": float("inf")}, None),
    ],
)
def test_the_context(usage: dict[str, Any], said: str | None) -> None:
    assert rows(contextUsage=usage).get("Context") == said


@pytest.mark.parametrize(
    ("cumulative", "said"),
    [
        ({"totalTokens": 12, "cost": {"usd": 0.25}}, "12 in all, 0.25 USD"),
        ({"totalTokens": 12, "cost": {"usd": float("inf")}}, "12 in all"),
        ({"totalTokens": 12, "cost": None}, "12 in all"),
        ({"totalTokens": -1}, None),
        (None, None),
    ],
)
def test_the_tokens(cumulative: Any, said: str | None) -> None:
    assert rows(tokenUsage={"cumulative": cumulative}).get("Tokens") == said


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"objective": "plant", "status": "active", "percentComplete": 40}, "plant (active, 40 %)"),
        ({"objective": "plant\ntrees"}, "plant trees"),
        ({"objective": 7}, None),
        (None, None),
    ],
)
def test_the_goal(goal: Any, said: str | None) -> None:
    assert goal_text(goal) == said
    assert rows(goal={"goal": goal}).get("Goal") == said


def stored(item_id: str, **reference: Any) -> ItemState:
    item = ItemState(item_id)
    item.kind, item.status = "toolCall", "completed"
    ref = {"id": "o", "byteLen": 7, "availability": "available", **reference}
    item.raw = {"itemId": item_id, "kind": "toolCall", "tool": "bash", "outputRef": ref}
    return item


def test_outputs_newest_first_with_the_line_that_fetches_each() -> None:
    style = CardStyle("ses-1", "/w", output_command="muse-adapter output")
    text = outputs_text([stored(f"i{at}") for at in range(30)] + [stored("odd", byteLen=-1)], style)
    assert text.startswith("Stored outputs, newest first (20 of 30):")
    lines = [line.strip() for line in text.splitlines() if "muse-adapter" in line]
    assert lines == [f"muse-adapter output ses-1 i{at}" for at in range(29, 9, -1)]
    assert "7 bytes, missing" in outputs_text([stored("i", availability="missing")], style)


def test_outputs_that_nobody_can_fetch_are_told_without_a_line() -> None:
    text = outputs_text([stored("i")], CardStyle("ses-1", "/w"))
    assert "7 bytes" in text and "muse-adapter" not in text and "not verified" in text
    assert "Nothing" in outputs_text([], CardStyle("ses-1", "/w"))
