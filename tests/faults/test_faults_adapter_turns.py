"""Faults of groups H, J, K and O: how turns end, what cards show, text that comes once, and schemas. The adapter as a
process, hosts that play a turn in an odd way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from tests.adapter_process import Json, running_adapter
from tests.faults.scripted_turns import Plays, Step, ack, delta, ended, event, item, pause, started, tool
from tests.faults.with_host import opened, serves_on
from tests.scripted_hosts import ScriptedHost, place

END_TURN: Final[Json] = {"stopReason": "end_turn"}
HELLO: Final = [item("started", text=""), delta("hello"), item("completed", text="hello"), ended()]
"""A turn as it should be."""


# -- H: order, stop reason, failure


@pytest.mark.acp(63)
def test_h1_every_update_comes_before_the_answer(tmp_path: Path) -> None:
    words = [f"{number} " for number in range(200)]
    script = [
        item("started", text=""),
        *(delta(word) for word in words),
        item("completed", text="".join(words)),
        ended(),
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        case.adapter.pause = 0.01
        prompt = case.begin()
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert case.text() == "".join(words)
        assert case.adapter.frames[-1]["id"] == prompt


@pytest.mark.acp(66)
def test_h3_a_failed_turn_is_an_error_with_the_text_of_the_host(tmp_path: Path) -> None:
    failure = {"kind": "modelError", "message": "demo quota used up", "retryable": False}
    script = [item("started", text=""), delta("one "), delta("two"), ended("failed", error=failure)]
    with opened(tmp_path, Plays, scripts=[script, HELLO]) as case:
        error = case.adapter.response(case.begin())["error"]
        assert error["data"]["details"] == "demo quota used up"
        assert case.text() == "one two"
        assert case.prompt() == END_TURN


LIMIT: Final = {"message": "the output is cut", "retryable": False}


@pytest.mark.acp(65)
@pytest.mark.parametrize(
    ("members", "stop_reason"),
    [
        ({"terminal": "failed", "error": {"kind": "outputLimit", **LIMIT}}, "max_tokens"),
        ({"terminal": "completed", "reason": "length"}, "max_tokens"),
        ({"terminal": "failed", "error": {"kind": "stepLimit", **LIMIT}}, "max_turn_requests"),
        ({"terminal": "failed", "reason": "stepLimit"}, "max_turn_requests"),
        ({"terminal": "completed", "reason": "refusal"}, "refusal"),
    ],
    ids=["output", "length", "steps", "steps-as-reason", "refusal"],
)
def test_h2_a_limit_is_told_as_what_it_is(tmp_path: Path, members: dict[str, Any], stop_reason: str) -> None:
    with opened(tmp_path, Plays, scripts=[[*HELLO[:-1], ended(**members)]]) as case:
        assert case.prompt() == {"stopReason": stop_reason}
        assert case.text() == "hello"


def call(finish: str) -> Step:
    """The end of one call of the model."""
    return event("session/tokenUsage", turnId="$T", modelId="m", finishReason=finish)


FAILED: Final = {"terminal": "failed", "error": {"kind": "modelError", "message": "", "retryable": False}}


@pytest.mark.acp(65)
@pytest.mark.parametrize(
    ("calls", "members", "stop_reason"),
    [
        (["length"], {}, "max_tokens"),
        (["stop", "max_tokens"], {}, "max_tokens"),
        (["length", "stop"], {}, "end_turn"),
        (["content_filter"], {}, "refusal"),
        (["length"], FAILED, "max_tokens"),
    ],
    ids=["length", "later", "gone on", "filter", "failed"],
)
def test_h2_why_the_model_stopped_at_last_counts(
    tmp_path: Path, calls: list[str], members: dict[str, Any], stop_reason: str
) -> None:
    with opened(tmp_path, Plays, scripts=[[*HELLO[:-1], *map(call, calls), ended(**members)], HELLO]) as case:
        assert case.prompt()["stopReason"] == stop_reason
        assert case.prompt() == END_TURN


@pytest.mark.acp(66)
@pytest.mark.parametrize(
    "members",
    [{"error": {"kind": "modelError"}, "reason": "demo quota used up"}, {"error": "demo quota used up"}],
    ids=["reason", "text"],
)
def test_h3_the_text_of_the_host_is_kept_wherever_it_stands(tmp_path: Path, members: Json) -> None:
    with opened(tmp_path, Plays, scripts=[[*HELLO[:-1], ended("failed", **members)]]) as case:
        error = case.adapter.response(case.begin())["error"]
        assert error["data"]["details"] == "demo quota used up"
        assert " " not in error["data"]["hostKind"]


@pytest.mark.acp(65)
@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"terminal": "completed", "reason": "paused_by_policy"},
            {"terminal": "completed", "reason": "paused_by_policy"},
        ),
        ({"terminal": "paused_by_policy"}, {"terminal": "paused_by_policy"}),
        ({"terminal": None}, {"terminal": "unknown"}),
        ({"terminal": "completed", "reason": 7, "usage": [], "durationMs": "long"}, None),
        ({"terminal": "completed", "reason": "x" * 10_000}, {"terminal": "completed", "reason": "x" * 499 + "…"}),
    ],
    ids=["reason", "terminal", "no-terminal", "odd-members", "long"],
)
def test_h4_no_stop_reason_is_invented(tmp_path: Path, members: dict[str, Any], said: Json | None) -> None:
    with opened(tmp_path, Plays, scripts=[[*HELLO[:-1], ended(**members)]]) as case:
        beside = {} if said is None else {"_meta": {"muse/turn": said}}
        assert case.prompt() == {"stopReason": "end_turn", **beside}


@pytest.mark.parametrize("turn_id", [None, "$T", "turn-nobody"], ids=["no-turn", "ended-turn", "foreign-turn"])
def test_h5_a_notice_outside_of_turns_is_not_shown(tmp_path: Path, turn_id: str | None) -> None:
    notice = [
        item("started", "n", text="", turnId=turn_id),
        delta("a notice", "n"),
        item("completed", "n", text="a notice", turnId=turn_id),
    ]
    late = [pause(0.1), *(item("completed", f"n{at}", text="another", turnId=turn_id) for at in range(2))]
    with opened(tmp_path, Plays, scripts=[[*HELLO, *notice, *late], HELLO]) as case:
        assert case.prompt() == END_TURN
        # The host answers this when it has said all of that.
        case.adapter.new_session(tmp_path)
        assert case.prompt() == END_TURN
        assert case.text() == "hellohello"


@pytest.mark.parametrize(
    "turn_id", ["$O", "turn-nobody", None, "", 7, {}], ids=["stale", "foreign", "none", "", "7", "{}"]
)
def test_h6_the_end_of_another_turn_ends_nothing(tmp_path: Path, turn_id: Any) -> None:
    odd = ended(turn_id=turn_id, terminal="failed")
    script = [
        item("started", text=""),
        delta("hel"),
        odd,
        pause(0.1),
        delta("lo"),
        item("completed", text="hello"),
        ended(),
    ]
    with opened(tmp_path, Plays, scripts=[HELLO, script]) as case:
        case.prompt("one")
        assert case.prompt("two") == END_TURN
        assert case.text() == "hellohello"


@pytest.mark.parametrize(
    "script",
    [
        [started(), *HELLO, ack()],
        [started(), *HELLO[:2], ack(), *HELLO[2:]],
        [started(), *HELLO, ack("$T-other")],
        [started(), *HELLO[:-1], ack("$T-other"), ended(turn_id="$T-other")],
        [*HELLO, ack()],
        [item("completed", "$T-u", "userMessage", text="go", commandId="$C"), *HELLO, ack("$T-other")],
    ],
    ids=["before", "half", "other-id", "ends-as-other", "never-started", "known-by-its-message"],
)
def test_h7_a_turn_that_begins_before_it_is_acknowledged(tmp_path: Path, script: list[Step]) -> None:
    with opened(tmp_path, Plays, scripts=[script]) as case:
        assert case.prompt() == END_TURN
        assert case.prompt() == END_TURN
        assert case.text() == "hellohello"


# -- J: tool calls


def test_j1_cards_end_before_the_answer(tmp_path: Path) -> None:
    script = [tool("started", "a"), tool("started", "b", status="rejected"), tool("started", "c", turnId=None), ended()]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        prompt = case.begin()
        assert case.adapter.response(prompt)["result"] == END_TURN
        assert {name: card["status"] for name, card in case.cards().items()} == dict.fromkeys("abc", "failed")
        assert case.adapter.frames[-1]["id"] == prompt


def test_j1_cards_of_a_turn_with_two_ids_end_with_it(tmp_path: Path) -> None:
    script = [started(), tool("started", "a"), ack("$T-other"), ended(turn_id="$T-other")]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        assert case.prompt() == END_TURN
        assert case.cards()["a"]["status"] == "failed"


def test_j2_a_completion_alone_makes_a_whole_card(tmp_path: Path) -> None:
    with opened(tmp_path, Plays, scripts=[[tool("completed", visibleOutput="done"), ended()]]) as case:
        case.prompt()
        [update] = case.adapter.updates()
        assert (update["sessionUpdate"], update["title"], update["status"]) == ("tool_call", "make all", "completed")


def test_j3_an_end_without_content_leaves_the_content_alone(tmp_path: Path) -> None:
    script = [
        tool("started", visibleOutput=""),
        delta("the output", "t", "output"),
        tool("updated", visibleOutput="the output"),
        tool("completed"),
        ended(),
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        case.prompt()
        assert "content" not in case.adapter.updates()[-1]
        assert "the output" in str(case.cards()["t"]["content"])
        assert case.cards()["t"]["status"] == "completed"


@pytest.mark.parametrize(
    ("kind", "members", "status", "shown"),
    [
        ("userShell", {"status": "failed", "exitCode": 3, "visibleOutput": "oh"}, "failed", ["oh", "exit code 3"]),
        ("userShell", {"status": "failed", "exitSignal": 9, "visibleOutput": "oh"}, "failed", ["oh", "signal 9"]),
        ("userShell", {"exitCode": 1, "visibleOutput": ""}, "completed", ["exit code 1"]),
        ("userShell", {"exitCode": 0, "visibleOutput": "fine"}, "completed", ["fine"]),
        (
            "toolCall",
            {"status": "failed", "failureReason": "exit status 3", "visibleOutput": "oh"},
            "failed",
            ["oh", "exit status 3"],
        ),
        ("toolCall", {"visibleOutput": ""}, "completed", []),
    ],
    ids=["exit-3", "signal-9", "search-1", "exit-0", "tool-failed", "tool-quiet"],
)
def test_j4_the_host_judges_and_the_code_is_passed_on(
    tmp_path: Path, kind: str, members: dict[str, Any], status: str, shown: list[str]
) -> None:
    with opened(tmp_path, Plays, scripts=[[item("completed", "t", kind, commandText="x", **members), ended()]]) as case:
        case.prompt()
        card = case.cards()["t"]
        assert card["status"] == status
        text = card["content"][0]["content"]["text"] if "content" in card else ""
        assert all(words in text for words in shown), text
        assert bool(text) == bool(shown)
        assert "exit code 0" not in text


# -- K: text once


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ([delta("ab", None), delta("cd", None), delta("ef", None), item("completed", text="abcdef")], "abcdef"),
        ([item("started", text=""), delta("ab", field=None), delta("cd"), item("completed", text="abcd")], "abcd"),
        ([delta("ab"), delta("cd"), delta("ef"), item("completed", text="abcdef")], "abcdef"),
        ([item("started", text="ab"), delta("cd"), item("completed", text="abcd")], "abcd"),
        ([item("completed", text="abcd"), item("completed", text="abcd"), delta("ab")], "abcd"),
    ],
    ids=["without-id", "without-field", "never-started", "started-with-text", "repeated"],
)
def test_k1_an_answer_is_shown_once(tmp_path: Path, script: list[Step], text: str) -> None:
    with opened(tmp_path, Plays, scripts=[[*script, ended()]]) as case:
        case.prompt()
        assert case.text() == text


def test_k2_the_prompt_is_not_echoed(tmp_path: Path) -> None:
    attachments = [{"type": "image", "mediaType": "image/png", "width": 1, "height": 1}]
    echo = item("completed", "u", "userMessage", text="go", commandId="$C", attachments=attachments)
    with opened(tmp_path, Plays, scripts=[[echo, *HELLO]]) as case:
        case.prompt()
        assert {update["sessionUpdate"] for update in case.adapter.updates()} == {"agent_message_chunk"}
        assert case.text() == "hello"


def test_k3_the_tail_of_an_answer_is_added(tmp_path: Path) -> None:
    script = [
        *(item("started", text=""), delta("ab"), item("completed", text="abcdef")),
        *(item("completed", "j", text="xyz"), ended()),
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        case.prompt()
        assert case.text() == "abcdefxyz"


def test_k4_a_late_empty_start_changes_nothing(tmp_path: Path) -> None:
    script = [
        *(delta("ab"), pause(0.05), delta("cd"), item("started", text=""), delta("ef")),
        *(item("started", text=""), item("completed", text="abcdef"), item("started", text=""), ended()),
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        case.prompt()
        assert case.text() == "abcdef"


@pytest.mark.acp(69)
def test_k5_each_answer_has_an_id_of_its_own(tmp_path: Path) -> None:
    script = [
        *(item("started", text=""), delta("one"), pause(0.02), delta(" more"), item("completed", text="one more")),
        *(tool("started"), tool("completed"), item("started", "j", text=""), delta("two", "j")),
        *(item("completed", "j", text="two"), ended()),
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        case.prompt()
        texts: dict[str, str] = {}
        for update in case.adapter.updates():
            if update["sessionUpdate"] == "agent_message_chunk":
                texts[update["messageId"]] = texts.get(update["messageId"], "") + update["content"]["text"]
        assert list(texts.values()) == ["one more", "two"]


# -- O: schemas and vocabularies


@pytest.mark.acp(26)
@pytest.mark.parametrize("version", [0, 1, 2, 999])
def test_o2_any_version_is_answered_with_ours(tmp_path: Path, version: int) -> None:
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        assert adapter.initialize(protocolVersion=version)["protocolVersion"] == 1
        serves_on(adapter, tmp_path)


@pytest.mark.acp(27, 32)
@pytest.mark.parametrize("version", [None, "2", -1, 1.5, True, [], {}, 2**70])
def test_o2_what_is_no_version_is_refused(tmp_path: Path, version: Any) -> None:
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        params = {} if version is None else {"protocolVersion": float(version) if version == 2**70 else version}
        assert adapter.refused("initialize", params)["code"] == -32602
        assert adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})["code"] == -32600
        adapter.initialize()
        serves_on(adapter, tmp_path)


@pytest.mark.acp(80)
def test_o1_o3_unknown_words_do_not_fail_a_turn(tmp_path: Path) -> None:
    script = [
        event("item/sparkle", item={"itemId": "s"}, colour="red"),
        event("session/moodChanged", mood=None),
        item("completed", "m", "mural", fallbackText="a mural"),
        item("completed", "n", "mural"),
        item("completed", "w", "toolCall", status="simmering"),
        event("item/completed", item={"itemId": "bare"}),
        event("item/completed", item={"itemId": "typed", "kind": 7, "status": [], "revision": "x", "turnId": 3}),
        event("item/completed", item=None),
        event("item/started"),
        event("turn/started", turnId=None),
        event("approval/requested", approvalId=None),
        event("approval/updated", approvalId="nobody", change={"kind": "odd"}),
        event("approval/resolved"),
        event("userInput/requested"),
        event("session/todoListChanged", items=[1, {"content": None}]),
        event("session/contextUsage", used="many"),
        event("view/gap", after=1),
        *HELLO,
    ]
    with opened(tmp_path, Plays, scripts=[script]) as case:
        assert case.prompt() == END_TURN
        assert case.text() == "hello"
        assert case.cards()["m"]["title"] == "a mural"
        assert case.cards()["w"]["status"] == "failed"


@pytest.mark.acp(34, 106)
def test_o7_nothing_is_asked_of_a_client_that_offers_nothing(tmp_path: Path) -> None:
    edit = '{"path":"a.txt","content":"x"}'
    script = [tool("started", "e", tool="write_file", args=edit), tool("completed", "e", tool="write_file", args=edit)]
    with opened(tmp_path, Plays, scripts=[[*script, tool("started"), tool("completed"), *HELLO]]) as case:
        case.prompt()
        assert not [frame for frame in case.adapter.frames if "method" in frame and "id" in frame]


class Refuses(ScriptedHost):
    """Refuses prompts the way `kinds` say, one after the other."""

    kinds: ClassVar[list[str]] = []

    def on_turn_start(self, request: Json) -> None:
        self.refuse(request, self.kinds.pop(0), "not now", code=-32000)


def test_o9_the_code_for_logins_is_used_for_nothing_else(tmp_path: Path) -> None:
    kinds = ["sessionInUse", "sessionNotFound", "commandRejected", "modelBusy", "authRequired"]
    host = place(tmp_path / "host", Refuses, kinds=kinds)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        text = [{"type": "text", "text": "go"}]
        early = adapter.refused("session/prompt", {"sessionId": "ses-gone", "prompt": text})
        adapter.initialize()
        adapter.initialize()
        unknown = adapter.refused("session/prompt", {"sessionId": "ses-gone", "prompt": text})
        session_id = adapter.new_session(tmp_path)
        refusals = [adapter.refused("session/prompt", {"sessionId": session_id, "prompt": text}) for _ in kinds]
        codes = [error["code"] for error in [early, unknown, *refusals]]
        assert codes == [-32600, -32002, -32600, -32002, -32603, -32603, -32000]
        serves_on(adapter, tmp_path)
