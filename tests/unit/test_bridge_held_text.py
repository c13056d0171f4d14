"""Text that waits for the next prompt: whole, in order, and within its bound."""

from __future__ import annotations

from adapter.bridge.turns.held_text import HELD_CHARS, HeldText


def pieces(held: HeldText) -> list[tuple[str, str | None, str]]:
    return [(chunk.variant, chunk.message_id, chunk.text) for chunk in held.take("ses")]


def test_pieces_of_one_message_are_joined_and_messages_keep_their_order() -> None:
    held = HeldText()
    for variant, message_id, text in [
        ("agent_thought_chunk", "t", "hm"),
        ("agent_message_chunk", "m", "one "),
        ("agent_message_chunk", "m", "two"),
        ("agent_thought_chunk", "t", "well"),
    ]:
        held.add(variant, message_id, text)  # type: ignore[arg-type]
    assert pieces(held) == [
        ("agent_thought_chunk", "t", "hm"),
        ("agent_message_chunk", "m", "one two"),
        ("agent_thought_chunk", "t", "well"),
    ]
    assert pieces(held) == []


def test_what_is_beyond_the_bound_is_left_out_and_said_so() -> None:
    held = HeldText()
    held.add("agent_message_chunk", "m", "x" * (HELD_CHARS - 1))
    held.add("agent_message_chunk", "m", "yzz")
    held.add("agent_thought_chunk", "t", "more")
    text, notice = pieces(held)
    assert text == ("agent_message_chunk", "m", "x" * (HELD_CHARS - 1) + "y")
    assert notice[:2] == ("agent_message_chunk", "m") and "left out 6 characters" in notice[2]
    held.add("agent_message_chunk", "n", "there is room again")
    assert pieces(held) == [("agent_message_chunk", "n", "there is room again")]
