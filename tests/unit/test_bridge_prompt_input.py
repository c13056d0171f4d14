"""The blocks of a prompt as input of a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.acp.content import Block, EmbeddedText, Image, ResourceLink, Text
from adapter.bridge.turns.prompt_input import (
    ENVELOPE_BYTES,
    file_mentions,
    input_parts,
    instructed,
    require_fit,
    text_of,
)
from adapter.wire.envelope import RpcError
from adapter.wire.framing import encode_frame

LINK = ResourceLink(uri="file:///w/a.txt", name="a.txt")
FILE = EmbeddedText(uri="file:///x.md", text="x\n")
PICTURE = Image("iVBORw==", "image/png")


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


def test_o5_a_picture_is_a_part_of_its_own_byte_for_byte() -> None:
    part = {"type": "image", "mediaType": "image/png", "base64Data": "iVBORw=="}
    assert input_parts([Text("look"), PICTURE, PICTURE]) == [{"type": "text", "text": "look"}, part, part]
    named = Image("iVBORw==", "image/png", "file:///w/a.png")
    assert input_parts([named]) == [{"type": "text", "text": "file:///w/a.png\n"}, part]


@pytest.mark.parametrize(
    ("blocks", "joined"),
    [
        ((Text("see "), LINK, Text(" please")), "see @a.txt please"),
        ((Text("see"), LINK, Text("please")), "see @a.txt please"),
        ((Text("("), LINK, Text(").")), "(@a.txt)."),
        ((LINK, LINK), "@a.txt @a.txt"),
        ((Text("see"), FILE, Text("please")), "see\nfile:///x.md\n```\nx\n```\nplease"),
        ((FILE, FILE), "file:///x.md\n```\nx\n```\nfile:///x.md\n```\nx\n```"),
        ((Text("see\n"), FILE, Text("\nplease")), "see\nfile:///x.md\n```\nx\n```\nplease"),
    ],
)
def test_what_the_host_joins_stays_apart(blocks: tuple[Block, ...], joined: str) -> None:
    assert text_of(input_parts(blocks, {LINK.uri: "@a.txt"})) == joined


def test_an_instruction_goes_first_but_behind_a_skill() -> None:
    skill = {"type": "skill", "selector": "review", "arguments": "it"}
    text = {"type": "text", "text": "go"}
    rule = {"type": "text", "text": "Plan.\n\n"}
    assert instructed([text], "Plan.") == [rule, text]
    assert instructed([skill, text], "Plan.") == [skill, rule, text]
    assert text_of([skill, text]) == "/review itgo"
    assert text_of([{"type": "skill", "selector": "review"}]) == "/review"


# -- mentions


@pytest.mark.anyio
async def test_a_file_in_the_workspace_is_mentioned_by_its_path(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a b.txt").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.txt").write_text("x")
    (workspace / "out").symlink_to(tmp_path / "other")
    (tmp_path / "in").symlink_to(workspace)
    base = workspace.as_uri()
    expected = {
        f"{base}/src/a%20b.txt": "@src/a b.txt",
        f"{base}/src/a%20b.txt#L10-12": "@src/a b.txt (L10-12)",
        f"{base}/src": "@src",
        f"{base}/not-there.txt": "@not-there.txt",
        f"{base}/src/../src/%E6%B8%A9.txt": "@src/温.txt",
        f"file://localhost{workspace}/src": "@src",
        f"{tmp_path.as_uri()}/in/src/a%20b.txt": "@src/a b.txt",
    }
    elsewhere = [
        f"{base}/out/secret.txt",
        f"{base}/../other/secret.txt",
        f"{tmp_path.as_uri()}/w2/a.txt",
        base,
        f"{tmp_path.as_uri()}/other/secret.txt",
        f"file://host{workspace}/src",
        f"{base}/%00",
        f"{base}/a%0Ab",
        f"{base}/%FF",
        "file:relative.txt",
        "file://[broken",
        "https://example.org/a.txt",
        "zed:///agent/thread",
        "",
    ]
    links = [ResourceLink(uri=uri, name="n") for uri in (*expected, *elsewhere)]
    assert await file_mentions([*links, Text(base)], str(workspace)) == expected
    assert await file_mentions(links[:1], str(tmp_path / "in")) == dict([next(iter(expected.items()))])


# -- size


def refused_field(blocks: list[Block], cap: int) -> str | None:
    try:
        require_fit(blocks, cap)
    except RpcError as error:
        assert error.code == -32602 and error.data is not None
        assert str(cap - ENVELOPE_BYTES) in error.data["details"]
        field: str = error.data["field"]
        return field
    return None


def test_o5_the_block_that_no_longer_fits_is_named() -> None:
    cap = ENVELOPE_BYTES + 1100
    blocks: list[Block] = [Text("x" * 300), Image("A" * 400, "image/png"), LINK]
    assert refused_field(blocks, cap) is None
    assert refused_field([*blocks[:2], Text("x" * 300)], cap) == "prompt[2]"
    assert refused_field([Image("A" * 1001, "image/png")], cap) == "prompt[0]"
    assert refused_field([Text("")] * 1000, cap) is None


@pytest.mark.parametrize("text", ["x", "温", "\n", '"', "\x01", "🌳"])
def test_what_is_let_through_fits_a_line(text: str) -> None:
    cap = 100_000
    size = next(size for size in range(cap, 0, -500) if refused_field([Text(text * size)], cap) is None)
    params = {"sessionId": "s" * 1000, "commandId": "c" * 36, "input": input_parts([Text(text * size)])}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "turn/start", "params": params}
    encode_frame(frame, cap)
    # And not much is refused that would fit.
    assert len(encode_frame(frame, 10 * cap)) > cap - ENVELOPE_BYTES - 6000
