"""What goes out in `session/update`, and how text chunks grow while they wait."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from adapter.acp import updates
from adapter.acp.text import fenced, one_line
from adapter.acp.tool_content import diff_content, terminal_content, text_content
from adapter.acp.updates import TextChunk
from adapter.wire.outbox import Outbox

SES = "ses-alder"


def chunk(text: str, **other: Any) -> TextChunk:
    same: dict[str, Any] = {"session_id": SES, "variant": "agent_message_chunk", "message_id": "m1"}
    return TextChunk(text=text, **(same | other))


def update(params: dict[str, Any]) -> dict[str, Any]:
    assert params["sessionId"] == SES
    inner = params["update"]
    assert type(inner) is dict
    return inner


def test_chunks_of_one_message_become_one() -> None:
    first = chunk("温")
    assert first.absorb(chunk("室"), 1000)
    assert first.absorb(chunk("🌳"), 1000)
    assert first.frame() == {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": SES,
            "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "温室🌳"},
                "messageId": "m1",
            },
        },
    }


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "ses-birch"},
        {"variant": "agent_thought_chunk"},
        {"message_id": "m2"},
        {"message_id": None},
    ],
)
def test_chunks_of_other_messages_stay_apart(other: dict[str, Any]) -> None:
    first, later = chunk("a"), chunk("b", **other)
    assert not first.absorb(later, 100_000)
    assert (first.text, later.text) == ("a", "b")
    assert not first.absorb(object(), 100_000)


def test_a_chunk_grows_only_up_to_the_limit() -> None:
    first = chunk("a" * 500)
    assert not first.absorb(chunk("b" * 500), 1000)
    assert first.text == "a" * 500
    assert first.absorb(chunk("b" * 100), 1000)


@pytest.mark.parametrize("text", ["plain", "温室" * 100, "🌳" * 100])
def test_the_weight_is_about_the_size_of_the_frame(text: str) -> None:
    size = len(orjson.dumps(chunk(text).frame()))
    assert size / 2 < chunk(text).weight() < size * 2


def test_waiting_chunks_leave_as_one_line_in_order() -> None:
    lost: list[Exception] = []
    outbox = Outbox(1_000_000, lost.append)
    for piece in ("a", "b", "c"):
        outbox.put_mergeable(chunk(piece))
    outbox.put_mergeable(chunk("d", variant="agent_thought_chunk"))
    outbox.put({"jsonrpc": "2.0", "id": 1, "result": {}})
    outbox.put_mergeable(chunk("e"))
    texts = [
        line["params"]["update"]["content"]["text"] if "params" in line else "-"
        for line in map(orjson.loads, outbox.take().splitlines())
    ]
    assert texts == ["abc", "d", "-", "e"]
    assert not lost


def test_a_chunk_without_message_id_has_no_such_member() -> None:
    assert "messageId" not in update(chunk("a", message_id=None).params())


def test_a_card_has_the_members_that_were_given() -> None:
    params = updates.tool_call(
        SES,
        "itm-4",
        {
            "title": "Edit\n  a.txt",
            "name": "edit_file",
            "kind": "edit",
            "status": "pending",
            "content": [diff_content("/srv/a.txt", None, "new")],
            "locations": [updates.location("/srv/a.txt", 3), updates.location("/srv/b.txt")],
            "rawInput": {"path": "/srv/a.txt", "nothing": None},
            "rawOutput": None,
        },
        meta={"muse/output": None},
    )
    assert update(params) == {
        "sessionUpdate": "tool_call",
        "toolCallId": "itm-4",
        "title": "Edit a.txt",
        "name": "edit_file",
        "kind": "edit",
        "status": "pending",
        "content": [{"type": "diff", "path": "/srv/a.txt", "newText": "new"}],
        "locations": [{"path": "/srv/a.txt", "line": 3}, {"path": "/srv/b.txt"}],
        "rawInput": {"path": "/srv/a.txt", "nothing": None},
        "_meta": {"muse/output": None},
    }


@pytest.mark.parametrize("content", [None, []])
def test_j3_a_final_update_leaves_earlier_content_alone(content: list[dict[str, Any]] | None) -> None:
    members = {"status": "completed", "content": content, "locations": content}
    params = updates.tool_call_update(SES, "itm-4", members)
    assert update(params) == {"sessionUpdate": "tool_call_update", "toolCallId": "itm-4", "status": "completed"}


@pytest.mark.parametrize("value", [0, False, "", {}, []])
def test_falsy_raw_values_are_values(value: Any) -> None:
    assert update(updates.tool_call_update(SES, "itm-4", {"rawOutput": value}))["rawOutput"] == value


def test_session_info_tells_cleared_from_unchanged() -> None:
    assert update(updates.session_info(SES)) == {"sessionUpdate": "session_info_update"}
    assert update(updates.session_info(SES, title=None, updated_at="2026-01-02T03:04:05Z")) == {
        "sessionUpdate": "session_info_update",
        "title": None,
        "updatedAt": "2026-01-02T03:04:05Z",
    }
    assert update(updates.session_info(SES, title="x" * 1000))["title"] == "x" * 255 + "…"


def test_the_other_variants() -> None:
    entry = updates.plan_entry("Dig", "high", "pending")
    assert update(updates.plan(SES, [entry]))["entries"] == [
        {"content": "Dig", "priority": "high", "status": "pending"}
    ]
    assert update(updates.plan(SES, []))["entries"] == []
    commands = [updates.command("/dig", "Dig a hole", "where"), updates.command("rest", "Do nothing")]
    assert update(updates.available_commands(SES, commands))["availableCommands"] == [
        {"name": "dig", "description": "Dig a hole", "input": {"hint": "where"}},
        {"name": "rest", "description": "Do nothing"},
    ]
    assert update(updates.current_mode(SES, "plan"))["currentModeId"] == "plan"
    assert update(updates.config_options(SES, []))["configOptions"] == []
    assert update(updates.usage(SES, 10, 100)) == {"sessionUpdate": "usage_update", "used": 10, "size": 100}
    assert update(updates.usage(SES, 10, 100, cost=0.5))["cost"] == {"amount": 0.5, "currency": "USD"}
    assert update(updates.notice(SES, "warning", "Cut"))["severity"] == "warning"
    assert update(updates.compaction(SES, "c1", "completed", summary=[])) == {
        "sessionUpdate": "compaction_update",
        "compactionId": "c1",
        "status": "completed",
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\n\tb", "a b"),
        ("  a  ", "a"),
        ("a\x1b[0m\x00b\u2028c", "a [0m b c"),
        ("", ""),
        ("\n", ""),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("a" + " " * 1000, "a"),
        ("a" + " " * 1000 + "b", "a…"),
        ("x" * 8 + " yyyy", "x" * 8 + "…"),
    ],
)
def test_a_title_is_one_bounded_line(text: str, line: str) -> None:
    assert one_line(text, 10) == line


@pytest.mark.parametrize("inside", ["", "plain", "a\n", "```\ncode\n```", "`````", "a`b``c"])
def test_a_fence_is_longer_than_what_is_inside(inside: str) -> None:
    lines = fenced(inside, "py thon\n`").split("\n")
    fence = lines[-1]
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert fence not in inside
    assert lines[0] == fence + "python"
    assert "\n".join(lines[1:-1]) == inside.removesuffix("\n")


def test_the_items_of_a_card() -> None:
    assert text_content("x") == {"type": "content", "content": {"type": "text", "text": "x"}}
    assert diff_content("/a", "", "b") == {"type": "diff", "path": "/a", "oldText": "", "newText": "b"}
    assert terminal_content("t1") == {"type": "terminal", "terminalId": "t1"}
