"""Faults of group G, first part: stopping a turn. The adapter as a process, hosts that make it hard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.adapter_process import Json, running_adapter
from tests.faults.cancelling import (
    CANCELLED,
    END_TURN,
    Cancel,
    after,
    begin_and_wait,
    both_ways,
    cancel_request,
    cancel_session,
    end,
    is_card,
    texts_of,
)
from tests.faults.hosts_hard_to_stop import (
    Busy,
    EndsAfterTheNextPrompt,
    EndsItsWay,
    IgnoresInterrupts,
    SlowToAcknowledge,
)
from tests.processes import wait_until
from tests.scripted_hosts import place

# -- G1


@pytest.mark.acp(75)
@pytest.mark.parametrize("events_first", [False, True], ids=["ack first", "events first"])
@pytest.mark.parametrize("delay", ["one write", "before the ack"])
@both_ways
def test_g1_cancel_right_after_the_prompt(tmp_path: Path, events_first: bool, delay: str, cancel: Cancel) -> None:
    host = place(tmp_path / "host", SlowToAcknowledge, events_first=events_first)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        if delay == "one write":
            with adapter.one_write():
                prompt = adapter.begin_prompt(session_id, "go")
                cancel(adapter, session_id, prompt)
        else:
            prompt = adapter.begin_prompt(session_id, "go")
            wait_until(lambda: bool(host.received("turn/start")))
            cancel(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        turns = [f"turn-of-{frame['params']['commandId']}" for frame in host.received("turn/start")]
        assert [frame["params"]["turnId"] for frame in host.received("turn/interrupt")] == turns
        end(adapter)


@pytest.mark.acp(76)
def test_g1_a_second_cancel_and_one_too_late_do_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", SlowToAcknowledge)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        cancel_session(adapter, session_id, 0)
        prompt = adapter.begin_prompt(session_id, "go")
        wait_until(lambda: bool(host.received("turn/start")))
        for _ in range(3):
            cancel_session(adapter, session_id, prompt)
            cancel_request(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        cancel_session(adapter, session_id, prompt)
        cancel_request(adapter, session_id, prompt)
        begin_and_wait(adapter, session_id)
        assert len(host.received("turn/interrupt")) == 1
        end(adapter)


# -- G2


@pytest.mark.parametrize("waits", [True, False], ids=["after the reply", "at once"])
def test_g2_late_completion_does_not_answer_the_next_prompt(tmp_path: Path, waits: bool) -> None:
    host = place(tmp_path / "host", EndsAfterTheNextPrompt)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        cancel_session(adapter, session_id, first)
        if waits:
            response = adapter.response(first)
            second = adapter.begin_prompt(session_id, "again")
        else:
            second = adapter.begin_prompt(session_id, "again")
            response = adapter.response(first)
        assert response["result"] == CANCELLED
        assert adapter.response(second)["result"] == END_TURN
        assert texts_of(after(adapter, response)) == ["the second answer"]
        end(adapter)


# -- G3

ABORT: Json = {"kind": "aborted", "message": "the run was aborted", "retryable": False}


@pytest.mark.acp(72)
@pytest.mark.parametrize(
    "settings",
    [
        {"terminal": "completed"},
        {"terminal": "cancelled"},
        {"terminal": "failed", "members": {"error": ABORT}},
        {"terminal": "failed", "members": {"reason": "interrupted"}},
        {"terminal": "completed", "members": {"error": {"kind": "outputLimit", "message": "too long"}}},
        {"terminal": "stopped_by_somebody"},
        {"terminal": ""},
        {"terminal": "completed", "refuses": True},
    ],
    ids=["completed", "cancelled", "failed", "failed without a word", "limit", "new word", "no word", "refused"],
)
@both_ways
def test_g3_whatever_a_cancelled_turn_came_to(tmp_path: Path, settings: dict[str, Any], cancel: Cancel) -> None:
    host = place(tmp_path / "host", EndsItsWay, **settings)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = begin_and_wait(adapter, session_id)
        cancel(adapter, session_id, prompt)
        response = adapter.response(prompt)
        assert response["result"] == CANCELLED
        assert after(adapter, response) == []
        end(adapter)


@pytest.mark.acp(76)
def test_g3_a_cancel_after_the_end_changes_nothing(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for _ in range(5):
            prompt = adapter.begin_prompt(session_id, "hello")
            assert adapter.response(prompt)["result"] == END_TURN
            cancel_session(adapter, session_id, prompt)
        end(adapter)


# -- G4


@pytest.mark.parametrize("prompt", ["slow 600", "stream 3000000 100", "approve", "background 600"])
@both_ways
def test_g4_cancel_does_not_wait_for_the_turn(tmp_path: Path, prompt: str, cancel: Cancel) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        number = adapter.begin_prompt(session_id, prompt)
        adapter.wait_for_update(lambda update: update["sessionUpdate"] != "user_message_chunk")
        cancel(adapter, session_id, number)
        # The background call goes on by itself, so its turn may have ended before it could be cancelled.
        expected = [CANCELLED, END_TURN] if prompt.startswith("background") else [CANCELLED]
        assert adapter.response(number)["result"] in expected
        assert adapter.prompt(session_id, "hello") == END_TURN
        end(adapter)


@pytest.mark.acp(77, 78)
def test_g4_a_cancel_sent_as_a_request_or_for_nothing_harms_nobody(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Busy)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = begin_and_wait(adapter, session_id)
        for params in ({"sessionId": "unknown"}, {"sessionId": 17}, {}):
            adapter.notify("session/cancel", params)
        for request_id in ("unknown", 10_000, None, [prompt], str(prompt)):
            adapter.notify("$/cancel_request", {"requestId": request_id})
        assert not host.received("turn/interrupt")
        wrong = adapter.begin("session/cancel", {"sessionId": session_id})
        assert adapter.response(wrong)["result"] == {}
        assert adapter.response(prompt)["result"] == CANCELLED
        # The schema knows no such request, so it cannot judge the answer.
        adapter.sent = [line for line in adapter.sent if orjson.loads(line).get("id") != wrong]
        adapter.lines = [line for line in adapter.lines if orjson.loads(line).get("id") != wrong]
        end(adapter)


@pytest.mark.acp(68)
def test_g4_other_sessions_go_on(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        stopped, other = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        first, second = adapter.begin_prompt(stopped, "slow 600"), adapter.begin_prompt(other, "slow 2")
        adapter.wait_for_update(lambda update: True)
        cancel_session(adapter, stopped, first)
        assert adapter.response(first)["result"] == CANCELLED
        assert adapter.response(second)["result"] == END_TURN
        assert "done ✓" in adapter.text(other)
        end(adapter)


# -- G5, G6


@pytest.mark.parametrize(
    ("how", "cancel"),
    [
        ("turnNotFound", cancel_session),
        ("methodNotFound", cancel_request),
        ("internal", cancel_session),
        ("ack", cancel_request),
        ("never", cancel_session),
    ],
    ids=["no such run", "unsupported", "error", "only acknowledged", "never"],
)
def test_g5_g6_host_does_not_stop_the_turn(tmp_path: Path, how: str, cancel: Cancel) -> None:
    host = place(tmp_path / "host", IgnoresInterrupts, how=how)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        cancel(adapter, session_id, first)
        response = adapter.response(first)
        assert response["result"] == CANCELLED

        begin_and_wait(adapter, session_id)
        [_, replacing] = host.received("turn/start")
        assert replacing["params"]["ifBusy"] == "replace" and replacing["params"]["sessionId"] == session_id
        assert texts_of(after(adapter, response)) == ["text of turn 2", "tool_call"]
        adapter.close_input()
        end(adapter)


def test_g5_a_stopped_turn_asks_for_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", IgnoresInterrupts, insists=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = begin_and_wait(adapter, session_id)
        cancel_session(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        assert [frame["params"]["choiceId"] for frame in host.received("approval/decide")] == ["no"]
        assert not any(frame.get("method") == "session/request_permission" for frame in adapter.frames)
        end(adapter)


@pytest.mark.acp(74)
@pytest.mark.parametrize("asks", [False, True], ids=["tool", "dialog"])
def test_g6_another_session_after_a_wedged_one(tmp_path: Path, asks: bool) -> None:
    host = place(tmp_path / "host", IgnoresInterrupts, asks=asks)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id, asks)
        cancel_session(adapter, session_id, first)
        response = adapter.response(first)
        assert response["result"] == CANCELLED
        before = adapter.frames[: adapter.frames.index(response)]
        open_cards = {frame["params"]["update"]["toolCallId"]: "open" for frame in before if card_status(frame)}
        for frame in before:
            if card_status(frame):
                open_cards[frame["params"]["update"]["toolCallId"]] = card_status(frame)
        assert set(open_cards.values()) == {"failed"}
        if asks:
            adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
        assert sum(frame.get("method") == "$/cancel_request" for frame in adapter.frames) == asks
        assert adapter.new_session(tmp_path) != session_id
        end(adapter)


def card_status(frame: Json) -> str:
    update = frame.get("params", {}).get("update", {})
    return str(update.get("status", "")) if str(update.get("sessionUpdate")).startswith("tool_call") else ""


# -- G7


@pytest.mark.acp(78)
def test_g7_taking_back_a_request_stops_that_prompt_alone(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Busy)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        second = adapter.begin_prompt(session_id, "runs next")
        cancel_request(adapter, session_id, first)
        assert adapter.response(first)["result"] == CANCELLED
        adapter.wait_for_update(is_card)
        cancel_request(adapter, session_id, second)
        assert adapter.response(second)["result"] == CANCELLED
        assert len(host.received("turn/interrupt")) == 2
        end(adapter)


@pytest.mark.parametrize("prompt", ["slow 600", "approve", "stream 3000000 100"])
def test_g7_close_is_answered_when_the_turn_has_settled(tmp_path: Path, prompt: str) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id, other = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        first, second = adapter.begin_prompt(session_id, prompt), adapter.begin_prompt(session_id, "waits")
        adapter.wait_for_update(lambda update: True)
        closing = adapter.response(adapter.begin("session/close", {"sessionId": session_id}))
        assert closing["result"] == {}
        before = adapter.frames[: adapter.frames.index(closing)]
        assert {frame["id"]: frame["result"] for frame in before if frame.get("id") in (first, second)} == {
            first: CANCELLED,
            second: CANCELLED,
        }
        assert adapter.response(adapter.begin_prompt(session_id, "too late"))["error"]["code"] == -32002
        assert not after(adapter, closing)
        assert adapter.prompt(other, "hello") == END_TURN
        end(adapter)


def test_g7_close_does_not_wait_for_ever(tmp_path: Path) -> None:
    host = place(tmp_path / "host", IgnoresInterrupts)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = begin_and_wait(adapter, session_id)
        closing = adapter.begin("session/close", {"sessionId": session_id})
        assert adapter.response(prompt)["result"] == CANCELLED
        assert adapter.response(closing)["result"] == {}
        end(adapter)
