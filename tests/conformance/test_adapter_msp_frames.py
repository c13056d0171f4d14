"""What the whole adapter says to hosts, held to the official types: every kind of turn, in every version, with a
listener between the two."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.listening_host import heard, place_listener
from tests.oracles.msp_types import Direction, check_transcript

TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "demo=1"}
WORDS = ["hello", "stream 20", "think", "shell 100000", "edit", "approve", "approve3", "ask", "an answer in words"]
WORDS += ["fail modelError", "background", "todo", "subagent", "gap", "retry", "unknown", "many 3", "approve wide"]
WORDS += ["approve child", "approve kid", "write a.txt Grüße", "ask-replace a.txt Grüße Hallo", "delete a.txt"]
WORDS += ["hook blocked", "websearch", "damage", "skills", "title Namen", "usage 900 1000"]


def simulated(version: str) -> list[str]:
    return [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", version]


def allow_once(request: Json) -> Json:
    options = request["params"]["options"]
    return permission(next(option["optionId"] for option in options if option["kind"] == "allow_once"))


def converse(adapter: AdapterProcess, cwd: Path) -> None:
    """A session with every kind of turn, a stopped one, and its end and beginning anew."""
    adapter.answer = allow_once
    adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
    session_id = adapter.new_session(cwd)
    for words in WORDS:
        adapter.response(adapter.begin_prompt(session_id, words))
    stopped = adapter.begin_prompt(session_id, "slow 30")
    adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))
    adapter.notify("session/cancel", {"sessionId": session_id})
    assert adapter.response(stopped)["result"] == {"stopReason": "cancelled"}
    stored = {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}
    adapter.call("session/load", stored)
    adapter.call("session/close", {"sessionId": session_id})
    adapter.call("session/resume", stored)
    assert adapter.finish() == 0


@pytest.mark.parametrize("version", PROFILES)
def test_every_frame_to_and_from_a_host_is_as_the_types_say(tmp_path: Path, version: str) -> None:
    listener = place_listener(tmp_path / "listener", simulated(version))
    with running_adapter(tmp_path, muse=listener) as adapter:
        converse(adapter, tmp_path)
    (transcript,) = heard(tmp_path / "listener")
    frames: list[tuple[Direction, Any]] = [
        ("client" if entry["dir"] == "client" else "server", orjson.loads(entry["raw"])) for entry in transcript
    ]
    check_transcript(frames, profile=version)
    said = {frame["method"] for direction, frame in frames if direction == "client" and "method" in frame}
    assert {"initialize", "initialized", "session/start", "turn/start", "turn/interrupt", "approval/decide"} <= said
    assert {"userInput/clarify", "view/page", "session/resume", "view/unsubscribe"} <= said


@pytest.mark.parametrize("version", PROFILES)
def test_what_is_set_is_said_as_the_types_say(tmp_path: Path, version: str) -> None:
    listener = place_listener(tmp_path / "listener", simulated(version))
    with running_adapter(tmp_path, muse=listener) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for option, value in (
            ("model", "muse-small-1"),
            ("reasoning_effort", "high"),
            ("approval_mode", "denyUnmatched"),
            ("mode", "plan"),
            ("mode", "default"),
        ):
            chosen = {"sessionId": session_id, "configId": option, "value": value}
            adapter.call("session/set_config_option", chosen)
            assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
    said: set[str] = set()
    turns: list[Json] = []
    for transcript in heard(tmp_path / "listener"):
        frames: list[tuple[Direction, Any]] = [
            ("client" if entry["dir"] == "client" else "server", orjson.loads(entry["raw"])) for entry in transcript
        ]
        check_transcript(frames, profile=version)
        asked = [frame for direction, frame in frames if direction == "client" and "method" in frame]
        said |= {frame["method"] for frame in asked}
        turns += [frame["params"] for frame in asked if frame["method"] == "turn/start"]
    assert {"model/list", "session/setModel", "session/setReasoningEffort", "session/setApprovalMode"} <= said
    assert sum("displayText" in turn for turn in turns) == 1, "only the plan shows other words than it sends"
    keeps_effort = version not in ("1.0.1", "1.1.1")
    assert sum("reasoningEffort" in turn for turn in turns) == (0 if keeps_effort else 4)


@pytest.mark.acp(101)
def test_a_valid_trace_is_passed_through_and_no_other(tmp_path: Path) -> None:
    listener = place_listener(tmp_path / "listener", simulated("1.2.1"))
    with running_adapter(tmp_path, muse=listener) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for meta in (TRACE, {"traceparent": "00-zz-zz-01"}, {"x": 1}):
            prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}], "_meta": meta}
            adapter.call("session/prompt", prompt)
        assert adapter.finish() == 0
    (transcript,) = heard(tmp_path / "listener")
    sent = [orjson.loads(entry["raw"]) for entry in transcript if entry["dir"] == "client"]
    assert [frame.get("trace") for frame in sent if frame.get("method") == "turn/start"] == [TRACE, None, None]
