"""The text of a card stays within its bound whatever an item holds, and the notice in it tells the truth."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.card_text import TRUNCATED_KEY, card_text
from adapter.bridge.tool_cards.cards import card_of
from adapter.msp.items import ItemState

STYLE = CardStyle("ses-1", "/w", output_command="muse-adapter output")
REF = {"id": "out-1", "byteLen": 10**6, "availability": "available"}

texts = st.builds(
    lambda unit, count, end: unit * count + end,
    st.sampled_from(["a", "ü", "東京 ", "🌳", "```\n", "line\n", "`" * 40]),
    st.sampled_from([0, 1, 100, 9_000, 16_384, 49_152, 60_000]),
    st.text(max_size=5),
)


def item(**members: Any) -> ItemState:
    state = ItemState("item-1")
    state.kind = "toolCall"
    state.status = "failed"
    state.raw = {"tool": "bash", **members}
    return state


@given(texts, texts, texts, st.integers(0, 2_000), st.booleans(), st.booleans())
def test_no_card_text_is_longer_than_the_bound(
    output: str, summary: str, reason: str, pictures: int, truncated: bool, is_command: bool
) -> None:
    state = item(
        visibleOutput=output,
        truncated=truncated,
        outputRef=REF,
        failureReason=reason,
        result={"summary": summary},
        modelVisibleContent=[{"type": "image", "mediaType": "image/png", "width": 1, "height": 2}] * pictures,
    )
    text = card_text(state, STYLE, is_command=is_command).text
    assert text is not None
    assert len(text.encode("utf-8", "replace")) <= CARD_TEXT_BYTES


def test_the_command_is_named_only_where_it_works() -> None:
    state = item(visibleOutput="x", truncated=True, outputRef=REF)
    assert "Get all of it with: muse-adapter output ses-1 item-1]" in str(card_text(state, STYLE, is_command=True).text)
    elsewhere = card_text(state, CardStyle("ses-1", "/w"), is_command=True)
    assert "not verified on this version of Muse]" in str(elsewhere.text)
    assert "output ses-1" not in str(elsewhere.text)
    assert card_of(state, STYLE).meta[TRUNCATED_KEY]["totalBytes"] == 10**6
