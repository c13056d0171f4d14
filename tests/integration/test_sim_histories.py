"""What history a simulated host gives, and what it stores at all (`msp.md §10.3`, `peers.md §7`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sim_driver import Refused, SimHost, sim_host

CHOSEN = "0190aaaa-0000-7000-8000-000000000002"


def settings(home: Path, **members: object) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text(json.dumps(members))


def shaken(host: SimHost) -> SimHost:
    host.handshake()
    return host


@pytest.mark.parametrize(
    ("forced", "served"),
    [("inline", "inline"), ("snapshot", "snapshot"), ("anchored", "anchoredSnapshot"), ("none", "none")],
)
def test_what_auto_gives_can_be_forced(tmp_path: Path, forced: str, served: str) -> None:
    settings(tmp_path, historyMode=forced)
    with sim_host(tmp_path) as host:
        session = shaken(host).start()
        host.turn(session, "hello")
        host.turn(session, "compaction")
        history = host.command("session/resume", {"sessionId": session})["history"]
        assert history["mode"] == served
        assert history.get("noneReason") == ("historyBudget" if forced == "none" else None)
        asked_for = host.command("session/resume", {"sessionId": session, "history": "inline"})["history"]
        assert asked_for["mode"] == "inline", "what is asked for by name is given"


def test_without_a_compaction_an_anchored_history_is_inline(tmp_path: Path) -> None:
    settings(tmp_path, historyMode="anchored")
    with sim_host(tmp_path) as host:
        session = shaken(host).start()
        host.turn(session, "hello")
        assert host.command("session/resume", {"sessionId": session})["history"]["mode"] == "inline"


def test_a_snapshot_has_the_whole_state(tmp_path: Path) -> None:
    settings(tmp_path, historyMode="snapshot")
    with sim_host(tmp_path) as host:
        session = shaken(host).start()
        host.turn(session, "todo")
        host.turn(session, "branch main")
        host.turn(session, "usage 500 1000")
        host.command("session/setModel", {"sessionId": session, "model": {"modelId": "muse-small-1"}})
        host.command("session/setReasoningEffort", {"sessionId": session, "reasoningEffort": "high"})
        host.command("session/setApprovalMode", {"sessionId": session, "mode": "onRequest"})
        host.command("session/rename", {"sessionId": session, "name": "Grüße"})
        running = host.command("goal/set", {"sessionId": session, "objective": "slow 30"})["turnId"]
        waiting = host.prompt(session, "next")
        state = host.command("session/resume", {"sessionId": session})["history"]["snapshot"]["state"]
        assert [row["status"] for row in state["todoList"]["items"]] == ["completed"] * 3
        assert state["branch"]["branch"] == "main"
        assert (state["contextUsage"]["usedTokens"], state["contextUsage"]["windowTokens"]) == (500, 1000)
        assert state["tokenUsage"]["totalTokens"] > 0
        assert state["tokenUsage"]["cost"]["usd"] > 0
        assert state["reasoningEffort"]["reasoningEffort"] == "high"
        assert state["approvalMode"]["mode"] == "onRequest"
        assert state["effectiveModel"]["modelId"] == "muse-small-1"
        assert state["name"] == "Grüße"
        assert state["goal"]["objective"] == "slow 30"
        assert state["activeTurn"]["turnId"] == running
        assert [turn["turnId"] for turn in state["queuedTurns"]] == [waiting]
        assert state["turnCount"] == 3


# -- what is stored


def test_a_session_without_a_turn_need_not_be_stored(tmp_path: Path) -> None:
    settings(tmp_path, savesEmpty=False)
    with sim_host(tmp_path) as host:
        session = shaken(host).start(sessionId=CHOSEN)
        assert host.ask("session/read", {"sessionId": session})["session"]["turnCount"] == 0
        host.close()
    assert not (tmp_path / "sessions" / CHOSEN).exists()
    with sim_host(tmp_path) as host:
        with pytest.raises(Refused) as caught:
            shaken(host).command("session/resume", {"sessionId": CHOSEN})
        assert caught.value.code == -32020
        assert host.start(sessionId=CHOSEN) == CHOSEN
        host.turn(CHOSEN, "hello")
        host.kill()
    with sim_host(tmp_path) as host:
        resumed = shaken(host).command("session/resume", {"sessionId": CHOSEN})
        assert resumed["lastTurn"]["terminal"] == "completed"
        assert host.ask("session/list")["sessions"][0]["sessionId"] == CHOSEN


def test_settings_of_a_session_that_was_not_stored_are_stored_with_its_first_turn(tmp_path: Path) -> None:
    settings(tmp_path, savesEmpty=False)
    with sim_host(tmp_path) as host:
        session = shaken(host).start()
        host.command("session/rename", {"sessionId": session, "name": "Früh"})
        host.settled()
        assert not (tmp_path / "sessions" / session).exists()
        host.turn(session, "hello")
        host.kill()
    with sim_host(tmp_path) as host:
        row = shaken(host).command("session/resume", {"sessionId": session})["session"]
        assert row["name"] == "Früh"
