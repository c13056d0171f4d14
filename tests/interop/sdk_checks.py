"""What the official TypeScript SDK's client must be able to do with the adapter on the simulated host."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.interop.acpx import isolated_environment
from tests.interop.checks import Check, expect, expect_equal
from tests.interop.commands import run
from tests.interop.toolchain import Toolchain
from tests.interop.transcript import Transcript

Json = dict[str, Any]

CLIENT: Final = Path(__file__).with_name("sdk_client.mjs")

CONVERSATION_SECONDS: Final = 90.0
"""How long the whole conversation may take; it takes about four."""

RESOURCE_NOT_FOUND: Final = -32002


class Conversation(NamedTuple):
    """What `sdk_client.mjs` printed: the frames, and what the SDK made of them by step."""

    said: Transcript
    steps: dict[str, Json]


class Player:
    """Plays the conversation once; all checks look at that one."""

    def __init__(self, toolchain: Toolchain, adapter: list[str], home: Path, workspace: Path) -> None:
        self._command = [str(toolchain.node), str(CLIENT), str(toolchain.modules), str(workspace), *adapter]
        self._env = isolated_environment(home, toolchain.node.parent)
        self._workspace = workspace
        self._conversation: Conversation | None = None

    def play(self) -> None:
        done = run(self._command, self._workspace, self._env, CONVERSATION_SECONDS)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-1000:]}")
        self._conversation = read_conversation(done.stdout)
        expect_equal("what has no answer", self._conversation.said.open_requests(), [])

    def check(self, holds: Callable[[Conversation], None]) -> None:
        expect(self._conversation is not None, "there was no conversation")
        assert self._conversation is not None
        holds(self._conversation)


def sdk_checks(toolchain: Toolchain, adapter: list[str], home: Path, workspace: Path) -> list[Check]:
    """In the order in which they must run: the first one plays what the others look at."""
    player = Player(toolchain, adapter, home, workspace)
    checks = {
        "initialize gives version 1 and the agent's name": initializes,
        "a prompt streams its text": streams,
        "a tool shows on a card": shows_a_tool,
        "a permission that is given lets the tool run": allows,
        "a permission that is refused keeps the tool from running": rejects,
        "session/cancel ends the turn as cancelled": cancels,
        "$/cancel_request ends the turn as cancelled": aborts,
        "a session goes on after its turns were stopped": goes_on,
        "a new session tells its modes and options": tells_its_options,
        "an option that is set comes back in a complete list": sets_an_option,
        "modes that are set are announced, in both forms": announces_modes,
        "session/list has the session under its first prompt": lists,
        "session/fork makes another session": forks,
        "session/load shows the conversation before it answers": loads,
        "session/resume shows nothing of it": resumes,
        "a prompt in an unknown session is refused": refuses,
        "the adapter exits with 0 when its stdin ends": exits,
    }
    whole = Check("TypeScript SDK: plays a conversation whose every frame is as the schema says", player.play)
    looks = [Check(f"TypeScript SDK: {name}", partial(player.check, holds)) for name, holds in checks.items()]
    return [whole, *looks]


def read_conversation(text: str) -> Conversation:
    """Raises AssertionError on a frame that is not as the schema says."""
    said, steps = Transcript(), {}
    for line in text.splitlines():
        entry = json.loads(line)
        if "step" in entry:
            steps[entry["step"]] = entry
        else:
            said.add(entry["frame"], entry["sender"])
    return Conversation(said, steps)


def initializes(conversation: Conversation) -> None:
    step = conversation.steps["initialize"]
    expect_equal("the version and the name", (step["protocolVersion"], step["agent"]), (1, "muse-adapter"))


def streams(conversation: Conversation) -> None:
    step = conversation.steps["stream"]
    expect_equal("the stop reason", step["stopReason"], "end_turn")
    expect_equal("the bytes of the text", len(step["text"].encode()), 200 * 64)


def shows_a_tool(conversation: Conversation) -> None:
    step = conversation.steps["tool"]
    expect_equal("the first update", step["updates"][0], "tool_call")
    expect("tool_call_update" in step["updates"], "the card was never updated")
    expect_equal("the end", (step["text"], step["stopReason"]), ("The command wrote 300 bytes ✓", "end_turn"))


def allows(conversation: Conversation) -> None:
    step = conversation.steps["allowed"]
    expect_equal("the end", (step["text"], step["stopReason"]), ("It is done ✓", "end_turn"))


def rejects(conversation: Conversation) -> None:
    step = conversation.steps["rejected"]
    expect_equal("the end", (step["text"], step["stopReason"]), ("Then I leave it — as you wish.", "end_turn"))


def cancels(conversation: Conversation) -> None:
    expect_equal("the stop reason", conversation.steps["cancelled"]["stopReason"], "cancelled")
    expect("session/cancel" in conversation.said.sent("client"), "session/cancel was not sent")


def aborts(conversation: Conversation) -> None:
    expect_equal("the stop reason", conversation.steps["aborted"]["stopReason"], "cancelled")
    expect("$/cancel_request" in conversation.said.sent("client"), "$/cancel_request was not sent")


def goes_on(conversation: Conversation) -> None:
    step = conversation.steps["afterwards"]
    expect_equal("the end", (step["text"], step["stopReason"]), ("You said: hello — noted ✓", "end_turn"))


def tells_its_options(conversation: Conversation) -> None:
    step = conversation.steps["new"]
    expect_equal("the mode", step["modes"]["currentModeId"], "default")
    expect({"mode", "approval_mode", "model"} <= set(_values(step)), f"the options are {list(_values(step))}")


def sets_an_option(conversation: Conversation) -> None:
    before, after = _values(conversation.steps["new"]), _values(conversation.steps["option"])
    expect_equal("the options", after, before | {"approval_mode": "denyUnmatched"})
    expect_equal("the options after a load", _values(conversation.steps["load"]), after)


def announces_modes(conversation: Conversation) -> None:
    session_id = conversation.steps["list"]["sessionId"]
    modes = conversation.said.updates("current_mode_update", session_id=session_id)
    expect_equal("the modes", [update["currentModeId"] for update in modes][:2], ["plan", "default"])
    options = conversation.said.updates("config_option_update", session_id=session_id)
    told = [_values({"options": update["configOptions"]})["mode"] for update in options]
    expect("plan" in told and told[-1] == "default", f"the mode option was {told}")


def lists(conversation: Conversation) -> None:
    step = conversation.steps["list"]
    titles = {row["sessionId"]: row["title"] for row in step["sessions"]}
    expect_equal("the title", titles.get(step["sessionId"]), "to be found again")


def forks(conversation: Conversation) -> None:
    step = conversation.steps["fork"]
    expect(step["forked"] != step["sessionId"], "the fork has the id of its source")


def loads(conversation: Conversation) -> None:
    asked, answered = _span(conversation, "session/load")
    shown = Transcript()
    shown.frames = conversation.said.frames[asked:answered]
    session_id = conversation.steps["load"]["sessionId"]
    users = [update["content"]["text"] for update in shown.updates("user_message_chunk", session_id=session_id)]
    expect_equal("the prompts", users, ["to be found again"])
    expect_equal("the answer", shown.text(session_id), "You said: to be found again — noted ✓")


def resumes(conversation: Conversation) -> None:
    asked, answered = _span(conversation, "session/resume")
    shown = Transcript()
    shown.frames = conversation.said.frames[asked:answered]
    expect_equal("what was shown", shown.updates("user_message_chunk", "agent_message_chunk"), [])
    expect_equal("the mode", conversation.steps["resume"]["modes"]["currentModeId"], "default")


def _span(conversation: Conversation, method: str) -> tuple[int, int]:
    """Where the only request of a method and its answer stand."""
    asked, answered = [at for at, frame in enumerate(conversation.said.frames) if frame.method == method]
    return asked, answered


def _values(step: Json) -> Json:
    return {option["id"]: option["currentValue"] for option in step["options"]}


def refuses(conversation: Conversation) -> None:
    expect_equal("the code", conversation.steps["unknown session"]["code"], RESOURCE_NOT_FOUND)


def exits(conversation: Conversation) -> None:
    expect_equal("the exit code", conversation.steps["exit"]["code"], 0)
