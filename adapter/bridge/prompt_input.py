"""The blocks of an ACP prompt as the input parts of a turn (`msp.md §12.1`, `acp.md §5`)."""

from __future__ import annotations

from typing import Any

from adapter.acp.content import Block, EmbeddedText, ResourceLink, Text
from adapter.acp.text import fenced


def input_parts(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    """One text part a block, in order; blocks without text are left out.

    A link is a mention by its URI: whether to read it is the host's business. Embedded text stands below its URI as
    it was given, unsaved edits included.
    """
    texts = (_text_of(block) for block in blocks)
    return [{"type": "text", "text": text} for text in texts if text]


def _text_of(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ResourceLink):
        return f"[{block.title or block.name}]({block.uri})"
    assert isinstance(block, EmbeddedText), "other kinds are refused when the prompt is read"
    return f"{block.uri}\n{fenced(block.text)}"
