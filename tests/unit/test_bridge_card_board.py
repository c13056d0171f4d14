"""Cards as they live: drawn at a steady pace, ended once, with their diffs, in a terminal or not."""

from __future__ import annotations

import logging
import time

import anyio
import anyio.lowlevel
import pytest

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.tool_cards.cards import Card
from adapter.bridge.tool_cards.shown_card import ShownCard
from adapter.bridge.tool_cards.throttle import FRESH_SECONDS, INTERVAL
from adapter.wire.background import Background
from tests.card_screen import SHELL, Json, Screen, statuses, text_of
from tests.wired import until

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


def test_p2_cards_of_a_history_are_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.tool_cards.card_board.REMEMBERED_CARDS", 5)
    screen = Screen()
    for number in range(100):
        screen.item(f"i{number}", 1, "completed", **SHELL)
    board = screen.board
    assert len(board._cards) == 5
    assert len(board._open_ones) <= 5


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


def made(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the cards that are made from now on, drawn or not."""
    ids: list[str] = []
    make = screen.board._card

    def counted(shown: ShownCard) -> Card:
        ids.append(shown.item_id)
        return make(shown)

    monkeypatch.setattr(screen.board, "_card", counted)
    return ids


def test_p1_output_beyond_what_is_kept_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.streams.STREAMED_TEXT_LIMIT", 1000)
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.delta("i1", "x" * 999, "output")
    screen.pass_time(60)
    cards = made(screen, monkeypatch)
    for _ in range(100):
        screen.delta("i1", "y" * 100, "output")
        screen.pass_time(60)
    assert cards == []
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="x" * 999 + "y" * 100)
    assert "y" * 100 in text_of(screen.take()[-1])


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
    screen.item("edit", 1, "completed", tool="apply_patch", args='{"patch": "+x"}')
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
