"""Tool items as cards: title, kind, status, text, input and places."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from adapter.acp.updates import ToolKind
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import (
    CARD_KINDS,
    MESSAGE_KINDS,
    Card,
    card_of,
    is_card,
    outlives_turn,
    user_text,
)
from adapter.bridge.tool_cards.tool_arguments import RAW_INPUT_BYTES
from adapter.bridge.tool_cards.tool_table import tool_named
from adapter.msp.items import ItemState, ItemStore

STYLE = CardStyle("ses-1", "/srv/demo/orchard")


def item(kind: str = "toolCall", status: str = "inProgress", **raw: Any) -> ItemState:
    applied = ItemStore().apply({"itemId": "i1", "kind": kind, "status": status, "revision": 1, **raw}, status)
    assert applied is not None
    return applied[0]


def card(kind: str = "toolCall", status: str = "inProgress", **raw: Any) -> Card:
    return card_of(item(kind, status, **raw), STYLE)


def text_of(shown: Card) -> str:
    """The text of a card that shows nothing else, empty if it shows nothing."""
    texts: list[str] = [item["content"]["text"] for item in shown.content]
    assert len(texts) <= 1
    return texts[0] if texts else ""


LABEL = {"neutral": "Run make", "active": "Running make", "done": "Ran make"}


@pytest.mark.parametrize(
    ("status", "title"),
    [("inProgress", "Running make"), ("completed", "Ran make"), ("failed", "Run make"), ("simmering", "Run make")],
)
def test_the_hosts_label_fits_the_status(status: str, title: str) -> None:
    assert card(status=status, tool="bash", displayLabel=LABEL).title == title


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ({"tool": "bash", "args": '{"command": "make  all\\nmake install"}'}, "make all make install"),
        ({"tool": "read_file", "args": '{"path": "a.txt"}'}, "read_file: a.txt"),
        ({"tool": "web_fetch", "args": '{"url": "https://example.com"}'}, "web_fetch: https://example.com"),
        ({"tool": "mural", "args": "no json"}, "mural"),
        ({"tool": "mural", "args": "[1]"}, "mural"),
        ({"tool": "mural", "args": '{"path": 3, "query": " "}'}, "mural"),
        ({"tool": "bash", "displayLabel": {"active": "  ", "neutral": 3}}, "bash"),
        ({"tool": "bash", "displayLabel": "Running"}, "bash"),
        ({"tool": "bash", "displayLabel": {"neutral": "Run"}}, "Run"),
        ({"fallbackText": "something else"}, "something else"),
        ({"tool": 3}, "toolCall"),
        ({}, "toolCall"),
    ],
)
def test_the_title_of_a_tool(raw: dict[str, Any], title: str) -> None:
    assert card(**raw).title == title


@pytest.mark.parametrize(
    ("kind", "raw", "title", "tool"),
    [
        ("userShell", {"commandText": "ls -la"}, "ls -la", "execute"),
        ("subagent", {"objective": "look around"}, "Subagent: look around", "other"),
        ("workflow", {"entryId": "triage"}, "Workflow: triage", "other"),
        ("compaction", {"trigger": "auto"}, "Context compaction (automatic)", "think"),
        ("webSearch", {}, "webSearch", "search"),
        ("hologram", {"fallbackText": "A hologram ✨"}, "A hologram ✨", "other"),
    ],
)
def test_other_items(kind: str, raw: dict[str, Any], title: str, tool: str) -> None:
    shown = card(kind, **raw)
    assert (shown.title, shown.kind) == (title, tool)


@pytest.mark.parametrize("title", ["x" * 10_000, "a\x1b[31m\nb" * 1000])
def test_a_title_is_one_short_line(title: str) -> None:
    for raw in ({"tool": title}, {"displayLabel": {"neutral": title}}, {"fallbackText": title}):
        shown = card(**raw).title
        assert len(shown) <= 256 and shown.isprintable()


@pytest.mark.parametrize("tool", ["thread", "spread_file", "Bash", "", "find_search", "mcp__x__read_file"])
def test_a_kind_is_not_guessed_from_a_part_of_a_name(tool: str) -> None:
    assert tool_named(tool).kind == "other"


@pytest.mark.parametrize("tool", ["bash", "read_file", "grep", "edit_file", "delete_file", "move_file", "web_fetch"])
def test_known_tools_have_a_kind_of_the_protocol(tool: str) -> None:
    assert tool_named(tool).kind in set(get_args(ToolKind)) - {"other"}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ("inProgress", "in_progress"),
        ("completed", "completed"),
        *((word, "failed") for word in ("failed", "rejected", "cancelled", "timedOut", "simmering")),
    ],
)
def test_o3_every_status_has_a_place(status: str, shown: str) -> None:
    assert card(status=status).status == shown


def test_a_failure_says_what_and_why() -> None:
    assert text_of(card(status="rejected", failureReason="denied\nby the user")) == "rejected: denied by the user"
    assert text_of(card(status="failed")) == "failed"
    assert text_of(card(status="completed")) == ""


def test_output_of_a_command_is_a_code_block_that_holds() -> None:
    assert text_of(card(status="completed", tool="bash", visibleOutput="a\n```\nb\n")) == "````\na\n```\nb\n````"
    assert text_of(card(status="completed", tool="mural", visibleOutput="a *b*")) == "a *b*"


def test_what_the_host_cut_is_said() -> None:
    shown = card(status="completed", tool="bash", visibleOutput="begin\n", truncated=True)
    assert "The Muse host shows 6 bytes of a longer output" in text_of(shown)
    assert shown.meta["muse/truncated"]["source"] == "host"


def test_what_we_cut_is_said() -> None:
    shown = card(status="completed", tool="bash", visibleOutput="x" * 200_000)
    assert len(text_of(shown).encode()) <= 48 * 1024
    assert "of 200000 bytes" in text_of(shown)
    assert shown.meta["muse/truncated"]["source"] == "adapter"


# -- input and places


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ({"args": '{"a": [1, null]}'}, {"a": [1, None]}),
        ({"args": '{"a": '}, '{"a": '),
        ({"args": ""}, None),
        ({"args": 3}, None),
        ({"commandText": "ls"}, {"command": "ls"}),
        ({}, None),
    ],
)
def test_the_input_is_parsed_where_it_can_be(raw: dict[str, Any], shown: Any) -> None:
    assert card(**raw).raw_input == shown


def test_a_long_input_is_shortened_member_by_member() -> None:
    arguments = {"path": "a.txt", "content": "x" * RAW_INPUT_BYTES, "lines": [1], "count": 3}
    shown = card(tool="write_file", args=json.dumps(arguments)).raw_input
    assert (shown["path"], shown["count"]) == ("a.txt", 3)
    assert len(shown["content"]) < 5000 and str(RAW_INPUT_BYTES) in shown["content"]
    assert shown["lines"] == "[left out: too long to show]"
    assert len(card(args="x" * (RAW_INPUT_BYTES + 1)).raw_input) < 5000


@pytest.mark.acp(84)
@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        ({"path": "src/a.rs"}, ["/srv/demo/orchard/src/a.rs"]),
        ({"file_path": "/etc/hosts"}, ["/etc/hosts"]),
        ({"path": ""}, []),
        ({"path": 3}, []),
        ([], []),
    ],
)
def test_places_are_absolute(arguments: Any, places: list[str]) -> None:
    members = card(tool="read_file", args=json.dumps(arguments)).members()
    assert [place["path"] for place in members.get("locations", [])] == places


# -- which items


@pytest.mark.parametrize("kind", sorted(CARD_KINDS))
def test_tools_are_cards(kind: str) -> None:
    assert is_card(item(kind))


@pytest.mark.parametrize("kind", sorted(MESSAGE_KINDS))
def test_messages_are_no_cards_even_with_a_fallback(kind: str) -> None:
    assert not is_card(item(kind, fallbackText="text"))


def test_o3_an_unknown_item_is_a_card_if_there_is_something_to_show() -> None:
    assert is_card(item("mural", fallbackText="a mural")) and not is_card(item("mural"))


@pytest.mark.parametrize("member", ["outputRef", "patchRef"])
def test_an_unknown_item_with_stored_bytes_is_a_card(member: str) -> None:
    reference: dict[str, Any] = {"id": "out-1", "byteLen": 5, "availability": "missing"}
    stored: dict[str, Any] = {member: reference}
    unusable: dict[str, Any] = {member: {**reference, "byteLen": -1}}
    assert is_card(item("mural", **stored))
    assert not is_card(item("mural", **unusable))
    assert not is_card(item("agentMessage", **stored))


@pytest.mark.parametrize(
    ("kind", "raw", "goes_on"),
    [
        ("toolCall", {"turnId": "t1"}, False),
        ("toolCall", {"turnId": "t1", "background": True}, True),
        ("toolCall", {"turnId": "t1", "background": "yes"}, False),
        ("subagent", {"turnId": "t1"}, True),
        ("workflow", {}, True),
        ("userShell", {}, True),
        ("userShell", {"turnId": "t1"}, False),
    ],
)
def test_what_goes_on_after_its_turn(kind: str, raw: dict[str, Any], goes_on: bool) -> None:
    assert outlives_turn(item(kind, **raw)) == goes_on


def test_o5_the_users_attachments_are_described() -> None:
    picture = {"type": "image", "mediaType": "image/png", "width": 2, "height": 3}
    text = user_text(item("userMessage", "completed", text="look", attachments=[picture, 3, {}]))
    assert text == "look\n[image, image/png, 2 x 3: not shown here]\n[content: not shown here]"
