"""Work that outlives turns, for clients that negotiated it: what its cards say, and how it is stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json, running_adapter
from tests.card_clients import TASKS, CardClient, drawing
from tests.processes import wait_until

KEY = "muse/asyncTasks"
OFFER = {"version": 1, "method": "_muse/task", "actionsPerTask": True}
NEWEST = "simulated:1.4.13"


def told(client: CardClient, wanted: dict[str, Any]) -> Json:
    """What a card's `_meta` says of its task, as soon as it says this among others."""
    update = client.adapter.wait_for_update(lambda update: wanted.items() <= task_of(update).items())
    return task_of(update)


def task_of(update: Json) -> Json:
    task: Json = update.get("_meta", {}).get(KEY, {})
    return task


def cancel(client: CardClient, target: str, session_id: str | None = None) -> Json:
    return {"sessionId": session_id or client.session_id, "target": target, "action": "cancel"}


def test_only_a_client_that_asked_is_offered_tasks(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        result = adapter.initialize(clientCapabilities=TASKS)
        assert result["_meta"][KEY] == result["agentCapabilities"]["_meta"][KEY] == OFFER
        assert adapter.finish() == 0
    with drawing(tmp_path, NEWEST) as client:
        client.prompt("background 0.1")
        assert KEY not in str(client.adapter.frames)
        error = client.adapter.refused("_muse/task", cancel(client, "a:b"))
        assert (error["code"], error["data"]["reason"]) == (-32601, "methodNotFound")


@pytest.mark.parametrize(
    ("prompt", "kind"), [("background 30", "tool"), ("workflow 30", "workflow"), ("subagent 30", "subagent")]
)
def test_a_task_is_stopped(tmp_path: Path, prompt: str, kind: str) -> None:
    with drawing(tmp_path, NEWEST, TASKS) as client:
        client.prompt(prompt)
        task = told(client, {"kind": kind, "actions": ["cancel"]})
        assert task["observedStatus"] == "inProgress"
        assert ("childSessionId" in task) == (kind == "subagent")
        answer = client.adapter.call("_muse/task", cancel(client, task["target"]))
        assert answer["status"] in {"accepted", "completed"}
        assert told(client, {"target": task["target"], "observedStatus": "cancelled"})["actions"] == []
        [card] = client.cards.values()
        assert card["status"] == "failed" and "cancelled" in str(card["content"])
        error = client.adapter.refused("_muse/task", cancel(client, task["target"]))
        assert (error["code"], error["data"]["reason"]) == (-32600, "taskEnded")


def test_only_tasks_of_this_session_and_host_are_stopped(tmp_path: Path) -> None:
    with drawing(tmp_path, NEWEST, TASKS) as client:
        other = client.adapter.new_session(tmp_path)
        client.prompt("background 30")
        target = told(client, {"kind": "tool", "actions": ["cancel"]})["target"]
        generation, _, item_id = target.partition(":")
        for params, code, reason in [
            (cancel(client, target, other), -32602, "taskUnknown"),
            (cancel(client, f"{generation}:another"), -32602, "taskUnknown"),
            (cancel(client, f"elsewhere:{item_id}"), -32602, "taskUnknown"),
            (cancel(client, item_id), -32602, "taskUnknown"),
            (cancel(client, ""), -32602, "taskUnknown"),
            (cancel(client, "x" * 3000), -32602, "invalidParams"),
            (cancel(client, target) | {"action": "pause"}, -32602, "invalidParams"),
            (cancel(client, target) | {"target": 3}, -32602, "invalidParams"),
            (cancel(client, target, "no-such-session"), -32002, "sessionUnknown"),
        ]:
            error = client.adapter.refused("_muse/task", params)
            assert (error["code"], error["data"]["reason"]) == (code, reason), params
        assert client.adapter.call("_muse/task", cancel(client, target))["status"] in {"accepted", "completed"}


def test_a_foreground_call_is_no_task(tmp_path: Path) -> None:
    with drawing(tmp_path, NEWEST, TASKS) as client:
        client.prompt("shell 10")
        assert not any(task_of(update) for update in client.adapter.updates())


def test_a_host_that_cannot_stop_tools_offers_nothing(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.2.1", TASKS) as client:
        client.prompt("background 0.3")
        client.wait_for_card(status="completed")
        seen = [task_of(update) for update in client.adapter.updates() if task_of(update)]
        assert seen and all(task["actions"] == [] for task in seen)


def test_after_the_death_of_its_host_nobody_knows_what_became_of_a_task(tmp_path: Path) -> None:
    with drawing(tmp_path, NEWEST, TASKS) as client:
        client.prompt("background 30")
        target = told(client, {"kind": "tool", "actions": ["cancel"]})["target"]
        client.adapter.prompt(client.session_id, "hello")
        kill_hosts(client)
        assert told(client, {"outcome": "unknown"}) == {"outcome": "unknown", "actions": []}
        client.prompt("hello again")
        error = client.adapter.refused("_muse/task", cancel(client, target))
        assert (error["code"], error["data"]["reason"]) == (-32600, "taskEnded")


def kill_hosts(client: CardClient) -> None:
    children = client.adapter.children()
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not set(children) & set(client.adapter.children()), otherwise=lambda: "still there")


def test_tasks_stand_side_by_side_with_stored_output(tmp_path: Path) -> None:
    capabilities = {"_meta": {"muse/asyncTasks": 1, "muse/output": 1}}
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        meta = adapter.initialize(clientCapabilities=capabilities)["_meta"]
        assert {KEY, "muse/output"} <= set(meta)
        assert adapter.finish() == 0
