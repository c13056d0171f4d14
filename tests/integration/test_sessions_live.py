"""What stands and what runs in a session when it is opened: facts are told, and what goes on is picked up live."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import OPT_IN, stored
from tests.processes import wait_until
from tests.screens import LEAVES, VERSIONS, a_session, allow, before_answer, told
from tests.scripted_hosts import ScriptedHost, place

each_version = pytest.mark.parametrize("version", VERSIONS)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])
SETTLED = ["plan", "usage_update", "session_info_update", "available_commands_update"]

WAYS_TO_SERVE = [
    *((version, None) for version in VERSIONS),
    *((version, served) for version in ("1.2.1", "1.4.13") for served in ("none", "inline", "anchored", "snapshot")),
]
"""Versions, and what a host serves whatever it is asked for; None for what it is asked for."""


def variants(updates: list[Json]) -> list[str]:
    return [update["sessionUpdate"] for update in updates]


def of(updates: list[Json], variant: str) -> list[Json]:
    return [update for update in updates if update["sessionUpdate"] == variant]


def wait_for_commands(adapter: AdapterProcess, session_id: str) -> None:
    """The session's slash commands."""
    adapter.wait_for(
        lambda frame: (
            frame.get("params", {}).get("sessionId") == session_id
            and frame["params"].get("update", {}).get("sessionUpdate") == "available_commands_update"
        )
    )


def settings(home: Path, **members: Any) -> None:
    directory = home / ".local/share/muse-simulated"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "settings.json").write_text(json.dumps(members))


@pytest.mark.acp(46, 51, 86, 87)
@each_version
def test_a_load_tells_what_stands_after_the_conversation_and_commands_after_the_answer(
    tmp_path: Path, version: str
) -> None:
    session_id, live = a_session(tmp_path, "hello", "todo", "think", "usage 1000 200000", version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        before = before_answer(adapter, "session/load", stored(session_id, tmp_path))
        content = [at for at, update in enumerate(before) if update["sessionUpdate"].endswith("_chunk")]
        facts = [at for at, update in enumerate(before) if update["sessionUpdate"] in SETTLED]
        assert max(content) < min(facts)
        assert of(before, "plan") == of(live, "plan")[-1:]
        (usage,) = of(before, "usage_update")
        assert (usage["used"], usage["size"]) == (1000, 200000)
        assert "agent_thought_chunk" in variants(before), "thoughts belong to it"
        assert "available_commands_update" not in variants(before)
        wait_for_commands(adapter, session_id)
        assert adapter.finish() == 0


@pytest.mark.acp(46, 54, 86, 87)
@pytest.mark.parametrize(("version", "served"), WAYS_TO_SERVE)
def test_a_resume_tells_nothing_before_its_answer_and_what_stands_after_it(
    tmp_path: Path, version: str, served: str | None
) -> None:
    session_id, live = a_session(tmp_path, "hello", "todo", "usage 1000 200000", version=version)
    faults = []
    if served is not None:
        faults = [{"at": "session/resume", "do": "params", "set": {"history": "auto"}}]
        settings(tmp_path, historyMode=served)
    env = {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        assert before_answer(adapter, "session/resume", stored(session_id, tmp_path)) == []
        plan = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "plan")
        assert plan == of(live, "plan")[-1]
        wait_for_commands(adapter, session_id)
        if served in (None, "snapshot"):
            assert of(adapter.updates(), "usage_update")[0]["used"] == 1000
        assert not [name for name in variants(adapter.updates()) if name.endswith("_chunk")]
        assert adapter.prompt(session_id, "recall")["stopReason"] == "end_turn"
        assert "hello" in adapter.text(session_id), "and the next prompt has the context"
        assert adapter.finish() == 0


@pytest.mark.acp(51)
@pytest.mark.parametrize("served", ["none", "inline", "anchored", "snapshot"])
def test_a_load_is_complete_whatever_the_host_serves(tmp_path: Path, served: str) -> None:
    prompts = ["hello", "shell 300", "compaction", "think", "usage 1000 200000"]
    session_id, live = a_session(tmp_path, *prompts, version="1.4.13")
    settings(tmp_path, historyMode=served)
    faults = [{"at": "session/resume", "do": "params", "set": {"history": "auto"}}]
    env = {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}
    with running_adapter(tmp_path, muse=LEAVES, env=env) as adapter:
        adapter.initialize()
        screen = told(before_answer(adapter, "session/load", stored(session_id, tmp_path)))
        assert [shown.text for shown in screen if shown.variant == "user_message_chunk"] == prompts
        shown = [(one.variant, one.text, one.status) for one in screen if one.variant != "user_message_chunk"]
        assert shown == [(one.variant, one.text, one.status) for one in told(live)]
        assert adapter.finish() == 0


# -- a turn that runs


class RunningHost(ScriptedHost):
    """Has a session in which a turn is being written, and goes on with it when the client asks for another thing."""

    SESSION = "ses-running"
    streamed = "The answer so far"
    served = True

    def on_session_resume(self, request: Json) -> None:
        item = {"itemId": "m1", "kind": "agentMessage", "turnId": "t1", "revision": 1, "status": "inProgress"}
        state = {"items": [item | {"text": self.streamed}], "activeTurn": {"turnId": "t1", "commandId": "c1"}}
        snapshot = {"schemaVersion": 1, "viewCursor": "v:2", "state": state}
        history = {"mode": "snapshot", "items": None, "snapshot": snapshot}
        session = {"sessionId": self.SESSION, "status": "running"}
        self.turns.append((self.SESSION, "t1"))
        # Part of what the snapshot has is on the way when the session is opened.
        self.send(self.of_delta("v:1", "so far"))
        self.send(self.of_delta("v:2", ""))
        self.answer(request, session=session, viewCursor="v:2", history=history if self.served else None)
        self.send(self.of_delta("v:3", ", and more"))

    def of_delta(self, cursor: str, text: str) -> Json:
        params = {"sessionId": self.SESSION, "viewCursor": cursor, "itemId": "m1", "field": "text", "delta": text}
        return {"jsonrpc": "2.0", "method": "item/delta", "params": params}

    def on_view_page(self, request: Json) -> None:
        events = [
            {
                "method": "turn/started",
                "params": {"sessionId": self.SESSION, "viewCursor": "v:0", "turnId": "t1", "commandId": "c1"},
            }
        ]
        self.answer(request, events=events, nextCursor=None)

    def on_model_list(self, request: Json) -> None:
        """Asked for after the session was opened: time goes on."""
        self.answer(request, models=[])
        self.item("completed", self.SESSION, "t1", "m1", text=f"{self.streamed}, and more, to the end")
        if not self.waits:
            self.complete(self.SESSION, "t1")

    waits = False


@pytest.mark.parametrize("served", [True, False])
def test_what_is_being_written_when_a_session_is_loaded_goes_on_without_loss_or_doubling(
    tmp_path: Path, served: bool
) -> None:
    host = place(tmp_path / "host", RunningHost, served=served)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        before = before_answer(adapter, "session/load", stored(RunningHost.SESSION, tmp_path))
        so_far = "".join(update["content"]["text"] for update in of(before, "agent_message_chunk"))
        assert so_far in ((RunningHost.streamed,) if served else ("",))
        whole = f"{RunningHost.streamed}, and more, to the end"
        wait_until(lambda: adapter.text(RunningHost.SESSION) == whole)
        assert {update["messageId"] for update in of(adapter.updates(), "agent_message_chunk")} == {"m1"}
        assert adapter.prompt(RunningHost.SESSION, "hello")["stopReason"] == "end_turn"
        assert adapter.text(RunningHost.SESSION).count("so far") == 1
        assert adapter.finish() == 0


@each_way
def test_a_turn_that_was_found_running_is_stopped_by_a_cancel(tmp_path: Path, method: str) -> None:
    host = place(tmp_path / "host", RunningHost, waits=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.call(method, stored(RunningHost.SESSION, tmp_path))
        adapter.notify("session/cancel", {"sessionId": RunningHost.SESSION})
        wait_until(lambda: "turn/interrupt" in [frame.get("method") for frame in host.received()])
        assert adapter.prompt(RunningHost.SESSION, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@each_way
@each_version
def test_an_open_question_is_asked_when_its_session_is_opened(tmp_path: Path, version: str, method: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.begin_prompt(session_id, "approve")
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        wait_until(lambda: len(adapter.children()) == 1)
        # The adapter goes with its host, so that nobody resumes the session meanwhile.
        children = adapter.children()
        for child in children:
            # It would settle what it asks if it saw the end of its input.
            os.kill(child, signal.SIGSTOP)
        os.killpg(adapter.process.pid, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(**OPT_IN)
        allow(adapter)
        # A host that was killed counts as alive until somebody has reaped it.
        wait_until(lambda: "result" in adapter.response(adapter.begin(method, stored(session_id, tmp_path))))
        ended = adapter.wait_for_update(lambda update: update.get("status") in ("completed", "failed"))
        assert ended["status"] == "completed"
        frames = [frame.get("method") or sorted(frame.get("result", {})) for frame in adapter.frames]
        assert frames.index(["configOptions", "modes"]) < frames.index("session/request_permission")
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


# -- what must not come too early


@pytest.mark.acp(45)
@each_version
def test_nothing_is_said_of_a_session_before_its_answer(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_ids: set[str] = set()
        for _ in range(20):
            start = len(adapter.frames)
            session_id = adapter.new_session(tmp_path)
            frames: list[Json] = adapter.frames[start:]
            answer = next(
                at for at, frame in enumerate(frames) if frame.get("result", {}).get("sessionId") == session_id
            )
            early = [frame for frame in frames[:answer] if frame.get("params", {}).get("sessionId") == session_id]
            assert early == []
            session_ids.add(session_id)
        assert len(session_ids) == 20
        assert adapter.finish() == 0


@pytest.mark.acp(46)
@each_version
def test_commands_follow_the_answer_of_every_opening(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        wait_for_commands(adapter, session_id)
        adapter.prompt(session_id, "hello")
        for method in ("session/load", "session/resume"):
            assert "available_commands_update" not in variants(
                before_answer(adapter, method, stored(session_id, tmp_path))
            )
            wait_for_commands(adapter, session_id)
        wait_for_commands(adapter, adapter.call("session/fork", stored(session_id, tmp_path))["sessionId"])
        assert adapter.finish() == 0
