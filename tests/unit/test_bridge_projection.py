"""What a client is shown of a session's changes: in order, once, and nothing of what is over."""

from __future__ import annotations

import json

import pytest

from adapter.bridge import projection as module
from adapter.bridge.projection import LONGEST_CHUNK
from adapter.bridge.tool_cards import card_board
from tests.card_screen import SHELL, Json, Screen


def test_text_goes_out_as_it_comes_under_one_message_id() -> None:
    screen = Screen()
    screen.item("i1", kind="agentMessage", text="")
    for piece in ("温", "室", "🌳"):
        screen.delta("i1", piece)
    screen.item("i1", 2, "completed", kind="agentMessage", text="温室🌳!")
    assert {row["messageId"] for row in screen.updates} == {"i1"}
    assert screen.texts == [("message", "温"), ("message", "室"), ("message", "🌳"), ("message", "!")]


def test_a_thought_has_a_blank_line_between_its_summaries() -> None:
    screen = Screen()
    screen.item("i1", kind="reasoning", summary=[])
    for field, piece in (("summary.0", "a"), ("summary.0", "b"), ("summary.1", "c")):
        screen.delta("i1", piece, field)
    assert screen.texts == [("thought", "a"), ("thought", "b"), ("thought", "\n\nc")]


def test_a_message_that_comes_all_at_once_goes_out_in_pieces() -> None:
    screen = Screen()
    whole = "ü" * (2 * LONGEST_CHUNK + 1)
    screen.item("i1", 1, "completed", kind="agentMessage", text=whole)
    assert [len(row["content"]["text"]) for row in screen.updates] == [LONGEST_CHUNK, LONGEST_CHUNK, 1]
    assert "".join(text for _, text in screen.texts) == whole


def test_a_card_tells_only_what_has_changed() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    [card] = screen.take()
    assert (card["sessionUpdate"], card["title"], card["kind"], card["status"], card["name"]) == (
        *("tool_call", "make", "execute", "in_progress", "bash"),
    )
    screen.item("i1", 2, **SHELL)
    assert screen.take() == []
    screen.item("i1", 3, "completed", **SHELL, visibleOutput="done\n")
    [update] = screen.take()
    assert set(update) == {"sessionUpdate", "toolCallId", "status", "content"} and update["status"] == "completed"


def test_a_structured_result_is_told_beside_its_text() -> None:
    screen = Screen()
    result = json.dumps({"output": "built\n", "exitCode": 0})
    screen.item("i1", **SHELL)
    screen.item("i1", 2, "completed", **SHELL, visibleOutput=result)
    screen.item("i2", 1, "completed", **SHELL, visibleOutput=result)
    _, update, card = screen.take()
    assert update["rawOutput"] == card["rawOutput"] == {"exitCode": 0}
    assert "built" in update["content"][0]["content"]["text"]


@pytest.mark.parametrize("status", ["completed", "failed", "rejected", "cancelled", "evaporated"])
def test_an_ended_card_is_not_touched_again(status: str) -> None:
    screen = Screen()
    screen.item("i1", 1, status, **SHELL)
    [card] = screen.take()
    assert card["status"] == ("completed" if status == "completed" else "failed")
    screen.item("i1", 2, **SHELL)
    screen.item("i1", 3, "completed", **SHELL, visibleOutput="more")
    screen.delta("i1", "more", "output")
    screen.projection.close_turn("t1")
    assert screen.take() == []


# -- the end of a turn


def test_g9_open_cards_end_with_their_turn_and_only_theirs() -> None:
    screen = Screen()
    screen.item("mine", **SHELL)
    screen.item("other", turn="t2", **SHELL)
    screen.item("background", **SHELL, background=True)
    screen.item("child", kind="subagent", objective="look")
    screen.take()
    screen.projection.close_turn("t1")
    assert screen.take() == [{"sessionUpdate": "tool_call_update", "toolCallId": "mine", "status": "failed"}]
    screen.item("background", 2, "completed", **SHELL, background=True)
    assert [row["status"] for row in screen.take()] == ["completed"]


def test_e2_a_dead_host_ends_every_card() -> None:
    screen = Screen()
    screen.item("a", **SHELL)
    screen.item("b", turn=None, kind="subagent", objective="look")
    screen.item("c", 1, "completed", **SHELL)
    screen.take()
    screen.projection.close_turn(None)
    assert [(row["toolCallId"], row["status"]) for row in screen.take()] == [("a", "failed"), ("b", "failed")]


def test_g9_nothing_late_of_an_ended_turn_is_shown() -> None:
    screen = Screen()
    screen.item("i1", kind="agentMessage", text="")
    screen.item("i2", kind="reasoning", summary=[])
    screen.projection.close_turn("t1")
    screen.delta("i1", "late")
    screen.delta("i2", "late", "summary.0")
    screen.item("i3", 1, "completed", **SHELL)
    assert screen.take() == []
    screen.item("i4", **SHELL, background=True)
    assert [row["sessionUpdate"] for row in screen.take()] == ["tool_call"]


def test_g5_nothing_of_a_silenced_turn_is_shown_but_the_end_of_what_outlives_it() -> None:
    screen = Screen()
    screen.item("i1", **SHELL, background=True)
    screen.take()
    screen.projection.silence("t1")
    screen.item("i2", kind="agentMessage", text="late")
    screen.item("i3", kind="subagent", objective="late")
    assert screen.take() == [] and screen.projection.is_silenced("t1") and not screen.projection.is_silenced("t2")
    screen.item("i1", 2, "completed", **SHELL, background=True)
    assert [row["status"] for row in screen.take()] == ["completed"]


def test_a_session_that_is_closed_says_nothing_more() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.delta("i1", "a", "output")
    screen.delta("i1", "b", "output")
    screen.take()
    screen.projection.stop()
    screen.pass_time(60)
    assert screen.take() == []


def test_h5_text_outside_of_a_prompt_is_not_shown_and_cards_are() -> None:
    screen = Screen()
    screen.projection.in_turn = False
    screen.item("i1", turn="t9", kind="agentMessage", text="unasked")
    screen.item("i2", turn="t9", **SHELL)
    assert [row["sessionUpdate"] for row in screen.take()] == ["tool_call"]


def test_l1_only_a_replay_shows_what_the_user_said() -> None:
    screen = Screen()
    screen.item("i1", 1, "completed", kind="userMessage", text="do it")
    assert screen.take() == []
    screen.projection.replaying, screen.projection.in_turn = True, False
    screen.item("i2", 1, "completed", kind="userMessage", text="do it again")
    screen.item("i3", 1, "completed", kind="agentMessage", text="done")
    assert screen.texts == [("message", "do it again"), ("message", "done")]


# -- waiting for a decision

QUESTION: Json = {"title": "make", "kind": "execute"}


@pytest.mark.parametrize("known", [True, False], ids=["card first", "question first"])
def test_i6_a_call_is_pending_until_it_is_decided(known: bool) -> None:
    screen = Screen()
    if known:
        screen.item("i1", **SHELL)
    screen.projection.ask("i1", "t1", QUESTION)
    assert [row["sessionUpdate"] for row in screen.updates] == ["tool_call", *["tool_call_update"] * known]
    assert screen.take()[-1]["status"] == "pending"
    screen.item("i1", 2, **SHELL)
    assert all(row.get("status", "pending") == "pending" for row in screen.take())
    screen.projection.decided("i1")
    screen.item("i1", 3, **SHELL)
    assert [row["status"] for row in screen.take()] == ["in_progress"]


@pytest.mark.parametrize("status", ["completed", "rejected"])
def test_a_waiting_call_may_end_at_once(status: str) -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.projection.ask("i1", "t1", QUESTION)
    screen.take()
    screen.item("i1", 2, status, **SHELL)
    assert [row["status"] for row in screen.take()] == ["completed" if status == "completed" else "failed"]


def test_a_question_about_an_ended_call_does_not_open_it_again() -> None:
    screen = Screen()
    screen.item("i1", 1, "completed", **SHELL)
    screen.take()
    screen.projection.ask("i1", "t1", QUESTION)
    screen.projection.decided("unknown")
    assert screen.take() == []


# -- bounds


def test_remembered_cards_are_bounded_and_open_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_board, "REMEMBERED_CARDS", 10)
    screen = Screen()
    screen.item("open", **SHELL)
    for number in range(50):
        screen.item(f"i{number}", 1, "completed", **SHELL)
    assert len(screen.projection._board._cards) == 10
    screen.take()
    screen.item("open", 2, "completed", **SHELL)
    assert [row["sessionUpdate"] for row in screen.take()] == ["tool_call_update"]


def test_remembered_turns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_TURNS", 10)
    screen = Screen()
    for number in range(50):
        screen.projection.silence(f"t{number}")
    assert not screen.projection.is_silenced("t0") and screen.projection.is_silenced("t49")
    assert len(screen.projection._silenced) == len(screen.projection._ended_turns) == 10


def test_what_is_restored_is_told_once_and_only_of_cards() -> None:
    screen = Screen(output_offered=True)
    reference = {"id": "out-1", "byteLen": 5, "availability": "missing"}
    for kind in ("agentMessage", "userMessage", "reasoning"):
        screen.projection.restore({"itemId": f"a {kind}", "kind": kind, "outputRef": reference})
    assert screen.take() == []
    for _ in range(2):
        screen.projection.restore({"itemId": "i1", "kind": "toolCall", "outputRef": reference})
    [told] = screen.take()
    assert set(told) == {"sessionUpdate", "toolCallId", "_meta"}


@pytest.mark.parametrize(("tasks_go_on", "ended"), [(False, ["i1", "i2"]), (True, ["i1"])])
def test_all_cards_end_but_for_what_outlives_turns_if_it_may(tasks_go_on: bool, ended: list[str]) -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.item("i2", background=True, **SHELL)
    screen.take()
    screen.projection.close_turn(None, tasks_go_on=tasks_go_on)
    assert [(row["toolCallId"], row["status"]) for row in screen.take()] == [(name, "failed") for name in ended]
