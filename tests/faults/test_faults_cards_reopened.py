"""Cards of calls that the next host goes on with: none has a status after its last one (`acp.md §7`)."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from adapter.bridge.consent.client_questions import ClientQuestions
from adapter.wire.background import Background
from adapter.wire.peer import Peer
from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.card_screen import SHELL, Screen
from tests.faults.ending import end
from tests.processes import wait_until

EVERYTHING = {"_meta": {"muse/asyncTasks": 1, "terminal_output": True}}


def is_question(frame: Json) -> bool:
    return frame.get("method") == "session/request_permission"


def lives(adapter: AdapterProcess, session_id: str) -> dict[str, list[str]]:
    """The statuses of each card in the order they were told, those in dialogs too."""
    told: dict[str, list[str]] = {}
    for frame in adapter.frames:
        params = frame.get("params") or {}
        call = params.get("toolCall") if is_question(frame) else params.get("update")
        if isinstance(call, dict) and "toolCallId" in call and "status" in call:
            told.setdefault(call["toolCallId"], []).append(call["status"])
    return told


@pytest.mark.parametrize(
    ("version", "text"), [("1.2.1", "approve"), ("1.4.13", "approve"), ("1.4.13", "approve child")]
)
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.acp(81)
def test_e2_a_call_that_is_asked_about_again_has_a_card_that_ends_as_it_does(
    tmp_path: Path, version: str, text: str, allowed: bool
) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(clientCapabilities=EVERYTHING)
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, text)
        asked = adapter.wait_for(is_question)["params"]["toolCall"]["toolCallId"]
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        assert adapter.response(prompt)["error"]["data"]["reason"] == "hostDied"
        assert lives(adapter, session_id)[asked][-1] == "failed", "nothing stays open behind an answer"
        again = adapter.wait_for(is_question)
        card = again["params"]["toolCall"]["toolCallId"]
        assert card != asked and lives(adapter, session_id)[card] == ["pending", "pending"]
        kind = "allow_once" if allowed else "reject_once"
        option = next(one for one in again["params"]["options"] if one["kind"] == kind)
        adapter.send({"jsonrpc": "2.0", "id": again["id"], **permission(option["optionId"])})
        last = "completed" if allowed else "failed"
        adapter.wait_for_update(lambda update: (update.get("toolCallId"), update.get("status")) == (card, last))
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        for statuses in lives(adapter, session_id).values():
            assert not {"completed", "failed"}.intersection(statuses[:-1]), statuses
            assert statuses[-1] in {"completed", "failed"}
        seen = [update for update in adapter.updates(session_id) if "toolCallId" in update]
        observed = [
            (update["status"], task["observedStatus"])
            for update in seen
            if "status" in update
            and "observedStatus" in (task := (update.get("_meta") or {}).get("muse/asyncTasks", {}))
        ]
        assert set(observed) <= {("in_progress", "inProgress"), ("completed", "completed"), ("failed", "failed")}
        end(adapter)


@pytest.mark.parametrize("first", ["asked", "told"])
def test_e2_the_new_card_is_the_same_whether_the_host_asks_or_tells_first(first: str) -> None:
    screen = Screen(tasks=True, terminals=True)
    background = SHELL | {"background": True}
    screen.item("i1", **background)
    screen.projection.close_turn(None)
    assert [update.get("status") for update in screen.take()] == ["in_progress", "failed"]
    steps: list[Callable[[], None]] = [
        lambda: screen.projection.ask("i1", "t1", {"title": "make", "kind": "execute"}),
        lambda: screen.item("i1", 2, **background),
    ]
    for step in steps if first == "asked" else steps[::-1]:
        step()
    assert screen.projection.card_id("i1") == "i1#2"
    screen.projection.decided("i1")
    screen.item("i1", 3, "completed", **background)
    updates = screen.take()
    assert {update["toolCallId"] for update in updates} == {"i1#2"}
    told = [update["status"] for update in updates if "status" in update]
    assert "pending" in told and told[-1] == "completed" and told.count("completed") == 1
    ends = [update["_meta"]["terminal_exit"] for update in updates if "terminal_exit" in update.get("_meta", {})]
    assert [ended["terminal_id"] for ended in ends] == ["i1#2"]


def test_e2_a_call_that_only_died_has_no_other_card() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    screen.projection.close_turn(None)
    screen.take()
    screen.item("i1", 2, **SHELL)
    screen.item("i1", 3, "failed", **SHELL)
    assert screen.take() == []
    screen.item("i2", **SHELL)
    screen.projection.close_turn("t1")
    screen.take()
    screen.item("i2", 2, "completed", **SHELL)
    assert screen.take() == [], "its turn is over"


@pytest.mark.anyio
async def test_e2_what_was_being_read_for_the_first_card_does_not_touch_it_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    screen = Screen(str(tmp_path))
    screen.item("i1", tool="write_file", args='{"path": "a.txt", "content": "new"}')
    [read] = screen.started
    screen.projection.close_turn(None)
    screen.projection.ask("i1", "t1", {"title": "write_file"})
    screen.take()
    await read()
    assert screen.take() == []


@pytest.mark.anyio
async def test_i6_a_question_about_a_call_that_has_ended_gives_it_no_status() -> None:
    screen = Screen()
    screen.item("i1", **SHELL)
    asked: list[Json] = []

    class Asking:
        async def request(self, method: str, params: Json) -> Json:
            asked.append(params["toolCall"])
            return {"outcome": {"outcome": "cancelled"}}

    client = ClientQuestions(cast(Peer, Asking()), screen.projection, cast(Background, screen), forms=False)
    call = {"toolCallId": "i1", "status": "pending", "title": "make"}
    await client.permission({"toolCall": call})
    screen.item("i1", 2, "completed", **SHELL)
    await client.permission({"toolCall": call})
    screen.projection.close_turn(None)
    assert [each.get("status") for each in asked] == ["pending", None]
