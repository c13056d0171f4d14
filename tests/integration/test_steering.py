"""Words added to a running turn, by either name, against every simulated version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.cancelling import CANCELLED, END_TURN, cancel_request, cancel_session
from tests.faults.hosts_hard_to_stop import IgnoresInterrupts
from tests.hurried import hurried
from tests.processes import wait_until
from tests.scripted_hosts import ScriptedHost, place

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])

MUSE: Json = {"muse/steering": 1}
SESSION: Json = {"steering": {"supported": True}}


def begin(adapter: AdapterProcess, cwd: Path, meta: Json) -> tuple[str, int, str]:
    """A session with a turn that runs: its id, the prompt's, the turn's."""
    adapter.initialize(clientCapabilities={"_meta": meta})
    session_id = adapter.new_session(cwd)
    prompt = adapter.begin_prompt(session_id, "slow 600")
    told = adapter.wait_for_update(lambda update: "muse/activeTurnId" in update.get("_meta", {}))
    adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
    return session_id, prompt, told["_meta"]["muse/activeTurnId"]


def words(session_id: str, turn_id: str | None, text: str = "and then that") -> Json:
    named = {} if turn_id is None else {"expectedTurnId": turn_id}
    return {"sessionId": session_id, **named, "prompt": [{"type": "text", "text": text}]}


def steered(adapter: AdapterProcess, session_id: str, cwd: Path) -> list[str]:
    """What was added to turns, as the stored session has it."""
    adapter.call("session/close", {"sessionId": session_id})
    adapter.call("session/load", {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []})
    updates = adapter.updates(session_id)
    return [update["content"]["text"] for update in updates if update["sessionUpdate"] == "user_message_chunk"][1:]


@each_version
def test_words_reach_the_turn_that_runs_and_no_other(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        session_id, prompt, turn_id = begin(adapter, tmp_path, MUSE)
        assert adapter.call("_muse/steer", words(session_id, turn_id)) == {"turnId": turn_id, "status": "accepted"}
        error = adapter.refused("_muse/steer", words(session_id, "another turn"))
        assert (error["code"], error["data"]["reason"], error["data"]["retryable"]) == (-32600, "turnNotRunning", False)
        assert adapter.refused("_session/steering", words(session_id, None))["code"] == -32601
        cancel_session(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        active = [update["_meta"]["muse/activeTurnId"] for update in adapter.updates() if "_meta" in update]
        assert active[-1] is None, "told before the answer"
        assert adapter.refused("_muse/steer", words(session_id, turn_id))["data"]["reason"] == "turnNotRunning"
        assert steered(adapter, session_id, tmp_path) == ["and then that"]
        assert adapter.finish() == 0


@each_version
def test_the_other_name_needs_no_turn_and_starts_none(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        session_id, prompt, turn_id = begin(adapter, tmp_path, SESSION)
        assert adapter.call("_session/steering", words(session_id, None)) == {"outcome": "injected"}
        assert adapter.call("_session/steering", words(session_id, turn_id)) == {"outcome": "injected"}
        assert adapter.refused("_session/steering", words(session_id, "x"))["data"]["reason"] == "turnNotRunning"
        assert adapter.refused("_muse/steer", words(session_id, turn_id))["code"] == -32601
        cancel_session(adapter, session_id, prompt)
        assert adapter.response(prompt)["result"] == CANCELLED
        shown = len(adapter.text(session_id))
        assert adapter.refused("_session/steering", words(session_id, None))["data"]["reason"] == "turnNotRunning"
        assert adapter.prompt(session_id, "hello") == END_TURN
        assert adapter.text(session_id)[shown:] == "You said: hello — noted ✓"
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    ("meta", "offered"),
    [
        ({}, {}),
        ({"muse/steering": 2, "steering": {"supported": False}}, {}),
        ({"muse/steering": True, "steering": 1}, {}),
        (MUSE, {"muse/steering": {"version": 1, "method": "_muse/steer"}}),
        ({"steering": True}, {"steering": {"supported": True, "idle": "reject", "targeting": "active-at-admission"}}),
    ],
    ids=json.dumps,
)
def test_it_is_offered_to_those_who_asked(tmp_path: Path, meta: Json, offered: Json) -> None:
    with running_adapter(tmp_path) as adapter:
        answer = adapter.initialize(clientCapabilities={"_meta": meta})
        for place_of_meta in (answer, answer["agentCapabilities"]):
            told = place_of_meta.get("_meta", {})
            assert {name: told[name] for name in told if "steering" in name} == offered
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "hello") == END_TURN
        telling = any("muse/activeTurnId" in update.get("_meta", {}) for update in adapter.updates())
        assert telling == bool(offered)
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"sessionId": "ses-gone"}, -32002, None),
        ({"sessionId": None}, -32602, "sessionId"),
        ({"expectedTurnId": None}, -32602, "expectedTurnId"),
        ({"prompt": []}, -32602, "prompt"),
        ({"prompt": None}, -32602, "prompt"),
        ({"prompt": [{"type": "text", "text": ""}]}, -32602, "prompt"),
        ({"prompt": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}, -32602, "prompt[0].type"),
        ({"prompt": [{"type": "text", "text": "x" * 300_000}]}, -32602, "prompt[0]"),
    ],
)
def test_what_cannot_be_added_is_refused_by_its_place(
    tmp_path: Path, change: Json, code: int, field: str | None
) -> None:
    with running_adapter(tmp_path, "--msp-frame-cap", "200000") as adapter:
        session_id, _, turn_id = begin(adapter, tmp_path, MUSE)
        error = adapter.refused("_muse/steer", words(session_id, turn_id) | change)
        assert (error["code"], error["data"].get("field")) == (code, field)
        assert adapter.finish() == 0


class NeverSteers(IgnoresInterrupts):
    """Takes in no words, and says nothing about it."""

    def on_turn_steer(self, request: Json) -> None:
        """No answer."""


def test_at_most_so_many_are_on_their_way_and_each_can_be_taken_back(tmp_path: Path) -> None:
    host = place(tmp_path / "host", NeverSteers)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        session_id, _, turn_id = begin(adapter, tmp_path, MUSE)
        asked = [adapter.begin("_muse/steer", words(session_id, turn_id)) for _ in range(16)]
        wait_until(lambda: len(host.received("turn/steer")) == 16)
        assert adapter.refused("_muse/steer", words(session_id, turn_id))["data"]["reason"] == "sessionBusy"
        cancel_request(adapter, session_id, asked[0])
        assert adapter.response(asked[0])["error"]["code"] == -32800
        again = adapter.begin("_muse/steer", words(session_id, turn_id))
        wait_until(lambda: len(host.received("turn/steer")) == 17)
        for number in (*asked[1:], again):
            cancel_request(adapter, session_id, number)
            assert adapter.response(number)["error"]["code"] == -32800
        assert adapter.finish() == 0


def test_a_turn_that_is_being_stopped_takes_no_more_words(tmp_path: Path) -> None:
    host = place(tmp_path / "host", NeverSteers)
    command = hurried(bridge__turns__prompts__CANCEL_GRACE=1.0)
    with running_adapter(tmp_path, muse=host.muse, command=command) as adapter:
        session_id, prompt, turn_id = begin(adapter, tmp_path, MUSE)
        with adapter.one_write():
            cancel_session(adapter, session_id, prompt)
            late = adapter.begin("_muse/steer", words(session_id, turn_id))
        refused = adapter.response(late)["error"]["data"]
        assert refused["reason"] == "turnNotRunning" and "is being stopped" in refused["details"]
        assert not host.received("turn/steer")
        assert adapter.finish() == 0


class EndsMeanwhile(ScriptedHost):
    """Ends its turn when words come for it, and refuses them."""

    def turn(self, session_id: str, turn_id: str) -> None:
        self.message(session_id, turn_id, "working")

    def on_turn_steer(self, request: Json) -> None:
        self.complete(*self.turns[-1])
        self.refuse(request, "commandRejected", "it does not run", code=-32030, reason="turn_not_running")


def test_a_turn_that_ends_meanwhile_takes_no_words(tmp_path: Path) -> None:
    host = place(tmp_path / "host", EndsMeanwhile)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        session_id, prompt, turn_id = begin(adapter, tmp_path, MUSE)
        assert adapter.refused("_muse/steer", words(session_id, turn_id))["data"]["reason"] == "turnNotRunning"
        assert adapter.response(prompt)["result"] == END_TURN
        assert len(host.received("turn/start")) == 1
        assert adapter.finish() == 0


@pytest.mark.parametrize("text", ["write a.txt new", "hello"])
def test_a_turn_is_over_when_everything_of_it_has_been_shown(tmp_path: Path, text: str) -> None:
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize(clientCapabilities={"_meta": MUSE})
        session_id = adapter.new_session(tmp_path)
        prompt = adapter.begin_prompt(session_id, text)
        assert adapter.response(prompt)["result"] == END_TURN
        at = next(at for at, frame in enumerate(adapter.frames) if frame.get("id") == prompt and "method" not in frame)
        update = adapter.frames[at - 1]["params"]["update"]
        assert update["_meta"] == {"muse/activeTurnId": None}
        assert adapter.finish() == 0
