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
