"""Slash commands against every simulated version: offered where they work, carried out, and let through otherwise."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.cancelling import CANCELLED, END_TURN, cancel_session
from tests.faults.scripted_turns import Plays, ended, item
from tests.processes import wait_until
from tests.scripted_hosts import ScriptedHost, place

GOALS = ("1.3.0", "1.4.2", "1.4.13")
NAMES = ("1.2.1", *GOALS)
each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", *NAMES])


def say(adapter: AdapterProcess, session_id: str, words: str, *more: Json) -> str:
    """What is answered in words to a prompt that must end as usual."""
    before = len(adapter.text(session_id))
    blocks = [{"type": "text", "text": words}, *more]
    response = adapter.response(adapter.begin("session/prompt", {"sessionId": session_id, "prompt": blocks}))
    assert response["result"] == END_TURN, response
    return adapter.text(session_id)[before:]


@pytest.mark.acp(99)
@each_version
def test_what_works_here_is_offered_after_the_answer(tmp_path: Path, version: str) -> None:
    expected = {"compact", "status", "output"}
    expected |= {"rename"} if version in NAMES else set()
    expected |= {"goal", "review", "explain"} if version in GOALS else set()
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        for _ in range(2):
            opening = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            response = adapter.response(opening)
            session_id = response["result"]["sessionId"]
            assert set(adapter.commands(session_id)) == expected
            after = adapter.frames[adapter.frames.index(response) :]
            told = [frame for frame in after if "available_commands_update" in str(frame)]
            assert [frame["params"]["sessionId"] for frame in told] == [session_id], "once, and after the answer"
        say(adapter, session_id, "hello")
        adapter.call("session/close", {"sessionId": session_id})
        for method in ("session/load", "session/resume"):
            params = {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []}
            adapter.call(method, params)
            assert set(adapter.commands(session_id)) == expected, method
        assert adapter.finish() == 0


@pytest.mark.acp(71)
@each_version
def test_what_is_no_command_goes_through_as_text(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for words in ("/nope x", "/srv/a b", '"/status"', " /status", "//status", "/", "/ status", "/Status"):
            assert say(adapter, session_id, words) == f"You said: {words.strip()} — noted ✓"
        assert adapter.finish() == 0


@pytest.mark.acp(71)
@each_version
def test_a_skill_runs_where_the_host_lists_skills(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        answer = say(adapter, session_id, "/review  the parser ")
        if version not in GOALS:
            assert answer == "You said: /review  the parser — noted ✓"
        else:
            assert answer == "The skill review ran with: the parser"
            assert say(adapter, session_id, "/skill explain a b") == "The skill explain ran with: a b"
            assert say(adapter, session_id, "/skill nope") == "There is no such skill. There are: explain, review"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", GOALS)
def test_skills_that_appear_are_offered_and_run(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert "deploy" not in adapter.commands(session_id)
        assert say(adapter, session_id, "/deploy now").startswith("You said")
        say(adapter, session_id, "skills")
        assert "deploy" in adapter.commands(session_id)
        assert say(adapter, session_id, "/deploy now") == "The skill deploy ran with: now"
        assert adapter.finish() == 0


def faulty(*faults: str) -> dict[str, str]:
    return {"MUSE_SIMULATED_FAULTS": f"[{','.join(faults)}]"}


def test_skills_that_cannot_be_read_again_are_forgotten(tmp_path: Path) -> None:
    fault = '{"at": "skill/list", "after": 1, "do": "error", "kind": "internal"}'
    with running_adapter(tmp_path, muse="simulated:1.4.13", env=faulty(fault)) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert "review" in adapter.commands(session_id)
        say(adapter, session_id, "skills")
        assert set(adapter.commands(session_id)) == {"compact", "goal", "rename", "status", "output"}
        assert say(adapter, session_id, "/review x").startswith("You said")
        assert adapter.finish() == 0


def test_a_host_that_does_not_list_its_skills_holds_nothing_up(tmp_path: Path) -> None:
    fault = '{"at": "skill/list", "times": null, "do": "hang"}'
    with running_adapter(tmp_path, muse="simulated:1.4.13", env=faulty(fault)) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert say(adapter, session_id, "hello") == "You said: hello — noted ✓"
        assert say(adapter, session_id, "/review x").startswith("You said: /review x")
        assert adapter.finish() == 0


# -- /compact


@each_version
def test_compact(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert "compact" in adapter.commands(session_id)
        first = say(adapter, session_id, "/compact")
        if version in ("1.0.1", "1.1.1", "1.2.1"):
            assert first == "This session cannot be compacted now."
            assert "compact" not in adapter.commands(session_id)
            say(adapter, session_id, "hello")
            assert "compact" in adapter.commands(session_id), "offered again after a turn"
        else:
            assert first == "There is nothing to compact yet."
            say(adapter, session_id, "hello")
            assert say(adapter, session_id, "/compact") == (
                "The context is compacted: 161000 tokens have become 31000."
            )
            assert say(adapter, session_id, "/compact").startswith("The context is compacted"), "each by its own"
        assert adapter.finish() == 0


class Compacts(Plays):
    """A host with `session/compact`: takes it in, and ends the item with the members in `ends`, or never."""

    ends: Json | None = None
    early = False

    def on_session_compact(self, request: Json) -> None:
        if request["params"]["sessionId"] not in self.known:
            return self.refuse(request, "sessionNotFound", "no such session", code=-32020)
        if not self.early:
            self.answer(request, commandId=request["params"]["commandId"], status="accepted")
        members = {"itemId": f"c-{request['params']['commandId']}", "kind": "compaction", "turnId": None}
        started = {**members, "revision": 1, "status": "inProgress"}
        self.event("item/started", request["params"]["sessionId"], item=started)
        if self.ends is not None:
            done = {**members, "revision": 2, "status": "completed", **self.ends}
            self.event("item/completed", request["params"]["sessionId"], item=done)
        if self.early:
            self.answer(request, commandId=request["params"]["commandId"], status="accepted")
        return None

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.known: list[str] = []

    def on_session_start(self, request: Json) -> None:
        super().on_session_start(request)
        self.known.append(f"ses-{os.getpid()}-{self.sessions}")


@pytest.mark.parametrize("early", [False, True], ids=["ack-first", "item-first"])
@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"outcome": "compacted"}, "The context is compacted."),
        ({"outcome": "summarizer_failed"}, "The context was not compacted: The summary could not be made."),
        ({"status": "failed", "failureReason": "no room"}, "The context was not compacted: no room"),
        ({"status": "cancelled"}, "The context was not compacted: cancelled"),
    ],
    ids=["done", "failed-by-outcome", "failed", "cancelled"],
)
def test_compact_ends_as_its_item_does(tmp_path: Path, early: bool, ends: Json, said: str) -> None:
    host = place(tmp_path / "host", Compacts, ends=ends, early=early, scripts=[[ended()]])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert say(adapter, session_id, "/compact") == said
        assert adapter.finish() == 0


def test_compact_can_be_stopped_and_ends_with_its_host(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Compacts, scripts=[[ended()]])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        stopped = adapter.begin_prompt(session_id, "/compact")
        wait_until(lambda: len(host.received("session/compact")) == 2)
        cancel_session(adapter, session_id, stopped)
        assert adapter.response(stopped)["result"] == CANCELLED
        assert adapter.prompt(session_id, "hello") == END_TURN
        lost = adapter.begin_prompt(session_id, "/compact")
        wait_until(lambda: len(host.received("session/compact")) == 3)
        # Once more, so that the one before is known to be acknowledged.
        adapter.prompt(session_id, "hello")
        [pid] = host.pids("serve.pids")
        os.kill(pid, signal.SIGKILL)
        assert adapter.response(lost)["error"]["data"]["reason"] == "hostDied"
        assert adapter.finish() == 0


# -- /goal


@pytest.mark.parametrize("version", GOALS)
def test_a_goal_wakes_the_session_and_is_the_prompts_turn(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert say(adapter, session_id, "/goal").startswith("There is no goal.")
        assert say(adapter, session_id, "/goal pause") == "There is no goal. Set one with /goal OBJECTIVE."
        assert say(adapter, session_id, "/goal stop").startswith("/goal does not know that word; nothing was changed.")
        assert say(adapter, session_id, "/goal plant it") == "You said: plant it — noted ✓"
        assert say(adapter, session_id, "/goal") == "Goal: plant it (active, 0 %)"
        assert say(adapter, session_id, "/goal edit plant two") == "You said: plant two — noted ✓"
        assert say(adapter, session_id, "/goal pause") == "The goal is paused."
        assert say(adapter, session_id, "/goal pause") == "The goal is not in a state for that."
        assert say(adapter, session_id, "/goal resume") == "You said: plant two — noted ✓"
        assert say(adapter, session_id, "/goal clear") == "The goal is cleared."
        assert say(adapter, session_id, "/goal edit").startswith("/goal does not know that word")
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", GOALS)
def test_a_goal_with_a_mention_is_still_a_goal(tmp_path: Path, version: str) -> None:
    (tmp_path / "a b.txt").write_text("x")
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        mention = {"type": "resource_link", "name": "a b.txt", "uri": (tmp_path / "a b.txt").as_uri()}
        answer = say(adapter, session_id, "/goal plant ", mention, {"type": "text", "text": " twice"})
        assert answer == "You said: plant @a b.txt twice — noted ✓"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", GOALS)
def test_a_goal_waits_for_the_prompts_before_it(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 600")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        goal, status = (adapter.begin_prompt(session_id, text) for text in ("/goal plant it", "/status"))
        adapter.notify("$/cancel_request", {"requestId": running})
        assert adapter.response(running)["result"] == CANCELLED
        assert adapter.response(goal)["result"] == adapter.response(status)["result"] == {"stopReason": "end_turn"}
        said = adapter.text(session_id)
        assert said.index("You said: plant it") < said.index("Session: ")
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", GOALS)
def test_a_goal_that_works_can_be_stopped(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        working = adapter.begin_prompt(session_id, "/goal slow 600")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        cancel_session(adapter, session_id, working)
        assert adapter.response(working)["result"] == CANCELLED
        with adapter.one_write():
            early = adapter.begin_prompt(session_id, "/goal slow 600")
            cancel_session(adapter, session_id, early)
        assert adapter.response(early)["result"] == CANCELLED
        assert say(adapter, session_id, "hello") == "You said: hello — noted ✓"
        assert adapter.finish() == 0


# -- /rename, /status, /output


@each_version
def test_rename(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        answer = say(adapter, session_id, "/rename  the old \n orchard ")
        if version not in NAMES:
            assert answer.startswith("You said: /rename")
        else:
            assert answer == "The session is called “the old orchard” now."
            adapter.wait_for_update(lambda update: update.get("title") == "the old orchard")
            assert say(adapter, session_id, "/rename") == "Say what to call the session: /rename NAME"
            assert say(adapter, session_id, f"/rename {'x' * 300}").startswith("Muse refused: ")
        assert adapter.finish() == 0


@each_version
def test_status_and_output_ask_no_host(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.commands(session_id)
        assert say(adapter, session_id, "/output") == "Nothing that was said here has stored output."
        say(adapter, session_id, "shell 300000")
        asked = len(witness.read_text().splitlines())
        rows = dict(row.split(": ", 1) for row in say(adapter, session_id, "/status").split("  \n"))
        assert rows["Session"] == session_id and rows["Muse"] == version
        assert rows["Model"] == "muse-large-2" and rows["Mode"] == "default"
        assert rows["Context"] == "152 of 200000 tokens (0 %)"
        listed = say(adapter, session_id, "/output")
        assert ": 300000 bytes" in listed
        assert (f"output {session_id} " in listed) == (version == "1.2.1"), "a command where reading is verified"
        assert len(witness.read_text().splitlines()) == asked
        picture = {"type": "image", "mimeType": "image/gif", "data": "R0lGODlhAQABAAAAACw="}
        assert say(adapter, session_id, "/status", picture) == "/status takes no pictures; nothing was done."
        assert adapter.finish() == 0


class Goals(ScriptedHost):
    """A host with goals that goes on by itself after the turn of the prompt."""

    def on_goal_set(self, request: Json) -> None:
        params = request["params"]
        if not params["sessionId"].startswith("ses-"):
            return self.refuse(request, "sessionNotFound", "no such session", code=-32020)
        self.answer(request, commandId=params["commandId"], status="accepted", turnId="goal-turn-1")
        session_id = params["sessionId"]
        self.event("turn/started", session_id, turnId="goal-turn-1")
        self.message(session_id, "goal-turn-1", "the first step; ")
        self.complete(session_id, "goal-turn-1")
        self.event("turn/started", session_id, turnId="goal-turn-2")
        self.message(session_id, "goal-turn-2", "the second step")
        self.open_shell(session_id, "goal-turn-2")
        return None

    def on_turn_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        self.complete(params["sessionId"], params["turnId"], "cancelled")

    def on_session_leave(self, request: Json) -> None:
        self.refuse(request, "methodNotFound", "no", code=-32601)


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_what_a_goal_does_by_itself_is_shown_and_stopped(tmp_path: Path, how: str) -> None:
    host = place(tmp_path / "host", Goals)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        response = adapter.response(adapter.begin_prompt(session_id, "/goal plant it"))
        assert response["result"] == END_TURN
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "tool_call")
        assert adapter.text(session_id) == "the first step; the second step"
        shown: list[Any] = [str(frame) for frame in adapter.frames]
        place_of_answer = adapter.frames.index(response)
        assert next(at for at, frame in enumerate(shown) if "the second step" in frame) > place_of_answer
        if how == "cancel":
            cancel_session(adapter, session_id, 0)
        else:
            adapter.call("session/close", {"sessionId": session_id})
        adapter.wait_for_update(lambda update: update.get("status") == "failed")
        assert [frame["params"]["turnId"] for frame in host.received("turn/interrupt")] == ["goal-turn-2"]
        assert adapter.finish() == 0


def test_an_item_that_is_no_compaction_ends_none(tmp_path: Path) -> None:
    script = [item("completed", text="a long answer"), ended()]
    host = place(tmp_path / "host", Compacts, scripts=[script])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        waiting = adapter.begin_prompt(session_id, "/compact")
        wait_until(lambda: len(host.received("session/compact")) == 2)
        assert adapter.prompt(session_id, "hello") == END_TURN
        assert not any(frame.get("id") == waiting and "result" in frame for frame in adapter.frames)
        cancel_session(adapter, session_id, waiting)
        assert adapter.response(waiting)["result"] == CANCELLED
        assert adapter.finish() == 0
