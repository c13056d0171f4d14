"""Turns on the simulated host, over pipes, each frame checked against the official types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.sim_driver import Refused, SimHost, items_of, methods, params_of, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "prompt",
    [
        "hello there",
        "stream 50 20",
        "think",
        "shell 100",
        "shell 100000",
        "shell binary 5000",
        "edit",
        "retry",
        "todo",
        "history 30",
        "tool failed",
        "tool timedOut",
        "progress",
        "work 0",
        "picture",
        "branch main",
        "branch",
        "quiet 0",
        "subagent",
        "compaction",
        "gap 2",
        "slow 0",
        "seen",
        "mcp",
        "title Name",
        "usage 5",
    ],
)
def test_a_turn_of_every_script_completes_on_every_version(tmp_path: Path, profile: str, prompt: str) -> None:
    with sim_host(tmp_path, profile) as host:
        host.handshake()
        frames = host.turn(host.start(), prompt)
        assert frames[-1]["params"]["terminal"] == "completed"
        known = PROFILES[profile].notifications
        assert set(methods(host.frames)) <= known
        newer = PROFILES[profile].withheld.get("item", frozenset())
        assert not any(newer & set(params["item"]) for params in params_of(frames, "item/completed"))
        assert host.close() == 0


def test_the_ack_comes_before_the_events_and_the_turn_has_its_usual_order(host: SimHost) -> None:
    session = host.start()
    frames = host.turn(session, "hello\nsecond line")
    assert "result" in frames[0]
    shown = [method for method in methods(frames) if not method.startswith("session/")]
    streamed = ["item/started", *(["item/delta"] * 3), "item/completed"]
    assert shown == ["turn/started", "item/completed", *streamed, "turn/completed"]
    said = items_of(frames, "userMessage")[0]
    assert said["text"] == "hello\nsecond line"
    assert said["commandId"] == frames[0]["result"]["commandId"]
    answer = items_of(frames, "agentMessage")[0]
    assert answer["text"] == "You said: hello — noted ✓"
    assert answer["text"] == "".join(params["delta"] for params in params_of(frames, "item/delta"))
    assert all("sourceRange" not in params for params in params_of(frames, "item/delta"))


def test_every_event_of_a_session_has_its_own_cursor_in_rising_order(host: SimHost) -> None:
    frames = host.turn(host.start(), "stream 3000 8")
    numbers = [int(frame["params"]["viewCursor"].rpartition(":")[2]) for frame in frames if "emittedAtMs" in frame]
    assert len(set(numbers)) > 3000
    assert numbers == sorted(numbers)


def test_a_stream_adds_up_to_its_completed_texts(host: SimHost) -> None:
    frames = host.turn(host.start(), "stream 40000 64")
    texts: dict[str, list[str]] = {}
    for params in params_of(frames, "item/delta"):
        texts.setdefault(params["itemId"], []).append(params["delta"])
    answers = items_of(frames, "agentMessage")
    assert len(answers) == 3, "an answer of 2.5 MB is cut into messages that fit a frame"
    assert sum(len(found) for found in texts.values()) == 40000
    for answer in answers:
        assert answer["text"] == "".join(texts[answer["itemId"]])
    assert {len(params["delta"].encode()) for params in params_of(frames, "item/delta")} == {64}


@pytest.mark.parametrize(
    "kind",
    ["stepLimit", "configError", "projectionError", "environmentError", "modelError", "authRequired", "mcpLinkError"],
)
def test_a_failing_turn_tells_its_kind_and_reports_no_usage(host: SimHost, kind: str) -> None:
    frames = host.turn(host.start(), f"fail {kind}")
    ended = frames[-1]["params"]
    assert (ended["terminal"], ended["error"]["kind"]) == ("failed", kind)
    assert not params_of(frames, "session/tokenUsage")
    assert len(params_of(frames, "item/delta")) == 2


def test_an_interrupt_ends_a_waiting_turn_with_what_it_had_said(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "slow 60")
    host.until_method("item/delta")
    ack = host.command("turn/interrupt", {"sessionId": session, "turnId": turn})
    assert ack["turnId"] == turn
    answer = host.until_method("item/completed")["item"]
    assert (answer["status"], answer["text"]) == ("cancelled", "This takes a while… ")
    ended = host.until_method("turn/completed")
    assert (ended["terminal"], ended["reason"]) == ("cancelled", "interrupted by the client")


def test_an_interrupt_cuts_a_stream_that_never_waits(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "stream 3000000 16")
    host.until_method("item/delta")
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn})
    assert host.until_method("turn/completed")["terminal"] == "cancelled"
    sent = params_of(host.frames, "item/delta")
    answer = items_of(host.frames, "agentMessage")[-1]
    assert answer["text"] == "".join(params["delta"] for params in sent if params["itemId"] == answer["itemId"])


def test_a_retract_takes_the_prompt_back_only_before_the_answer_began(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "slow 60")
    host.until_method("item/delta")
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn, "retract": True})
    assert host.until_method("turn/retracted")["outcome"] == "declined"
    assert host.until_method("turn/completed")["terminal"] == "cancelled"


def test_a_retract_of_a_turn_that_has_said_nothing_is_accepted(host: SimHost) -> None:
    session = host.start()
    turn = host.prompt(session, "quiet 60")
    host.command("turn/interrupt", {"sessionId": session, "turnId": turn, "retract": True})
    assert host.until_method("turn/retracted")["outcome"] == "accepted"
    said = host.until_method("item/completed")["item"]
    assert (said["kind"], said["retracted"], said["revision"]) == ("userMessage", True, 2)
    assert host.until_method("turn/completed")["terminal"] == "cancelled"


def test_prompts_queue_and_run_in_order(host: SimHost) -> None:
    session = host.start()
    first = host.prompt(session, "slow 0.2")
    asked = {"sessionId": session, "input": [{"type": "text", "text": "second"}]}
    queued = host.command("turn/start", asked)
    assert (queued["disposition"], queued["startedNewTurn"]) == ("queued", False)
    assert host.until_method("turn/completed")["turnId"] == first
    assert host.until_method("turn/started")["turnId"] == queued["turnId"]
    assert host.until_method("turn/completed")["turnId"] == queued["turnId"]


def test_a_queued_prompt_can_be_taken_back_and_then_never_runs(host: SimHost) -> None:
    session = host.start()
    running = host.prompt(session, "slow 0.2")
    queued = host.prompt(session, "never")
    host.command("turn/unqueue", {"sessionId": session, "turnId": queued})
    assert host.until_method("turn/unqueued")["turnId"] == queued
    assert host.until_method("turn/completed")["turnId"] == running
    assert not params_of(host.settled(), "turn/started")


def test_a_queued_turn_that_cannot_be_launched_fails_without_having_started(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "slow 0.2")
    params = {"sessionId": session, "input": [{"type": "text", "text": "fail launchError"}]}
    queued = host.command("turn/start", params, "queued")["turnId"]
    last = host.prompt(session, "after it")
    ended = host.until_method("turn/completed", turnId=queued)
    assert (ended["terminal"], ended["error"]["kind"]) == ("failed", "launchError")
    host.until_method("turn/completed", turnId=last)
    assert queued not in [params["turnId"] for params in params_of(host.frames, "turn/started")]
    with pytest.raises(Refused) as caught:
        host.command("turn/start", params, "queued")
    assert caught.value.data["reason"] == "deferred_start_failed"


def test_a_steered_prompt_joins_the_running_turn(host: SimHost) -> None:
    session = host.start()
    running = host.prompt(session, "slow 0.2")
    asked = {"sessionId": session, "input": [{"type": "text", "text": "and this"}], "ifBusy": "steer"}
    ack = host.command("turn/start", asked)
    assert (ack["disposition"], ack["turnId"]) == ("steered", running)
    said = host.until_method("item/completed")["item"]
    assert (said["text"], said["steered"], said["turnId"]) == ("and this", True, running)
    steer = {"sessionId": session, "expectedTurnId": running, "input": [{"type": "text", "text": "more"}]}
    assert host.command("turn/steer", steer)["turnId"] == running
    host.until_method("turn/completed", turnId=running)


def test_a_replacing_prompt_stops_the_running_turn(host: SimHost) -> None:
    session = host.start()
    running = host.prompt(session, "slow 60")
    newer = host.prompt(session, "quick", ifBusy="replace")
    ended = host.until_method("turn/completed")
    assert (ended["turnId"], ended["terminal"]) == (running, "cancelled")
    assert host.until_method("turn/completed")["turnId"] == newer


def test_a_background_tool_ends_after_its_turn(host: SimHost) -> None:
    session = host.start()
    host.turn(session, "background 0.3")
    tasks = host.ask("task/list", {"sessionId": session})["tasks"]
    assert [task["executionMode"] for task in tasks] == ["background"]
    tool = host.until_method("item/completed")["item"]
    assert (tool["itemId"], tool["status"], tool["background"]) == (tasks[0]["taskId"], "completed", True)
    assert tool["visibleOutput"] == "watching… built ✓\n"
    assert host.ask("task/list", {"sessionId": session})["tasks"] == []


def test_a_background_tool_can_be_stopped(host: SimHost) -> None:
    session = host.start()
    host.turn(session, "background 60")
    task = host.ask("task/list", {"sessionId": session})["tasks"][0]["taskId"]
    host.command("task/stop", {"sessionId": session, "taskId": task})
    assert host.until_method("item/completed")["item"]["status"] == "cancelled"


def test_a_gap_is_told_after_the_next_event_and_can_be_filled(host: SimHost) -> None:
    session = host.start()
    frames = host.turn(session, "gap 3")
    gap = params_of(frames, "view/gap")[0]
    at = next(index for index, frame in enumerate(frames) if frame.get("method") == "view/gap")
    assert frames[at - 1]["params"]["viewCursor"] == gap["next"]
    page = host.ask("view/page", {"sessionId": session, "cursor": gap["after"], "limit": 200})
    lost = [event["params"]["item"]["text"] for event in page["events"][:3]]
    assert lost == [f"Lost on the way: {index} ✗" for index in range(3)]
    assert page["events"][3]["params"]["viewCursor"] == gap["next"]


def test_things_nobody_knows_do_not_break_a_turn(host: SimHost) -> None:
    host.tolerant = True
    frames = host.turn(host.start(), "unknown")
    assert "session/auraChanged" in methods(frames)
    assert items_of(frames, "hologramPanel")[0]["fallbackText"] == "A hologram ✨"
    assert items_of(frames, "toolCall")[0]["status"] == "evaporated"


def test_a_workflow_goes_on_beside_the_turn_and_can_be_paused_and_cancelled(host: SimHost) -> None:
    session = host.start()
    frames = host.turn(session, "workflow 60")
    run = items_of(frames, "workflow", "item/started")[0]["workflowRunId"]
    host.command("workflow/pause", {"sessionId": session, "workflowRunId": run})
    assert host.until_method("item/updated")["item"]["paused"] is True
    host.command("workflow/resume", {"sessionId": session, "workflowRunId": run})
    assert "paused" not in host.until_method("item/updated")["item"]
    host.command("workflow/cancel", {"sessionId": session, "workflowRunId": run})
    assert host.until_method("item/completed")["item"]["status"] == "cancelled"


def test_the_flags_of_a_read_only_host_deny_its_tools(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.2.1", "--disable-write", "--disable-shell") as host:
        host.handshake()
        session = host.start()
        for prompt in ("edit", "shell 10"):
            tool = items_of(host.turn(session, prompt), "toolCall")[0]
            assert (tool["status"], tool["failureKind"]) == ("rejected", "policy_denied")


def test_an_opted_out_notification_stays_away_and_a_protected_one_does_not(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.handshake(optOutNotificationMethods=["item/delta", "view/gap"])
        frames = host.turn(host.start(), "gap 1")
        assert not params_of(frames, "item/delta")
        assert params_of(frames, "view/gap")
        assert not params_of(host.turn(host.start(), "stream 5"), "item/delta")
