"""Sessions on the simulated host: kept, resumed, read, paged, forked, listed (`msp.md §10, §11, §23`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sim_driver import Refused, SimHost, items_of, methods, params_of, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def test_a_start_announces_the_session_before_it_answers(host: SimHost) -> None:
    host.start()
    frames = [frame for frame in host.frames if frame.get("method") != "session/listChanged"]
    assert frames[-2]["method"] == "session/started"
    assert frames[-1]["result"]["session"] == frames[-2]["params"]["session"]


def test_a_session_id_of_the_clients_choice_is_taken_once(host: SimHost) -> None:
    chosen = "0190aaaa-0000-7000-8000-000000000001"
    assert host.start(sessionId=chosen) == chosen
    with pytest.raises(Refused) as caught:
        host.start(sessionId=chosen)
    assert (caught.value.code, caught.value.data["reason"]) == (-32030, "session_id_conflict")
    with pytest.raises(Refused) as caught:
        host.start(sessionId="../../etc")
    assert caught.value.code == -32602


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


def test_paging_backward_gives_the_same_events(host: SimHost) -> None:
    session = host.start()
    host.turn(session, "todo")
    forward = [event for page in host.pages(session, limit=3) for event in page["events"]]
    backward: list[Any] = []
    cursor: str | None = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = host.ask("view/page", {"sessionId": session, "limit": 4, "direction": "backward", **more})
        backward = page["events"] + backward
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert backward == forward
    assert len(forward) > 8


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"limit": 0}, -32602),
        ({"limit": 1001}, -32602),
        ({"limit": True}, -32602),
        ({"limit": 5, "direction": "sideways"}, -32602),
        ({"limit": 5, "anchor": "latestCompaction"}, -32042),
        ({"limit": 5, "anchor": "somewhere"}, -32602),
        ({"limit": 5, "cursor": "v:elsewhere:3"}, -32011),
        ({"limit": 5, "cursor": "v:{session}:99999999999"}, -32011),
        ({"limit": 5, "cursor": "v:{session}:-1"}, -32011),
        ({}, -32602),
    ],
)
def test_a_page_that_cannot_be_served_is_refused(host: SimHost, params: dict[str, Any], code: int) -> None:
    session = host.start()
    host.turn(session, "hello")
    if "cursor" in params:
        params = {**params, "cursor": params["cursor"].replace("{session}", session)}
    with pytest.raises(Refused) as caught:
        host.ask("view/page", {"sessionId": session, **params})
    assert caught.value.code == code


def test_a_compaction_is_an_anchor(host: SimHost) -> None:
    session = host.start()
    host.turn(session, "first")
    host.turn(session, "compaction")
    host.turn(session, "third")
    page = host.ask("view/page", {"sessionId": session, "limit": 100, "anchor": "latestCompaction"})
    boundary = page["resolvedAnchor"]["boundaryCursor"]
    assert page["events"][0]["params"]["viewCursor"] == boundary
    resumed = host.command("session/resume", {"sessionId": session})
    assert resumed["history"]["mode"] == "anchoredSnapshot"
    snapshot = resumed["history"]["snapshot"]
    assert snapshot["anchor"]["boundaryCursor"] == boundary
    assert "first" not in json.dumps(snapshot["state"]["items"])
    assert "third" in json.dumps(snapshot["state"]["items"])
    through = snapshot["anchor"]["summarizedThrough"]
    suffix = host.command("session/resume", {"sessionId": session, "cursor": through})
    assert suffix["history"]["noneReason"] == "cursorSuffix"


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


def test_a_session_of_which_nothing_can_be_read_is_no_session(host: SimHost, tmp_path: Path) -> None:
    journal = tmp_path / "sessions" / "broken" / "session.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("nonsense\n[]\n5\n")
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


def test_a_subscription_can_be_left_and_taken_up_where_it_was(host: SimHost) -> None:
    session = host.start()
    host.turn(session, "one")
    cursor = host.frames[-1]["params"].get("viewCursor")
    host.settled()
    host.ask("view/unsubscribe", {"sessionId": session})
    host.prompt(session, "two")
    assert not params_of(host.settled(), "turn/completed")
    head = host.ask("view/subscribe", {"sessionId": session, "after": cursor})["viewCursor"]
    ended = host.until_method("turn/completed")
    assert ended["viewCursor"] == head
    assert "two" in json.dumps(host.frames[-8:], ensure_ascii=False)


def test_a_fork_has_the_past_up_to_a_completed_turn(host: SimHost) -> None:
    session = host.start()
    first = host.prompt(session, "shell 40000")
    host.until_method("turn/completed")
    host.turn(session, "second")
    fork = host.command("session/fork", {"sessionId": session, "cutPoint": {"lastTurnId": first}})
    forked = fork["session"]["sessionId"]
    assert fork["session"]["forkedFrom"]["sessionId"] == session
    assert fork["session"]["forkedFrom"]["cutExplicit"] is True
    assert "second" not in json.dumps(fork["history"])
    tool = next(item for item in fork["history"]["items"] if item["kind"] == "toolCall")
    read = {"sessionId": forked, "itemId": tool["itemId"], "outputRef": tool["outputRef"]["id"]}
    assert host.ask("item/readOutput", read)["byteLen"] == 40000
    assert host.turn(forked, "on its own")[-1]["params"]["terminal"] == "completed"
    whole = host.command("session/fork", {"sessionId": session})
    assert "second" in json.dumps(whole["history"])
    with pytest.raises(Refused) as caught:
        host.command("session/fork", {"sessionId": session, "cutPoint": {"lastTurnId": "never"}})
    assert (caught.value.code, caught.value.data["lastTurnId"]) == (-32023, "never")


def test_lists_are_paged_newest_first_and_filtered(host: SimHost, tmp_path: Path) -> None:
    sessions = [host.start(workspaceRoot=str(tmp_path / root)) for root in ("a", "b", "a")]
    for index, session in enumerate(sessions):
        host.turn(session, f"prompt {index}")
    host.command("session/rename", {"sessionId": sessions[1], "name": "Grüße an alle"})
    first = host.ask("session/list", {"limit": 2})
    rest = host.ask("session/list", {"limit": 2, "cursor": first["nextCursor"]})
    assert rest["nextCursor"] is None
    listed = [row["sessionId"] for row in first["sessions"] + rest["sessions"]]
    assert listed == sessions[::-1]
    of_a = host.ask("session/list", {"workspaceRoot": str(tmp_path / "a")})["sessions"]
    assert {row["sessionId"] for row in of_a} == {sessions[0], sessions[2]}
    chosen = {"text": {"fields": ["name"], "allOf": ["grü"]}}
    named = host.ask("session/list", {"filter": chosen})
    assert named["appliedFilter"] == chosen
    assert [row["sessionId"] for row in named["sessions"]] == [sessions[1]]
    assert named["sessions"][0]["nameOrigin"] == "custom"


def test_an_older_host_ignores_a_filter_silently(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.3.0") as host:
        host.handshake()
        session = host.start()
        result = host.ask("session/list", {"filter": {"sessionId": {"anyOf": ["nobody"]}}})
        assert [row["sessionId"] for row in result["sessions"]] == [session]
        assert "appliedFilter" not in result


def test_a_host_without_session_log_keeps_nothing(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.4.13", "--no-session-log") as host:
        assert host.handshake()["sessionDurability"] == "ephemeral"
        session = host.start()
        host.turn(session, "hello")
        for method in ("session/read", "view/page", "session/fork", "session/resume"):
            with pytest.raises(Refused) as caught:
                host.command(method, {"sessionId": session, "limit": 5})
            assert caught.value.code == -32601
        assert host.close() == 0
    assert not (tmp_path / "sessions").exists()


def test_small_limits_show_what_a_big_session_does(tmp_path: Path) -> None:
    settings = {"frameLimitBytes": 90_000, "retainEvents": 6, "pageEvents": 2}
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        start = host.frames[-1]["result"]["viewCursor"]
        for _ in range(3):
            host.turn(session, "shell 20000")
        page = host.ask("view/page", {"sessionId": session, "limit": 1000})
        assert len(page["events"]) == 2
        with pytest.raises(Refused) as caught:
            host.ask("view/page", {"sessionId": session, "limit": 5, "cursor": start})
        assert caught.value.code == -32040
        earliest = caught.value.data["earliestCursor"]
        assert host.ask("view/page", {"sessionId": session, "limit": 5, "cursor": earliest})["events"]
        result = host.command("session/resume", {"sessionId": session})
        assert result["history"]["noneReason"] == "historyBudget"


def test_an_event_larger_than_a_frame_leaves_a_gap_and_cannot_be_paged(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"frameLimitBytes": 70_000}))
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        frames = host.turn(session, "stream 3000 32")
        assert params_of(frames, "view/gap")
        assert not items_of(frames, "agentMessage")
        with pytest.raises(Refused) as caught:
            list(host.pages(session, limit=1))
        assert caught.value.kind == "pageEventTooLarge"
        beyond = {"sessionId": session, "limit": 5, "cursor": caught.value.data["viewCursor"]}
        assert "turn/completed" in [event["method"] for event in host.ask("view/page", beyond)["events"]]


def test_goals_wake_an_idle_session_and_are_told(host: SimHost) -> None:
    session = host.start()
    woken = host.command("goal/set", {"sessionId": session, "objective": "Green tests"})["turnId"]
    assert host.until_method("session/goalChanged")["goal"]["status"] == "active"
    assert host.until_method("turn/started")["turnId"] == woken
    host.until_method("turn/completed")
    assert not items_of(host.frames, "userMessage")
    host.command("goal/pause", {"sessionId": session})
    assert host.until_method("session/goalChanged")["goal"]["status"] == "paused"
    with pytest.raises(Refused) as caught:
        host.command("goal/pause", {"sessionId": session})
    assert caught.value.data["reason"] == "invalid_goal_state"
    host.command("goal/clear", {"sessionId": session})
    assert host.until_method("session/goalChanged")["goal"] is None
    with pytest.raises(Refused) as caught:
        host.command("goal/edit", {"sessionId": session, "objective": "x"})
    assert caught.value.data["reason"] == "missing_goal"


def test_model_effort_and_name_are_set_told_and_kept(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        host.command("session/setModel", {"sessionId": session, "model": {"modelId": "muse-small-1"}})
        assert host.until_method("session/modelChanged")["source"] == "user"
        host.command("session/setReasoningEffort", {"sessionId": session, "reasoningEffort": "high"})
        host.until_method("session/reasoningEffortChanged", reasoningEffort="high")
        host.command("session/rename", {"sessionId": session, "name": "Umlaute"})
        host.until_method("session/nameChanged", name="Umlaute")
        models = host.ask("model/list", {"sessionId": session})["models"]
        assert [row["modelId"] for row in models if row["isActive"]] == ["muse-small-1"]
        usage = params_of(host.turn(session, "hello"), "session/tokenUsage")[0]
        assert usage["modelId"] == "muse-small-1"
        assert host.close() == 0
    with sim_host(tmp_path) as again:
        again.handshake()
        read = again.ask("session/read", {"sessionId": session})
        assert (read["session"]["modelId"], read["session"]["name"]) == ("muse-small-1", "Umlaute")
        snapshot = again.command("session/resume", {"sessionId": session, "history": "snapshot"})["history"]["snapshot"]
        assert snapshot["state"]["reasoningEffort"]["reasoningEffort"] == "high"


def test_compaction_by_command(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        noop = host.command("session/compact", {"sessionId": session})
        assert (noop["status"], noop["reason"]) == ("noop", "no_compactable_history")
        host.turn(session, "hello")
        assert host.command("session/compact", {"sessionId": session})["status"] == "accepted"
        assert host.until_method("item/completed")["item"]["outcome"] == "compacted"
    with sim_host(tmp_path, "1.2.1") as host:
        host.handshake()
        with pytest.raises(Refused) as caught:
            host.command("session/compact", {"sessionId": host.start()})
        assert caught.value.data["reason"] == "compaction_unavailable"


def test_status_and_row_changes_are_told_to_who_asked_for_them(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        assert host.handshake(requestedCapabilities=["sessionListStream", "flying"])["grantedCapabilities"] == [
            "sessionListStream"
        ]
        session = host.start()
        frames = host.turn(session, "hello") + host.settled()
        assert [params["status"] for params in params_of(frames, "session/statusChanged")] == ["running", "idle"]
        assert params_of(frames, "session/listChanged")[-1]["session"]["turnCount"] == 1
    with sim_host(tmp_path) as host:
        host.handshake()
        host.turn(host.start(), "hello")
        assert "session/listChanged" not in methods(host.frames)
