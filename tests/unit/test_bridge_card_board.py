"""Cards as they live: drawn at a steady pace, ended once, with their diffs, in a terminal or not."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.diffs import READ_SECONDS
from adapter.bridge.throttle import FRESH_SECONDS, INTERVAL
from adapter.wire.background import Background
from tests.card_screen import SHELL, Json, Screen, printed, text_of
from tests.wired import until

PATCH_REF: Json = {"id": "patch-1", "byteLen": 100, "availability": "available", "kind": "tool_patch"}
DIFF: Json = {"type": "diff", "path": "/srv/demo/orchard/a.txt", "oldText": "a", "newText": "b"}


def statuses(updates: list[Json]) -> list[str | None]:
    return [update.get("status") for update in updates]


# -- the pace


def test_p1_what_is_written_for_a_card_is_about_twice_its_output() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    for number in range(5000):
        screen.delta("i1", f"{number:06} ".ljust(1023, "x") + "\n", "output")
        screen.pass_time(0.0001)
    screen.item("i1", 2, "completed", **SHELL)
    updates = screen.take()
    assert screen.bytes < 2.2 * 5000 * 1024
    assert len(updates) <= 0.5 / INTERVAL + 3
    assert updates[-1]["status"] == "completed" and "004999 " in text_of(updates[-1])


def test_p1_it_is_linear_also_when_the_output_comes_slowly_at_first() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    for _ in range(2000):
        screen.delta("i1", "x" * 99 + "\n", "output")
        screen.pass_time(0.01)
    # What time adds is one full card in each two seconds, whatever comes.
    assert screen.bytes < 2.2 * 200_000 + CARD_TEXT_BYTES * 20 / FRESH_SECONDS + 2 * CARD_TEXT_BYTES


def test_the_first_output_is_shown_at_once_and_more_at_most_once_an_interval() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.take()
    screen.delta("i1", "a\n", "output")
    assert [text_of(update) for update in screen.take()] == ["```\na\n```"]
    screen.delta("i1", "b\n", "output")
    screen.delta("i1", "c\n", "output")
    screen.pass_time(INTERVAL * 0.9)
    assert screen.take() == []
    screen.pass_time(INTERVAL * 0.2)
    assert [text_of(update) for update in screen.take()] == ["```\na\nb\nc\n```"]
    screen.pass_time(60)
    assert screen.take() == [], "nothing new, nothing drawn"


def test_a_trickle_on_a_large_card_shows_soon() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.delta("i1", "x" * 100_000, "output")
    for _ in range(20):
        screen.delta("i1", "y", "output")
        screen.pass_time(INTERVAL)
    screen.take()
    for number in range(5):
        screen.delta("i1", f"\nnews {number}", "output")
        screen.pass_time(FRESH_SECONDS)
        assert f"news {number}" in text_of(screen.take()[-1])


@pytest.mark.anyio
async def test_the_last_output_is_drawn_although_the_host_falls_silent() -> None:
    screen = Screen()
    async with anyio.create_task_group() as tasks:
        screen.board._background = Background(tasks, logging.getLogger("adapter.bridge"))
        screen.board._clock = time.monotonic
        screen.item("i1", **SHELL)
        screen.delta("i1", "first\n", "output")
        screen.delta("i1", "last\n", "output")
        assert "last" not in text_of(screen.updates[-1])
        await until(lambda: "last" in text_of(screen.updates[-1]))
        screen.delta("i1", "more\n", "output")
        await until(lambda: "more" in text_of(screen.updates[-1]))
    # The task group ends: nothing waits when nothing is due.


def test_p3_a_burst_of_progress_is_merged_and_its_end_is_exact() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    for number in range(3000):
        screen.item("i1", number + 2, **SHELL, statusLine=f"step {number}")
        screen.pass_time(0.5 / 3000)
    assert len(screen.updates) <= 0.5 / INTERVAL + 2
    screen.pass_time(INTERVAL)
    assert text_of(screen.take()[-1]) == "step 2999"
    screen.item("i1", 4000, "completed", **SHELL, visibleOutput="built", exitCode=0)
    assert text_of(screen.take()[-1]) == "```\nbuilt\n```"


def test_other_changes_are_not_delayed_and_take_what_waits_along() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.delta("i1", "a\n", "output")
    screen.delta("i1", "b\n", "output")
    screen.take()
    screen.item("i1", 2, **SHELL, displayLabel={"active": "Making it"})
    [update] = screen.take()
    assert update["title"] == "Making it" and "b" in text_of(update)
    screen.pass_time(60)
    assert screen.take() == []


def test_j3_what_waits_is_shown_when_the_turn_ends_a_card() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.delta("i1", "a\n", "output")
    screen.delta("i1", "b\n", "output")
    screen.take()
    screen.projection.close_turn("t1")
    [update] = screen.take()
    assert update["status"] == "failed" and "b" in text_of(update)


# -- what is kept


def test_an_ended_card_keeps_no_content() -> None:
    screen = Screen(terminals=True)
    for number in range(100):
        screen.item(f"i{number}", **SHELL)
        screen.delta(f"i{number}", "x" * 10_000, "output")
        screen.item(f"i{number}", 2, "completed", **SHELL, visibleOutput="x" * 10_000)
    screen.projection.replaying = True
    screen.item("edit", 1, "completed", **write("new\n"))
    assert len(screen.board._cards) == 101
    for shown in screen.board._cards.values():
        assert shown.members == {"status": "completed"} and not shown.changes and not shown.item.raw
        assert shown.terminal is None


# -- hidden tools


@pytest.mark.parametrize("raw", [{"tool": "write_todos"}, {"kind": "reminderChild"}], ids=["todos", "reminder"])
@pytest.mark.parametrize(("status", "cards"), [("completed", 0), ("cancelled", 0), ("failed", 1), ("timedOut", 1)])
def test_what_is_shown_elsewhere_has_a_card_only_if_it_fails(raw: Json, status: str, cards: int) -> None:
    screen = Screen()
    screen.item("i1", **raw)
    assert screen.take() == []
    screen.item("i1", 2, status, **raw, failureReason="no room")
    shown = screen.take()
    assert len(shown) == cards and all("no room" in text_of(update) for update in shown)


# -- compactions


def test_a_compaction_is_an_update_of_its_own_for_clients_that_take_it() -> None:
    screen = Screen(compactions=True)
    screen.item("c1", kind="compaction", trigger="auto")
    screen.item("c1", 2, "completed", kind="compaction", outcome="compacted", tokensBefore=9, tokensAfter=2)
    screen.item("c1", 3, "completed", kind="compaction", outcome="compacted")
    begun, ended = screen.take()
    assert begun == {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"}
    assert ended["status"] == "completed" and ended["summary"][0]["text"] == "9 tokens before, 2 after"


@pytest.mark.parametrize(
    ("status", "raw", "told"),
    [
        ("completed", {"outcome": "failed", "reason": "no model"}, ("failed", "failed: no model")),
        ("failed", {}, ("failed", "it failed")),
        ("completed", {"outcome": "cancelled"}, ("cancelled", None)),
        ("cancelled", {}, ("cancelled", None)),
        ("completed", {"outcome": "noop", "reason": "nothing to do"}, ("completed", None)),
    ],
)
def test_how_a_compaction_ended(status: str, raw: Json, told: tuple[str, str | None]) -> None:
    screen = Screen(compactions=True)
    screen.item("c1", 1, status, kind="compaction", **raw)
    [update] = screen.take()
    assert (update["status"], update.get("error")) == told


def test_a_compaction_ends_with_its_turn_at_the_latest() -> None:
    screen = Screen(compactions=True)
    screen.item("c1", kind="compaction")
    screen.projection.close_turn("t2")
    assert statuses(screen.take()) == ["in_progress"]
    screen.projection.close_turn("t1")
    screen.projection.close_turn(None)
    assert statuses(screen.take()) == ["cancelled"]


# -- terminals

TERMINAL: Json = {"type": "terminal", "terminalId": "i1"}


def test_a_terminal_gets_each_piece_of_output_once() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    [card] = screen.take()
    assert card["content"] == [TERMINAL]
    assert card["_meta"] == {"terminal_info": {"terminal_id": "i1", "cwd": "/srv/demo/orchard"}}
    for number in range(1000):
        screen.delta("i1", f"{number}\n", "output")
        screen.pass_time(0.001)
    whole = "".join(f"{number}\n" for number in range(1000))
    screen.item("i1", 2, "completed", **SHELL, visibleOutput=whole + "end\n", exitCode=3, turnId="t1")
    updates = screen.take()
    assert printed(updates) == whole + "end\n"
    assert len(updates) <= 1 / INTERVAL + 3
    assert updates[-1]["_meta"]["terminal_exit"] == {"terminal_id": "i1", "exit_code": 3, "signal": None}
    assert updates[-1]["status"] == "completed" and text_of(updates[-1]) == "exit code 3"
    assert not any("terminal_exit" in update["_meta"] for update in updates[:-1])


def test_a_terminal_that_is_seen_ended_gets_its_output_before_its_end() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", 1, "failed", **SHELL, visibleOutput="z" * 300_000, exitSignal=9)
    updates = screen.take()
    assert updates[0]["sessionUpdate"] == "tool_call" and updates[0]["status"] == "in_progress"
    assert printed(updates) == "z" * 300_000 and max(len(json.dumps(update)) for update in updates) < 150_000
    assert updates[-1]["status"] == "failed"
    assert updates[-1]["_meta"]["terminal_exit"]["signal"] == "SIGKILL"


def test_a_structured_result_is_printed_as_its_text() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "bui", "output")
    result = json.dumps({"output": "built\n", "exit_code": 2})
    screen.item("i1", 2, "completed", **SHELL, visibleOutput=result)
    updates = screen.take()
    assert printed(updates) == "built\n"
    assert updates[-1]["_meta"]["terminal_exit"]["exit_code"] == 2 == updates[-1]["rawOutput"]["exit_code"]


def test_an_output_that_turns_out_to_be_another_stands_beside_the_terminal() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "abc", "output")
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="xyz")
    updates = screen.take()
    assert printed(updates) == "abc"
    assert updates[-1]["content"][0] == TERMINAL and "xyz" in text_of(updates[-1])


def test_what_the_host_cut_is_said_beside_the_terminal_with_the_handle() -> None:
    screen = Screen(terminals=True, output_offered=True)
    reference = {"id": "out-1", "byteLen": 500, "availability": "available"}
    screen.item("i1", **SHELL)
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="head", truncated=True, outputRef=reference)
    updates = screen.take()
    assert printed(updates) == "head" and "shows 4 of 500 bytes" in text_of(updates[-1])
    assert {"muse/output", "muse/truncated", "terminal_exit"} == set(updates[-1]["_meta"])
    # A client that puts `_meta` in the place of what it had still has the handle.
    assert all("muse/output" in update["_meta"] for update in updates[1:])


def test_only_commands_have_terminals() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", tool="grep", args='{"pattern": "a"}')
    screen.delta("i1", "a.txt:1\n", "output")
    assert "a.txt:1" in text_of(screen.take()[-1])
    screen.item("i2", kind="userShell", commandText="ls", turn=None)
    assert screen.take()[-1]["content"] == [TERMINAL | {"terminalId": "i2"}]


def test_the_terminal_of_a_command_that_is_asked_about_first() -> None:
    screen = Screen(terminals=True)
    screen.projection.ask("i1", "t1", {"title": "make", "kind": "execute"})
    [card] = screen.take()
    assert card["content"] == [TERMINAL] and "terminal_info" in card["_meta"]
    screen.projection.decided("i1")
    screen.item("i1", **SHELL)
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="done\n")
    updates = screen.take()
    assert printed(updates) == "done\n" and updates[-1]["status"] == "completed"


# -- diffs


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
    monkeypatch.setattr("adapter.bridge.card_board.READ_SECONDS", READ_SECONDS / 100)
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


# -- work that outlives turns


def test_tasks_are_told_side_by_side_with_stored_output() -> None:
    screen = Screen(tasks=True, output_offered=True)
    screen.tasks = lambda item: {"muse/asyncTasks": {"observedStatus": item.status}}
    reference = {"id": "out-1", "byteLen": 500, "availability": "missing"}
    screen.item("i1", **SHELL, background=True)
    screen.item("i1", 2, **SHELL, background=True, outputRef=reference)
    screen.item("i1", 3, "completed", **SHELL, background=True, outputRef=reference)
    first, second, third = (update["_meta"] for update in screen.take())
    assert first == {"muse/asyncTasks": {"observedStatus": "inProgress"}}
    assert second.keys() == third.keys() == {"muse/asyncTasks", "muse/output"}
    assert third["muse/asyncTasks"] == {"observedStatus": "completed"}


def test_tasks_are_not_told_to_others() -> None:
    screen = Screen()
    screen.tasks = lambda item: {"muse/asyncTasks": {}}
    screen.item("i1", **SHELL, background=True)
    assert "_meta" not in screen.take()[-1]


def test_what_can_be_stopped_is_told_anew_when_it_is_learnt() -> None:
    screen = Screen(tasks=True)
    actions: list[str] = []
    screen.tasks = lambda item: {"muse/asyncTasks": {"actions": list(actions)}}
    screen.item("i1", **SHELL, background=True)
    screen.item("i2", **SHELL)
    screen.take()
    actions.append("cancel")
    screen.projection.refresh_tasks()
    [update] = screen.take()
    assert update["toolCallId"] == "i1" and update["_meta"] == {"muse/asyncTasks": {"actions": ["cancel"]}}


def test_a_trickle_in_a_terminal_is_not_held_up_by_what_was_printed_before() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "x" * 1_000_000, "output")
    for number in range(20):
        screen.take()
        screen.delta("i1", f"{number}\n", "output")
        screen.pass_time(INTERVAL)
        assert printed(screen.take()) == f"{number}\n"


@pytest.mark.anyio
async def test_a_call_that_goes_on_after_its_end_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.card_board.READ_SECONDS", READ_SECONDS / 100)
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
