"""Permission over every simulated version: what is asked, what is decided, and what comes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.processes import wait_until

FORMS: Final[Json] = {"elicitation": {"form": {}}}
END_TURN: Final[Json] = {"stopReason": "end_turn"}
CANCELLED: Final[Json] = {"stopReason": "cancelled"}

every_version = pytest.mark.parametrize("version", PROFILES)


@contextmanager
def session(tmp_path: Path, version: str, **capabilities: Any) -> Iterator[tuple[AdapterProcess, str]]:
    """An adapter with an open session on a simulated host; in the end every frame must have been right."""
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(clientCapabilities=capabilities)
        yield adapter, adapter.new_session(tmp_path)
        assert adapter.finish() == 0
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()


def asked(adapter: AdapterProcess, method: str = "session/request_permission") -> list[Json]:
    """The params of the adapter's requests so far."""
    return [frame["params"] for frame in adapter.frames if frame.get("method") == method]


def next_request(adapter: AdapterProcess, method: str = "session/request_permission") -> Json:
    return adapter.wait_for(lambda frame: frame.get("method") == method)


def reply(adapter: AdapterProcess, request: Json, answer: Json) -> None:
    adapter.send({"jsonrpc": "2.0", "id": request["id"], **answer})


def card_statuses(adapter: AdapterProcess, session_id: str) -> list[str]:
    """How each card stands, in the order in which they were opened."""
    statuses: dict[str, str] = {}
    for update in adapter.updates(session_id):
        if "toolCallId" in update and "status" in update:
            statuses[update["toolCallId"]] = update["status"]
    return list(statuses.values())


@every_version
@pytest.mark.acp(90, 92)
@pytest.mark.parametrize(
    ("choice", "text"),
    [("allow_once", "It is done"), ("allow_session", "It is done"), ("deny", "as you wish"), ("abort", "as you wish")],
)
def test_each_choice_does_what_it_says(tmp_path: Path, version: str, choice: str, text: str) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission(choice)
        assert adapter.prompt(session_id, "approve wide") == END_TURN
        assert text in adapter.text(session_id)
        [request] = asked(adapter)
        kinds = {option["optionId"]: option["kind"] for option in request["options"]}
        assert set(kinds.values()) >= {"allow_once", "allow_always", "reject_once"}
        assert len(kinds) == len(request["options"])
        assert request["toolCall"]["kind"] == "edit" and request["toolCall"]["rawInput"]["arguments"]
        scopes = {option["optionId"]: option["_meta"]["museScope"] for option in request["options"]}
        for option_id, kind in kinds.items():
            assert (scopes[option_id] == "once") == kind.endswith("_once"), "lasting is what the host makes last"


@every_version
@pytest.mark.acp(92)
def test_a_session_wide_consent_lasts_as_long_as_the_host_says(tmp_path: Path, version: str) -> None:
    """The adapter remembers no consent of its own: the second question is the host's to ask or not."""
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission("allow_session")
        adapter.prompt(session_id, "approve")
        adapter.prompt(session_id, "approve")
        assert len(asked(adapter)) == 2


@every_version
def test_i1_each_part_of_a_command_is_asked(tmp_path: Path, version: str) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission("allow_once")
        assert adapter.prompt(session_id, "approve3") == END_TURN
        first, second = asked(adapter)
        assert "part 1 of 3: git fetch --all (no rule decides it)" in str(first["toolCall"]["content"])
        assert "part 3 of 3: make install" in str(second["toolCall"]["content"])
        assert first["toolCall"]["toolCallId"] == second["toolCall"]["toolCallId"]
        assert first["_meta"]["museRequirementId"] != second["_meta"]["museRequirementId"]
        assert "It is done" in adapter.text(session_id)


@every_version
def test_i1_a_question_that_was_lost_on_the_way_is_asked(tmp_path: Path, version: str) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission("allow_once")
        assert adapter.prompt(session_id, "approve lost") == END_TURN
        assert len(asked(adapter)) == 1
        assert "It is done" in adapter.text(session_id)


@every_version
@pytest.mark.acp(90)
def test_a_change_of_a_file_is_shown_before_it_is_made(tmp_path: Path, version: str) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    with session(tmp_path, version) as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "ask-replace notes.txt two three")
        request = next_request(adapter)
        assert (tmp_path / "notes.txt").read_text() == "one\ntwo\n"
        [diff] = [each for each in request["params"]["toolCall"]["content"] if each["type"] == "diff"]
        assert (diff["oldText"], diff["newText"]) == ("one\ntwo\n", "one\nthree\n")
        options = {option["kind"]: option["optionId"] for option in request["params"]["options"]}
        reply(adapter, request, permission(options["allow_once"]))
        assert adapter.response(prompt)["result"] == END_TURN
        assert (tmp_path / "notes.txt").read_text() == "one\nthree\n"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.acp(93)
def test_i9_refusing_one_of_many_fails_that_one(tmp_path: Path, order: tuple[int, ...]) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "many 3")
        requests = [next_request(adapter) for _ in range(3)]
        for number in order:
            refused = "part-1" in requests[number]["params"]["toolCall"]["title"]
            reply(adapter, requests[number], permission("abort" if refused else "allow_once"))
        assert adapter.response(prompt)["result"] == END_TURN
        assert "2 of 3 parts are made" in adapter.text(session_id)
        assert sorted(card_statuses(adapter, session_id)) == ["completed", "completed", "failed"]


@pytest.mark.acp(73, 79)
def test_a_cancel_withdraws_every_dialog_and_allows_nothing(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "many 3")
        requests = [next_request(adapter) for _ in range(3)]
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.response(prompt)["result"] == CANCELLED
        withdrawn = [
            frame["params"]["requestId"] for frame in adapter.frames if frame.get("method") == "$/cancel_request"
        ]
        assert sorted(withdrawn) == sorted(request["id"] for request in requests)
        for request in requests:
            reply(adapter, request, permission("allow_once"))
        assert set(card_statuses(adapter, session_id)) == {"failed"}
        assert adapter.prompt(session_id, "hello") == END_TURN


@pytest.mark.acp(79)
def test_what_somebody_else_decided_is_withdrawn(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        assert adapter.prompt(session_id, "approve elsewhere 0.2") == END_TURN
        [request] = [frame for frame in adapter.frames if frame.get("method") == "session/request_permission"]
        [withdrawn] = [frame for frame in adapter.frames if frame.get("method") == "$/cancel_request"]
        assert withdrawn["params"] == {"requestId": request["id"]}
        assert "It is done" in adapter.text(session_id)


@every_version
@pytest.mark.acp(91)
def test_where_only_consent_is_offered_one_can_still_refuse(tmp_path: Path, version: str) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission(request["params"]["options"][-1]["optionId"])
        assert adapter.prompt(session_id, "approve allowing") == CANCELLED
        assert asked(adapter)[0]["options"][-1]["kind"] == "reject_once"
        assert card_statuses(adapter, session_id) == ["failed"]


# -- subagents


@every_version
@pytest.mark.parametrize("word", ["child", "kid"])
@pytest.mark.parametrize(
    ("choice", "status", "text"),
    [("allow_once", "completed", "The subagent has done it"), ("abort", "failed", "Then I leave it")],
    ids=["allowed", "refused"],
)
def test_i2_what_a_subagent_asks_is_shown_in_the_parents_session(
    tmp_path: Path, version: str, word: str, choice: str, status: str, text: str
) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        adapter.answer = lambda request: permission(choice)
        assert adapter.prompt(session_id, f"approve {word}") == END_TURN
        [request] = asked(adapter)
        assert request["sessionId"] == session_id
        assert "A subagent asks for this." in str(request["toolCall"]["content"])
        cards = {
            update["toolCallId"]: update["status"]
            for update in adapter.updates()
            if "toolCallId" in update and "status" in update
        }
        assert cards[request["toolCall"]["toolCallId"]] == status
        assert set(cards.values()) <= {"completed", "failed"}
        assert text in adapter.text(session_id)
        assert {
            frame["params"]["sessionId"] for frame in adapter.frames if frame.get("method") == "session/update"
        } == {session_id}


@pytest.mark.parametrize("word", ["child", "kid"])
@pytest.mark.acp(73, 79)
def test_i2_a_cancel_refuses_what_subagents_ask(tmp_path: Path, word: str) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, f"approve {word}")
        request = next_request(adapter)
        adapter.notify("session/cancel", {"sessionId": session_id})
        adapter.wait_for(
            lambda frame: frame.get("method") == "$/cancel_request" and frame["params"]["requestId"] == request["id"]
        )
        reply(adapter, request, permission("allow_once"))
        assert adapter.response(prompt)["result"] == CANCELLED
        adapter.wait_for_update(
            lambda update: (
                update.get("toolCallId") == request["params"]["toolCall"]["toolCallId"]
                and update.get("status") == "failed"
            )
        )
        assert adapter.prompt(session_id, "hello") == END_TURN


# -- why not


@every_version
@pytest.mark.acp(94)
def test_a_refusal_tells_the_model_why(tmp_path: Path, version: str) -> None:
    def answer(request: Json) -> Json:
        if request["method"] == "elicitation/create":
            return {"result": {"action": "accept", "content": {"feedback": "use the cache"}}}
        return permission("deny")

    with session(tmp_path, version, **FORMS) as (adapter, session_id):
        adapter.answer = answer
        assert adapter.prompt(session_id, "approve wide") == END_TURN
        assert "You said: use the cache" in adapter.text(session_id)
        [form] = asked(adapter, "elicitation/create")
        assert form["toolCallId"] == asked(adapter)[0]["toolCall"]["toolCallId"]


def test_a_client_may_say_why_with_its_answer(tmp_path: Path) -> None:
    refusal = permission("deny")
    refusal["result"]["_meta"] = {"muse/feedback": "not on a Monday"}
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        adapter.answer = lambda request: refusal
        assert adapter.prompt(session_id, "approve wide") == END_TURN
        assert "You said: not on a Monday" in adapter.text(session_id)


def test_m2_an_open_dialog_keeps_no_other_session_waiting(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        waiting = adapter.begin_prompt(session_id, "approve")
        request = next_request(adapter)
        other = adapter.new_session(tmp_path)
        assert adapter.prompt(other, "hello") == END_TURN
        assert "sessions" in adapter.call("session/list", {})
        assert adapter.prompt(session_id, "") == END_TURN
        reply(adapter, request, permission("allow_once"))
        assert adapter.response(waiting)["result"] == END_TURN


@pytest.mark.acp(79)
def test_l10_an_approval_outlives_its_host_but_no_consent_does(tmp_path: Path) -> None:
    """The next host asks under a new id: the old dialog is withdrawn, and what is said to it later means nothing."""
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "approve")
        first = next_request(adapter)
        [host] = adapter.hosts()
        os.kill(host, signal.SIGKILL)
        assert adapter.response(prompt)["error"]["data"]["reason"] == "hostDied"
        second = next_request(adapter)
        assert second["params"]["_meta"]["museApprovalId"] != first["params"]["_meta"]["museApprovalId"]
        adapter.wait_for(lambda frame: frame.get("params") == {"requestId": first["id"]})
        reply(adapter, first, permission("allow_once"))
        reply(adapter, second, permission("abort"))
        wait_until(lambda: "as you wish" in adapter.text(session_id))
        assert "It is done" not in adapter.text(session_id)
