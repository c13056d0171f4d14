"""When a card shows what its call changes: as soon as it is known, and before the call is shown as ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.bridge.tool_cards.diffs import READ_SECONDS
from tests.card_screen import Json, Screen, statuses, text_of

PATCH_REF: Json = {"id": "patch-1", "byteLen": 100, "availability": "available", "kind": "tool_patch"}
DIFF: Json = {"type": "diff", "path": "/srv/demo/orchard/a.txt", "oldText": "a", "newText": "b"}


def write(content: str, path: str = "a.txt") -> Json:
    return {"tool": "write_file", "args": json.dumps({"path": path, "content": content})}


def contents(update: Json) -> list[str]:
    return [item["type"] for item in update.get("content", [])]


@pytest.mark.anyio
async def test_j5_the_file_is_read_when_the_call_is_first_seen(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    screen = Screen(str(tmp_path))
    screen.item("i1", **write("new\n"))
    await screen.work()
    diff = {"type": "diff", "path": str(tmp_path / "a.txt"), "oldText": "old\n", "newText": "new\n"}
    assert screen.take()[-1]["content"] == [diff]
    # The completion says nothing about it (`fault-cases.md J3`).
    screen.item("i1", 2, "completed", **write("new\n"))
    [end] = screen.take()
    assert end["status"] == "completed" and "content" not in end
    screen.item("i2", 1, "completed", **write("more\n", "b.txt"))
    assert contents(screen.take()[-1]) == ["content"], "it is too late to tell what was there before"


@pytest.mark.anyio
async def test_j3_a_diff_stays_when_the_call_ends_with_words(tmp_path: Path) -> None:
    screen = Screen(str(tmp_path))
    screen.item("i1", **write("new\n"))
    await screen.work()
    screen.item("i1", 2, "rejected", **write("new\n"), failureReason="denied")
    [end] = [update for update in screen.take() if update.get("status") == "failed"]
    assert contents(end) == ["diff", "content"] and text_of(end) == "rejected: denied"


@pytest.mark.anyio
async def test_a_call_ends_with_the_diff_the_host_has_stored() -> None:
    screen = Screen()
    screen.stored = [DIFF]
    screen.item("i1", tool="edit_file", args="{}")
    screen.item("i1", 2, "completed", tool="edit_file", args="{}", patchRef=PATCH_REF, visibleOutput="Edited")
    assert "completed" not in statuses(screen.take())
    screen.projection.close_turn("t1")
    assert screen.take() == [], "it has ended, and waits for its diff only"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(screen.projection.settled, {"t1"})
        await anyio.lowlevel.checkpoint()
        await screen.work()
    [end] = screen.take()
    assert end["status"] == "completed" and end["content"][0] == DIFF
    await screen.projection.settled({"t1"})
    await screen.projection.settled()


@pytest.mark.anyio
@pytest.mark.parametrize("file_first", [True, False], ids=["file first", "host first"])
async def test_j5_what_the_host_has_stored_counts_whatever_is_read_first(tmp_path: Path, file_first: bool) -> None:
    screen = Screen(str(tmp_path))
    screen.stored = [DIFF]
    screen.item("i1", **write("new\n"))
    screen.item("i1", 2, "completed", **write("new\n"), patchRef=PATCH_REF)
    if not file_first:
        screen.started.reverse()
    await screen.work()
    [end] = [update for update in screen.take() if update.get("status") == "completed"]
    assert end["content"] == [DIFF]


@pytest.mark.anyio
async def test_g9_a_stopped_turn_does_not_wait_for_diffs() -> None:
    screen = Screen()
    screen.stored = [DIFF]
    for name in ("i1", "i2"):
        screen.item(name, 1, "completed", turn=name, tool="edit_file", args="{}", patchRef=PATCH_REF)
    screen.take()
    screen.projection.silence("i1")
    screen.projection.close_turn(None)
    assert statuses(screen.take()) == ["completed", "completed"]
    await screen.work()
    assert screen.take() == []


@pytest.mark.anyio
async def test_a_host_that_does_not_give_a_diff_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.tool_cards.card_board.READ_SECONDS", READ_SECONDS / 100)
    screen = Screen()

    async def never(item: Json) -> list[Json]:
        await anyio.sleep_forever()
        raise AssertionError

    screen.diffs._read_stored = never
    screen.item("i1", 1, "completed", tool="edit_file", args="{}", patchRef=PATCH_REF)
    with anyio.fail_after(20):
        await screen.work()
    assert statuses(screen.take()) == ["in_progress", "completed"]
    screen.item("i2", 1, "completed", tool="edit_file", args="{}", patchRef=PATCH_REF)
    assert statuses(screen.take()) == ["completed"]


@pytest.mark.anyio
async def test_a_diff_that_cannot_be_read_costs_nothing_else() -> None:
    screen = Screen()

    async def fails(item: Json) -> list[Json]:
        raise RuntimeError("odd")

    screen.diffs._read_stored = fails
    screen.item("i1", 1, "completed", tool="edit_file", args="{}", patchRef=PATCH_REF)
    await screen.work()
    assert statuses(screen.take()) == ["in_progress", "completed"]


@pytest.mark.parametrize(
    "reference",
    [None, {**PATCH_REF, "availability": "missing"}, {**PATCH_REF, "byteLen": 10**6}, {**PATCH_REF, "id": ""}],
)
def test_only_a_short_patch_that_is_there_is_read(reference: Any) -> None:
    screen = Screen()
    screen.item("i1", 1, "completed", tool="edit_file", args="{}", patchRef=reference)
    assert statuses(screen.take()) == ["completed"] and screen.started == []


@pytest.mark.anyio
async def test_in_a_replay_no_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("today\n")
    screen = Screen(str(tmp_path))
    screen.projection.replaying = True
    screen.item("i1", **write("yesterday\n"))
    assert screen.started == []
    assert text_of(screen.take()[-1]) == "```diff\n+yesterday\n```"


@pytest.mark.anyio
async def test_a_decided_call_shows_the_diff_of_its_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("new\n")
    screen = Screen(str(tmp_path))
    call = write("new\nand more\n")
    screen.item("i1", **call)
    await screen.work()
    assert contents(screen.take()[-1]) == ["content"], "the text may be half of what is being written"
    screen.projection.ask("i1", "t1", {"title": "write", "kind": "edit"})
    await screen.diffs.preview({"itemId": "i1", "toolName": "write_file", "rawArgs": call["args"]})
    screen.projection.decided("i1")
    screen.item("i1", 2, "completed", **call)
    assert contents(screen.take()[-1]) == ["diff"]


@pytest.mark.anyio
async def test_a_call_that_goes_on_after_its_end_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.tool_cards.card_board.READ_SECONDS", READ_SECONDS / 100)
    screen = Screen()
    screen.stored = [DIFF]
    call: Json = {"tool": "edit_file", "args": "{}", "patchRef": PATCH_REF}
    screen.item("i1", 1, "completed", **call)
    screen.item("i1", 2, **call)
    await screen.work()
    with anyio.fail_after(20):
        await screen.projection.settled({"t1"})
    screen.projection.close_turn("t1")
    assert [status for status in statuses(screen.take()) if status] == ["in_progress", "failed"]
