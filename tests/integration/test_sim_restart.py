"""Sessions of the simulated host in a second process: read, resumed, held, and what a killed host leaves
(`msp.md §10, §23`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sim_driver import Refused, items_of, params_of, sim_host


def test_another_process_reads_and_pages_what_the_first_one_wrote(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.turn(session, "shell 50000")
        written = [frame for frame in first.frames if "sourceRange" in frame.get("params", {})]
        assert first.close() == 0
    with sim_host(tmp_path) as second:
        second.handshake()
        read = second.ask("session/read", {"sessionId": session, "excludeItems": False})
        assert read["session"]["status"] == "notLoaded"
        assert read["session"]["turnCount"] == 1
        assert read["lastTurn"]["terminal"] == "completed"
        assert [item["kind"] for item in read["history"]["items"]] == ["userMessage", "toolCall", "agentMessage"]
        assert second.ask("session/read", {"sessionId": session})["history"]["noneReason"] == "excluded"
        events = [event for page in second.pages(session, limit=2) for event in page["events"]]
        assert events == [{"method": frame["method"], "params": frame["params"]} for frame in written]
        with pytest.raises(Refused) as caught:
            second.prompt(session, "hello")
        assert caught.value.code == -32024


@pytest.mark.parametrize(
    ("asked", "mode"), [({}, "inline"), ({"history": "snapshot"}, "snapshot"), ({"history": "anchored"}, "inline")]
)
def test_a_resume_serves_the_history_that_was_asked_for(tmp_path: Path, asked: dict[str, Any], mode: str) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.turn(session, "todo")
        assert first.close() == 0
    with sim_host(tmp_path) as second:
        second.handshake()
        result = second.command("session/resume", {"sessionId": session, **asked})
        assert result["history"]["mode"] == mode
        assert result["session"]["status"] == "idle"
        assert result["session"]["approvalMode"]["source"] == "replay"
        items = result["history"]["items"] or result["history"]["snapshot"]["state"]["items"]
        assert [item["kind"] for item in items] == ["userMessage", "agentMessage"]
        if mode == "snapshot":
            state = result["history"]["snapshot"]["state"]
            assert [row["status"] for row in state["todoList"]["items"]] == ["completed"] * 3
            assert state["turnCount"] == 1
        assert second.turn(session, "and on")[-1]["params"]["terminal"] == "completed"


def test_a_resume_with_a_cursor_replays_exactly_the_rest(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.turn(session, "one")
        kept = [frame for frame in first.frames if "sourceRange" in frame.get("params", {})]
        assert first.close() == 0
    with sim_host(tmp_path) as second:
        second.handshake()
        cursor = kept[2]["params"]["viewCursor"]
        before = len(second.frames)
        result = second.command("session/resume", {"sessionId": session, "cursor": cursor})
        assert result["history"] == {"mode": "none", "items": None, "snapshot": None, "noneReason": "cursorSuffix"}
        replayed = [frame["params"] for frame in second.frames[before:] if "sourceRange" in frame.get("params", {})]
        assert replayed == [frame["params"] for frame in kept[3:]]
        with pytest.raises(Refused) as caught:
            second.command("session/resume", {"sessionId": session, "cursor": "v:other:1"})
        assert (caught.value.code, caught.value.data["reason"]) == (-32011, "missingAnchor")


def test_a_session_of_which_nothing_can_be_read_is_no_session(tmp_path: Path) -> None:
    journal = tmp_path / "sessions" / "broken" / "session.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("nonsense\n[]\n5\n")
    with sim_host(tmp_path) as host:
        host.handshake()
        for method, params in (("session/read", {}), ("view/page", {"limit": 5}), ("session/resume", {})):
            for _ in range(2):
                with pytest.raises(Refused) as caught:
                    host.command(method, {"sessionId": "broken", **params})
                assert caught.value.code == -32020
    assert not (journal.parent / "lease").exists()


def test_a_session_is_held_by_one_host_at_a_time(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first, sim_host(tmp_path) as second:
        first.handshake()
        second.handshake()
        session = first.start()
        first.turn(session, "hello")
        for method in ("session/resume", "turn/start"):
            with pytest.raises(Refused) as caught:
                second.command(method, {"sessionId": session, "input": [{"type": "text", "text": "x"}]})
            assert caught.value.code == -32021
        assert second.ask("session/read", {"sessionId": session})["session"]["status"] == "notLoaded"
        first.command("session/leave", {"sessionId": session})
        assert first.until_method("session/closed")["reason"] == "leave"
        assert first.until_method("session/leaveCompleted")["outcome"] == "released"
        second.command("session/resume", {"sessionId": session})


def test_the_end_of_stdin_cancels_the_running_turn_durably(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        turn = first.prompt(session, "slow 60")
        first.until_method("item/delta")
        assert first.close() == 0
        ended = params_of(first.frames, "turn/completed")[0]
        assert (ended["turnId"], ended["terminal"]) == (turn, "cancelled")
        assert params_of(first.frames, "session/closed")[0]["reason"] == "hostShutdown"
    with sim_host(tmp_path) as second:
        second.handshake()
        read = second.ask("session/read", {"sessionId": session, "excludeItems": False})
        assert read["lastTurn"]["terminal"] == "cancelled"
        assert read["history"]["items"][-1]["status"] == "cancelled"


def test_a_turn_of_a_killed_host_is_settled_when_it_is_loaded_again(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        turn = first.prompt(session, "background 60")
        first.until_method("turn/completed")
        cut = first.prompt(session, "slow 60")
        queued = first.prompt(session, "later")
        last = params_of(first.frames, "item/delta")[-1]["viewCursor"]
        first.kill()
    with sim_host(tmp_path) as second:
        second.handshake()
        result = second.command("session/resume", {"sessionId": session})
        events = [event for page in second.pages(session) for event in page["events"]]
        ends = {e["params"]["turnId"]: e["params"] for e in events if e["method"] == "turn/completed"}
        assert ends[turn]["terminal"] == "completed"
        for lost in (cut, queued):
            assert (ends[lost]["terminal"], ends[lost]["reason"]) == ("failed", "crash_inferred")
            assert "error" not in ends[lost]
        assert all(item["status"] != "inProgress" for item in result["history"]["items"])
        assert result["viewCursor"] != last
        assert second.turn(session, "hello")[-1]["params"]["terminal"] == "completed"
        cursors = [e["params"]["viewCursor"] for page in second.pages(session) for e in page["events"]]
        assert len(set(cursors)) == len(cursors)


@pytest.mark.parametrize("prompt", ["approve", "approve3"])
def test_an_approval_of_a_killed_host_is_opened_again_under_a_new_id(tmp_path: Path, prompt: str) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        turn = first.prompt(session, prompt)
        lost = first.until_method("approval/request")
        first.kill()
    with sim_host(tmp_path) as second:
        second.handshake()
        result = second.command("session/resume", {"sessionId": session})
        (pointer,) = result["pendingRequests"]
        asked = second.until_method("approval/request")
        assert asked["approvalId"] == pointer["approvalId"] != lost["approvalId"]
        assert asked["itemId"] == lost["itemId"]
        while True:
            params = {"sessionId": session, "approvalId": asked["approvalId"], "choiceId": "allow_once"}
            params["requirementId"] = asked["currentRequirementId"]
            if second.command("approval/decide", params)["terminal"]:
                break
            asked = second.until_method("approval/request")
        ended = second.until_method("turn/completed")
        assert (ended["turnId"], ended["terminal"]) == (turn, "completed")
        (tool,) = items_of(second.frames, "toolCall")
        assert tool["status"] == "completed"


def test_a_question_of_a_killed_host_is_asked_again(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        first.prompt(session, "ask")
        lost = first.until_method("userInput/request")
        first.kill()
    with sim_host(tmp_path) as second:
        second.handshake()
        second.command("session/resume", {"sessionId": session})
        asked = second.until_method("userInput/request")
        assert asked == {key: lost[key] for key in lost if key != "sourceRange"}
        second.command("userInput/cancel", {"sessionId": session, "userInputId": asked["userInputId"]})
        assert second.until_method("turn/completed")["terminal"] == "completed"
