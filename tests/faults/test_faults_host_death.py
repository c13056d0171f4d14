"""What a host's death costs: nothing that was acknowledged, and nothing that was not (`msp.md §23.4`)."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.faults.ending import end, is_failed_card
from tests.faults.hosts_that_die import Dies, KeepsItsQueue
from tests.faults.hosts_that_end import Exits
from tests.processes import wait_until
from tests.scripted_hosts import Placed, place

IN_USE = ("sessionInUse", -32021, "")
UNKNOWN = ("sessionNotFound", -32020, "")


def kill(adapter: AdapterProcess, host: Placed) -> None:
    """End the host that serves now; the adapter may not have noticed when this returns."""
    victim = host.pids("serve.pids")[-1]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: victim not in adapter.children())


def stop_reason(adapter: AdapterProcess, session_id: str, text: str = "go") -> Any:
    return adapter.prompt(session_id, text)["stopReason"]


def ids_of(host: Placed, method: str) -> list[str]:
    return [frame["params"]["commandId"] for frame in host.received(method)]


# -- commands that were not acknowledged


def test_e2_a_prompt_that_was_not_admitted_is_sent_again_under_its_id(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, at="turn/start")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        assert adapter.text(session_id) == "answer 1"
        first, second = ids_of(host, "turn/start")
        assert first == second
        assert len(host.pids("serve.pids")) == 2
        end(adapter, host)


def test_e2_one_prompt_is_sent_twice_at_most(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, at="turn/start", deaths=2)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        error = adapter.response(adapter.begin_prompt(session_id, "go"))["error"]
        assert error["data"]["reason"] == "hostDied" and "exit 9" in error["data"]["details"]
        assert error["data"]["retryable"] is True
        assert len(host.received("turn/start")) == 2
        assert stop_reason(adapter, session_id, "once more") == "end_turn"
        end(adapter, host)


@pytest.mark.parametrize("method", ["session/start", "session/resume"])
def test_e2_a_session_is_opened_though_the_host_dies_of_it(tmp_path: Path, method: str) -> None:
    host = place(tmp_path / "host", Dies, at=method)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        if method == "session/start":
            session_id = adapter.new_session(tmp_path)
        else:
            session_id = "ses-stored"
            opened = {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []}
            adapter.call("session/resume", opened)
        first, second = ids_of(host, method)
        assert first == second
        assert stop_reason(adapter, session_id) == "end_turn"
        end(adapter, host)


def test_e2_what_dies_before_it_is_noticed_costs_nothing(tmp_path: Path) -> None:
    """Each request meets a host that is dead and whose end nobody has read yet."""
    host = place(tmp_path / "host", Dies)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for _ in range(2):
            kill(adapter, host)
            assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        assert stop_reason(adapter, adapter.new_session(tmp_path)) == "end_turn"
        end(adapter, host)


# -- coming back


def test_l9_a_session_comes_back_where_it_was_left(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        first = host.pids("serve.pids")[0]
        kill(adapter, host)
        assert stop_reason(adapter, session_id) == "end_turn"
        [resumed] = host.received("session/resume")
        cursor = resumed["params"]["cursor"]
        assert cursor.startswith(f"v:{first}:") and resumed["params"]["excludeItems"] is True
        [page] = host.received("view/page")
        assert page["params"]["cursor"] == cursor
        end(adapter, host)


@pytest.mark.parametrize("told_live", [False, True])
def test_l9_what_happened_meanwhile_is_shown_once(tmp_path: Path, told_live: bool) -> None:
    host = place(tmp_path / "host", Dies, missed=["one", "two", "three"], told_live=told_live)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        assert stop_reason(adapter, session_id) == "end_turn"
        wait_until(lambda: bool(host.received("approval/listPending")))
        shown = [update["toolCallId"] for update in adapter.updates() if update["sessionUpdate"] == "tool_call"]
        assert shown == ["stored-1", "stored-2", "stored-3"]
        end(adapter, host)


@pytest.mark.parametrize(
    "refusal",
    [("viewTruncated", -32040, ""), ("notFound", -32011, "missingAnchor"), ("boundaryPruned", -32042, "")],
    ids=lambda refusal: refusal[0],
)
def test_l9_a_place_that_the_host_does_not_know_is_given_up(tmp_path: Path, refusal: tuple[str, int, str]) -> None:
    host = place(tmp_path / "host", Dies, refusals=[refusal], missed=["one"])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        assert stop_reason(adapter, session_id) == "end_turn"
        assert ["cursor" in frame["params"] for frame in host.received("session/resume")] == [True, False]
        [page] = host.received("view/page")
        assert not {"cursor", "anchor"} & page["params"].keys(), "all of it is read"
        shown = [update["toolCallId"] for update in adapter.updates() if update["sessionUpdate"] == "tool_call"]
        assert shown == ["stored-1"]
        end(adapter, host)


def test_l9_a_session_is_waited_for_while_its_last_host_still_holds_it(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, refusals=[IN_USE, IN_USE, ("commandRejected", -32030, "runtime_busy")])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        assert stop_reason(adapter, session_id) == "end_turn"
        sent = ids_of(host, "session/resume")
        assert len(sent) == len(set(sent)) == 4, "a refusal is repeated to its id"
        end(adapter, host)


def test_l9_a_session_without_a_turn_is_started_again_under_its_id(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, refusals=[UNKNOWN])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        kill(adapter, host)
        assert stop_reason(adapter, session_id) == "end_turn"
        first, second = (frame["params"] for frame in host.received("session/start"))
        assert second["sessionId"] == session_id and second["workspaceRoot"] == first["workspaceRoot"]
        end(adapter, host)


def test_l9_a_session_that_the_next_host_does_not_know_is_lost(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, refusals=[UNKNOWN] * 9)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        error = adapter.response(adapter.begin_prompt(session_id, "go"))["error"]
        assert error["data"]["reason"] == "sessionLost" and error["data"]["sessionId"] == session_id
        assert len(host.received("session/start")) == 1
        end(adapter, host)


def test_l9_a_host_that_stores_nothing_takes_its_sessions_along(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, durable=False, at="turn/start")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for _ in range(2):
            error = adapter.response(adapter.begin_prompt(session_id, "go"))["error"]
            assert error["data"]["reason"] == "sessionLost"
        assert len(host.received("turn/start")) == 1 and not host.received("session/resume")
        assert stop_reason(adapter, adapter.new_session(tmp_path)) == "end_turn"
        end(adapter, host)


def test_l11_a_session_that_is_busy_at_the_host_can_be_tried_again(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, refusals=[("sessionBusy", -32603, "")])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        opened = {"sessionId": "ses-busy", "cwd": str(tmp_path), "mcpServers": []}
        error = adapter.refused("session/resume", opened)
        assert error["data"]["reason"] == "sessionBusy" and error["data"]["retryable"] is True
        adapter.call("session/resume", opened)
        assert stop_reason(adapter, "ses-busy") == "end_turn"
        end(adapter, host)


# -- who comes back by itself


def test_e2_what_goes_on_without_a_prompt_is_taken_up_at_once(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, background=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        resting, working = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        assert stop_reason(adapter, working) == "end_turn"
        kill(adapter, host)
        wait_until(lambda: bool(host.received("approval/listPending")))
        assert [frame["params"]["sessionId"] for frame in host.received("session/resume")] == [working]
        assert stop_reason(adapter, resting) == "end_turn"
        end(adapter, host)


def test_e2_a_session_that_ends_its_hosts_does_so_once_by_itself(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, background=True, at="session/resume")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert stop_reason(adapter, session_id) == "end_turn"
        kill(adapter, host)
        wait_until(lambda: b"could not be resumed" in adapter.stderr)
        adapter.new_session(tmp_path)
        assert len(host.received("session/resume")) == 1
        assert stop_reason(adapter, session_id) == "end_turn"
        end(adapter, host)


# -- a limit


def test_e2_a_host_that_always_dies_is_not_started_for_ever(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Dies, at="session/start", deaths=100)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        reasons: list[str] = []
        for _ in range(5):
            error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            reasons.append(error["data"]["reason"])
        assert reasons == ["hostDied"] * 3 + ["hostRestartLimit"] * 2
        assert "exit 9" in error["data"]["details"] and error["data"]["retryable"] is True
        assert len(host.pids("serve.pids")) == 6
        end(adapter, host)


def test_e2_the_limit_tells_what_the_host_said_last(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Exits, at="session/start")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        for _ in range(4):
            error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert error["data"]["reason"] == "hostRestartLimit"
        assert "; the last time: " in error["data"]["details"] and "cannot open the store" in error["data"]["details"]
        end(adapter, host)


def test_e2_a_prompt_in_the_queue_of_a_host_that_dies_is_not_called_worth_a_retry(tmp_path: Path) -> None:
    """Nothing that was taken in is lost: the next host runs it, and shows it."""
    placed = place(tmp_path / "host", KeepsItsQueue)
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompts = [adapter.begin_prompt(session_id, text) for text in ("works", "waits")]
        wait_until((tmp_path / "host" / "queued").exists)
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        died = [adapter.response(prompt)["error"]["data"] for prompt in prompts]
        assert [(data["reason"], data["retryable"]) for data in died] == [("hostDied", True), ("hostDied", False)]
        assert "may run it" in died[1]["details"]
        assert stop_reason(adapter, session_id, "goes on") == "end_turn"
        assert "run all the same" in adapter.text(session_id)
        assert (tmp_path / "host" / "effects").read_text() == "x", "it ran once"
        end(adapter)


# -- what waits for the user


@pytest.mark.parametrize("version", PROFILES)
def test_e2_a_question_is_asked_again_by_the_next_host(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "approve")
        asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        died = adapter.response(prompt)["error"]["data"]
        assert died["reason"] == "hostDied" and "may go on with this prompt" in died["details"]
        assert died["retryable"] is False, "the next host goes on with it"
        again = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        assert asked["id"] in [
            frame["params"]["requestId"] for frame in adapter.frames if frame.get("method") == "$/cancel_request"
        ]
        option = next(one for one in again["params"]["options"] if one["kind"] == "allow_once")
        adapter.send({"jsonrpc": "2.0", "id": again["id"], **permission(option["optionId"])})
        assert stop_reason(adapter, session_id, "hello") == "end_turn"
        assert len([frame for frame in adapter.frames if frame.get("method") == "session/request_permission"]) == 2
        end(adapter)


def test_e2_a_form_is_put_up_again_by_the_next_host(tmp_path: Path) -> None:
    def is_form(frame: Json) -> bool:
        return frame.get("method") == "elicitation/create"

    with running_adapter(tmp_path) as adapter:
        adapter.initialize(clientCapabilities={"elicitation": {"form": {}}})
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "ask")
        asked = adapter.wait_for(is_form)
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        assert adapter.response(prompt)["error"]["data"]["reason"] == "hostDied"
        again = adapter.wait_for(is_form)
        assert again["params"]["requestedSchema"] == asked["params"]["requestedSchema"]
        adapter.send({"jsonrpc": "2.0", "id": again["id"], "result": {"action": "decline"}})
        assert stop_reason(adapter, session_id, "hello") == "end_turn"
        assert len([frame for frame in adapter.frames if is_form(frame)]) == 2
        end(adapter)


def test_e2_cards_fail_and_the_next_turn_is_whole(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, "slow 30")
        adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        error: Json = adapter.response(prompt)["error"]
        assert error["data"]["reason"] == "hostDied" and "signal 9" in error["data"]["details"]
        before = adapter.text(session_id)
        assert stop_reason(adapter, session_id, "hello") == "end_turn"
        assert adapter.text(session_id).startswith(before) and len(adapter.text(session_id)) > len(before)
        assert len([frame for frame in adapter.frames if is_failed_card(frame)]) <= 1
        end(adapter)
