"""Stored sessions: gone on with by `session/resume`, ended by `session/close`, and open elsewhere."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.adapter_process import running_adapter
from tests.output_clients import KEY, OPT_IN, error_of, reading, stored
from tests.processes import assert_gone, open_descriptors, wait_until
from tests.screens import LEAVES, PROMPTS, VERSIONS, a_session, allow, assert_free, before_answer

each_version = pytest.mark.parametrize("version", VERSIONS)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])

# -- resume


@pytest.mark.acp(54)
@each_version
def test_l1_resuming_shows_nothing_and_goes_on(tmp_path: Path, version: str) -> None:
    session_id, _ = a_session(tmp_path, *PROMPTS, version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        assert before_answer(adapter, "session/resume", stored(session_id, tmp_path)) == []
        assert adapter.prompt(session_id, "once more")["stopReason"] == "end_turn"
        assert adapter.text(session_id) == "You said: once more — noted ✓"
        assert [row["sessionUpdate"] for row in adapter.updates() if row["sessionUpdate"].startswith("tool")] == []
        assert adapter.finish() == 0


def test_after_resuming_each_card_with_stored_output_is_told_of_once(tmp_path: Path) -> None:
    session_id, live = a_session(tmp_path, "shell 1000", "edit", "tool", "shell 2000 available missing", "hello")
    cards = [update["toolCallId"] for update in live if update["sessionUpdate"] == "tool_call"]
    with reading(tmp_path) as client:
        adapter = client.adapter
        assert before_answer(adapter, "session/resume", stored(session_id, tmp_path)) == []
        for _ in range(3):
            adapter.wait_for_update(lambda update: update["sessionUpdate"] == "tool_call_update")
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        restored = [update for update in adapter.updates() if update["sessionUpdate"].startswith("tool_call")]
        assert [update["toolCallId"] for update in restored] == [cards[0], cards[1], cards[3]]
        assert [set(update["_meta"]) for update in restored] == [{KEY}, {"muse/patch"}, {KEY}]
        assert [set(update) for update in restored] == [{"sessionUpdate", "toolCallId", "_meta"}] * 3
        assert restored[2]["_meta"][KEY]["availability"] == "missing", "as the newest revision has it"
        assert client.read_all(restored[0]["_meta"][KEY], 300)
        assert adapter.finish() == 0


def test_what_lies_too_far_back_is_not_restored_and_that_is_said(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "shell 1000", "history 2100", "shell 2000")
    with reading(tmp_path) as client:
        adapter = client.adapter
        assert before_answer(adapter, "session/resume", stored(session_id, tmp_path)) == []
        told_of = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "session_info_update")
        assert told_of["_meta"] == {KEY: {"historyIncomplete": True, "eventsScanned": 2000}}
        restored = [update["_meta"][KEY]["byteLen"] for update in adapter.updates() if "toolCallId" in update]
        assert restored == [2000]
        assert adapter.finish() == 0
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.call("session/resume", stored(session_id, tmp_path))
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert not any(KEY in update.get("_meta", {}) for update in adapter.updates()), "nothing of it without asking"
        assert adapter.finish() == 0


def test_nothing_is_restored_of_a_session_that_was_closed_meanwhile(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "shell 1000")
    with reading(tmp_path, faults=[{"at": "view/page", "do": "slow", "seconds": 1, "flag": None}]) as client:
        client.adapter.call("session/resume", stored(session_id, tmp_path))
        wait_until(lambda: "view/page" in {call["method"] for call in client.witnessed(read_host=False)})
        client.adapter.call("session/close", {"sessionId": session_id})
        client.adapter.new_session(tmp_path)
        assert client.adapter.updates(session_id) == []
        assert client.adapter.finish() == 0


# -- close


@pytest.mark.acp(56, 58)
@each_version
def test_closing_stops_the_prompt_answers_it_and_then_itself(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        turn = adapter.begin_prompt(session_id, "slow 30")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        closing = adapter.begin("session/close", {"sessionId": session_id})
        assert adapter.response(closing)["result"] == {}
        answers = [frame for frame in adapter.frames if frame.get("id") in (turn, closing) and "method" not in frame]
        assert [frame["id"] for frame in answers] == [turn, closing]
        assert answers[0]["result"] == {"stopReason": "cancelled"}
        gone = (-32002, {"reason": "sessionClosed", "sessionId": session_id})
        prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}]}
        assert error_of(adapter.refused("session/prompt", prompt)) == gone
        assert error_of(adapter.refused("session/close", {"sessionId": session_id})) == gone
        unknown = (-32002, {"reason": "sessionUnknown", "sessionId": "ses-gone"})
        assert error_of(adapter.refused("session/close", {"sessionId": "ses-gone"})) == unknown
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.finish() == 0


@each_way
def test_a_closed_session_can_be_opened_again_here_and_elsewhere(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        assert adapter.call("session/close", {"sessionId": session_id}) == {}
        assert_free(tmp_path, session_id)
        adapter.call(method, stored(session_id, tmp_path))
        assert adapter.prompt(session_id, "again")["stopReason"] == "end_turn"
        assert adapter.text(session_id).endswith("You said: again — noted ✓")
        assert adapter.finish() == 0


@each_way
def test_a_session_is_not_opened_before_it_is_closed(tmp_path: Path, method: str) -> None:
    with reading(tmp_path, faults=[{"at": "view/unsubscribe", "do": "slow", "seconds": 1, "flag": None}]) as client:
        adapter, session_id = client.adapter, client.start()
        closing = adapter.begin("session/close", {"sessionId": session_id})
        busy = (-32600, {"reason": "sessionBusy", "retryable": True, "sessionId": session_id})
        assert error_of(adapter.refused(method, stored(session_id, tmp_path))) == busy
        assert adapter.response(closing)["result"] == {}
        adapter.call(method, stored(session_id, tmp_path))
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.text(session_id) == "You said: hello — noted ✓"
        assert adapter.finish() == 0


@pytest.mark.acp(56)
def test_closing_ends_what_runs_in_the_background(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "background 60")
        adapter.call("session/close", {"sessionId": session_id})
        assert_free(tmp_path, session_id)
        assert adapter.finish() == 0


def test_a_closed_session_shows_nothing_more(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize(**OPT_IN)
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "background 0.5")
        adapter.call("session/close", {"sessionId": session_id})
        shown = len(adapter.updates(session_id))
        other = adapter.new_session(tmp_path)
        adapter.prompt(other, "quiet 0.8")
        assert len(adapter.updates(session_id)) == shown
        assert adapter.finish() == 0


@pytest.mark.acp(56)
def test_sessions_that_are_opened_and_closed_leave_nothing_behind(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.call("session/close", {"sessionId": adapter.new_session(tmp_path)})
        wait_until(lambda: len(adapter.children()) == 1)
        children, descriptors = adapter.children(), open_descriptors(adapter.process.pid)
        for _ in range(30):
            adapter.call("session/close", {"sessionId": adapter.new_session(tmp_path)})
        assert adapter.children() == children
        assert open_descriptors(adapter.process.pid) <= descriptors + 1
        assert adapter.finish() == 0
        assert_gone(children)


# -- others


@each_way
def test_what_the_user_was_being_asked_is_asked_again(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        turn = adapter.begin_prompt(session_id, "approve")
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        assert adapter.response(turn)["error"]["data"]["reason"] == "hostDied"
        assert adapter.finish() == 0
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        allow(adapter)
        updates = before_answer(adapter, method, stored(session_id, tmp_path))
        assert method == "session/load" or updates == [], "nothing is shown before a session goes on"
        ended = adapter.wait_for_update(lambda update: update.get("status") in ("completed", "failed"))
        assert ended["status"] == "completed"
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@each_way
def test_a_session_that_another_process_has_open_is_busy(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path) as first, running_adapter(tmp_path) as second:
        first.initialize()
        second.initialize()
        session_id = first.new_session(tmp_path)
        first.prompt(session_id, "hello")
        code, data = error_of(second.refused(method, stored(session_id, tmp_path)))
        assert (code, data["reason"], data["retryable"]) == (-32600, "sessionInUse", True)
        assert data["sessionId"] == session_id
        assert second.updates() == []
        assert first.finish() == 0
        second.call(method, stored(session_id, tmp_path))
        assert second.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert second.finish() == 0
