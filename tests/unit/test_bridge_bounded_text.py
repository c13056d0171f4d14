"""Text cut to fit a card: both ends whole characters, the sizes true."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.bounded_text import (
    CARD_TEXT_BYTES,
    NOTICE_BYTES,
    BoundedText,
    bound_text,
    close_fence,
    with_notice,
)

ODD = st.text(st.sampled_from("aé温🌳\n`\ud800"), max_size=400)


@pytest.mark.parametrize("text", ["", "a", "温室🌳", "x" * CARD_TEXT_BYTES, "🌳" * (CARD_TEXT_BYTES // 4)])
def test_what_fits_is_not_touched(text: str) -> None:
    size = len(text.encode())
    assert bound_text(text) == BoundedText(text, "", size, 0, size)
    assert not bound_text(text).truncated


@pytest.mark.parametrize("letter", ["x", "é", "温", "🌳"])
@pytest.mark.parametrize("more", [1, 2, 3, 1_000_000])
def test_what_does_not_fit_keeps_both_ends(letter: str, more: int) -> None:
    text = "begin" + letter * (CARD_TEXT_BYTES // len(letter.encode()) + more) + "end"
    cut = bound_text(text)
    assert cut.truncated and cut.total_bytes == len(text.encode())
    assert text.startswith(cut.head) and text.endswith(cut.tail)
    assert (cut.head_bytes, cut.tail_bytes) == (len(cut.head.encode()), len(cut.tail.encode()))
    assert CARD_TEXT_BYTES - NOTICE_BYTES - 8 <= cut.head_bytes + cut.tail_bytes <= CARD_TEXT_BYTES - NOTICE_BYTES
    assert cut.head_bytes > 1.9 * cut.tail_bytes


@given(piece=ODD, times=st.integers(1, 30), limit=st.integers(NOTICE_BYTES + 8, 2 * NOTICE_BYTES))
def test_the_sizes_are_true_for_any_text_and_limit(piece: str, times: int, limit: int) -> None:
    text = piece * times
    cut = bound_text(text, limit)
    size = len(text.encode("utf-8", "replace"))
    assert cut.total_bytes == size
    assert cut.truncated == (size > limit)
    if cut.truncated:
        assert cut.head_bytes == len(cut.head.encode()) and cut.tail_bytes == len(cut.tail.encode())
        assert cut.head_bytes + cut.tail_bytes < size
    else:
        assert cut.head == text and not cut.tail


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("plain", "plain"),
        ("```py\nx", "```py\nx\n```"),
        ("```py\nx\n```\n", "```py\nx\n```\n"),
        ("```\na\n```\n```\nb\n\n", "```\na\n```\n```\nb\n```"),
    ],
)
def test_an_open_fence_is_closed(text: str, closed: str) -> None:
    assert close_fence(text) == closed


def test_a_notice_stands_on_a_line_of_its_own() -> None:
    assert with_notice(BoundedText("a\n", "\nz", 2, 2, 100), "[cut]") == "a\n[cut]\nz"
    assert with_notice(BoundedText("```\na", "", 5, 0, 100), "[cut]") == "```\na\n```\n[cut]"
