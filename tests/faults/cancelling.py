"""What the tests of group G share: two ways to cancel, and looks at what came afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.adapter_process import AdapterProcess, Json, is_told
from tests.processes import assert_gone, descendants

CANCELLED: Json = {"stopReason": "cancelled"}
END_TURN: Json = {"stopReason": "end_turn"}

Cancel = Callable[[AdapterProcess, str, int], None]


def cancel_session(adapter: AdapterProcess, session_id: str, prompt: int) -> None:
    adapter.notify("session/cancel", {"sessionId": session_id})


def cancel_request(adapter: AdapterProcess, session_id: str, prompt: int) -> None:
    adapter.notify("$/cancel_request", {"requestId": prompt})


both_ways = pytest.mark.parametrize("cancel", [cancel_session, cancel_request], ids=["session", "request"])


def end(adapter: AdapterProcess) -> None:
    """The adapter ends well, what it wrote is right, and nothing of it is left."""
    pids = [row.pid for row in descendants(adapter.process.pid)]
    assert adapter.finish() == 0
    assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
    assert_gone(pids)


def is_card(update: Json) -> bool:
    return bool(update["sessionUpdate"] == "tool_call")


def begin_and_wait(adapter: AdapterProcess, session_id: str, asks: bool = False) -> int:
    """A prompt whose turn is under way: its card is there, or, if it `asks`, its question."""
    prompt = adapter.begin_prompt(session_id, "go")
    if asks:
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
    else:
        adapter.wait_for_update(is_card)
    return prompt


def after(adapter: AdapterProcess, response: Json) -> list[Json]:
    """The updates since a response."""
    frames = adapter.frames[adapter.frames.index(response) :]
    return [frame["params"]["update"] for frame in frames if is_told(frame)]


def texts_of(updates: list[Json]) -> list[Any]:
    """The text of each chunk, and of what is no chunk, what it is."""
    chunks = ("agent_message_chunk", "agent_thought_chunk")
    kinds = [update["sessionUpdate"] for update in updates]
    return [update["content"]["text"] if kind in chunks else kind for kind, update in zip(kinds, updates, strict=True)]
