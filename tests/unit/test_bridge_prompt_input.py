"""The blocks of a prompt as input of a turn."""

from __future__ import annotations

import pytest

from adapter.acp.content import Block, EmbeddedText, ResourceLink, Text
from adapter.bridge.prompt_input import input_parts


def texts(*blocks: Block) -> list[str]:
    parts = input_parts(blocks)
    assert all(set(part) == {"type", "text"} and part["type"] == "text" for part in parts)
    return [part["text"] for part in parts]


def test_blocks_keep_their_order_and_bytes() -> None:
    assert texts(Text("  /compact\n"), Text("温室🌳 `x` *y*")) == ["  /compact\n", "温室🌳 `x` *y*"]


@pytest.mark.parametrize("blocks", [(), (Text(""),), (Text(""), Text(""))], ids=len)
def test_what_has_no_text_is_left_out(blocks: tuple[Block, ...]) -> None:
    assert texts(*blocks) == []


def test_o5_a_link_is_a_mention_with_its_uri_as_written() -> None:
    uri = "file:///srv/demo/orchard/a%20b.txt"
    assert texts(ResourceLink(uri=uri, name="a b.txt")) == [f"[a b.txt]({uri})"]
    assert texts(ResourceLink(uri=uri, name="a", title="The file")) == [f"[The file]({uri})"]


@pytest.mark.parametrize("text", ["", "fn main() {}\n", "a\n```\nb", "温室🌳"])
def test_o5_embedded_text_stands_below_its_uri_in_a_fence_that_holds(text: str) -> None:
    [shown] = texts(EmbeddedText(uri="file:///x.md", text=text))
    uri, fence, *body, end = shown.split("\n")
    assert uri == "file:///x.md" and fence == end and set(fence) == {"`"}
    assert "\n".join(body).rstrip("\n") == text.rstrip("\n")
    assert fence not in text
