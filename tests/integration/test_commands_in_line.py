"""Commands among other prompts: each is carried out and answered where it stands in line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, running_adapter


def shown(adapter: AdapterProcess, prompts: list[int]) -> list[Any]:
    """Messages, each once by its beginning, and answers by the place of their prompt, in the order they came."""
    order: list[Any] = []
    for frame in adapter.frames:
        update = frame.get("params", {}).get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk":
            order.append((update["messageId"], update["content"]["text"][:12]))
        elif frame.get("id") in prompts and "method" not in frame:
            order.append(prompts.index(frame["id"]))
    known: set[str] = set()
    told: list[Any] = []
    last = None
    for entry in order:
        if isinstance(entry, tuple):
            assert entry[0] == last or entry[0] not in known, "a message goes on behind another one"
            if entry[0] != last:
                told.append(entry[1])
            known.add(entry[0])
            last = entry[0]
        else:
            told.append(entry)
            last = None
    return told


@pytest.mark.parametrize("version", PROFILES)
@pytest.mark.acp(67)
def test_a_command_behind_a_running_prompt_waits_for_its_answer(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        with adapter.one_write():
            texts = ("stream 3000 20", "/status", "/output", "hello")
            prompts = [adapter.begin_prompt(session_id, text) for text in texts]
        for prompt in prompts:
            assert adapter.response(prompt)["result"] == {"stopReason": "end_turn"}
        told = shown(adapter, prompts)
        assert [entry for entry in told if isinstance(entry, int)] == [0, 1, 2, 3]
        messages = [(told[at - 1][:8], entry) for at, entry in enumerate(told) if isinstance(entry, int)]
        assert messages[1:] == [("Session:", 1), ("Nothing ", 2), ("You said", 3)], told
        assert adapter.finish() == 0


def test_a_compaction_in_line_looks_as_one_at_rest(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        at_rest = adapter.begin_prompt(session_id, "/compact")
        adapter.response(at_rest)
        with adapter.one_write():
            running = adapter.begin_prompt(session_id, "slow 1")
            in_line = adapter.begin_prompt(session_id, "/compact")
        for prompt in (running, in_line):
            assert adapter.response(prompt)["result"] == {"stopReason": "end_turn"}
        told = shown(adapter, [at_rest, running, in_line])
        assert told[told.index(0) - 1] == told[told.index(2) - 1] == "The context "
        assert told.index(1) < told.index(2) - 1
        assert adapter.finish() == 0


def test_a_command_behind_a_prompt_that_asks_in_words_comes_after_the_question(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        with adapter.one_write():
            prompts = [adapter.begin_prompt(session_id, text) for text in ("ask", "/status")]
        for prompt in prompts:
            assert adapter.response(prompt)["result"] == {"stopReason": "end_turn"}
        told = shown(adapter, prompts)
        assert told[-3:] == [0, "Session: " + session_id[:3], 1]
        adapter.prompt(session_id, "1\n1")
        assert adapter.finish() == 0


def test_a_command_in_line_can_be_stopped(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 600")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        waiting = adapter.begin_prompt(session_id, "/rename x")
        adapter.notify("$/cancel_request", {"requestId": waiting})
        assert adapter.response(waiting)["result"] == {"stopReason": "cancelled"}
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.response(running)["result"] == {"stopReason": "cancelled"}
        assert "called" not in adapter.text(session_id)
        assert adapter.finish() == 0


def test_a_command_that_did_not_work_is_still_no_text_for_the_model(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for _ in range(2):
            adapter.prompt(session_id, "/compact")
        assert adapter.text(session_id) == 2 * "This session cannot be compacted now."
        assert adapter.finish() == 0
