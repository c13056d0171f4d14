"""A ladder of an ACP conversation: an editor and an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspecting import Json, Transcript, rows

S = "sess-1"


def opened() -> Transcript:
    made = Transcript()
    params = {"protocolVersion": 1, "clientInfo": {"name": "zed", "version": "9"}, "clientCapabilities": {"fs": {}}}
    agent = {"name": "muse-adapter", "version": "1"}
    capabilities = {"loadSession": True, "_meta": {"muse/output": {}}}
    made.call("initialize", params, {"protocolVersion": 1, "agentInfo": agent, "agentCapabilities": capabilities})
    made.call("session/new", {"cwd": "/w", "mcpServers": [{}]}, {"sessionId": S, "modes": {"currentModeId": "code"}})
    return made


def update(made: Transcript, **members: object) -> None:
    made.tell("session/update", {"sessionId": S, "update": members})


def chunk(made: Transcript, text: str, message: str = "m1") -> None:
    update(made, sessionUpdate="agent_message_chunk", messageId=message, content={"type": "text", "text": text})


def test_a_prompt_reads_as_what_happened(tmp_path: Path) -> None:
    made = opened()
    prompt = made.ask("session/prompt", {"sessionId": S, "prompt": [{"type": "text", "text": "plant"}]})
    update(made, sessionUpdate="tool_call", toolCallId="c1", title="dig a hole", status="pending")
    options = [{"optionId": "o1", "name": "Yes", "kind": "allow_once"}, {"optionId": "o2", "name": "No"}]
    asked = made.ask(
        "session/request_permission",
        {"sessionId": S, "toolCall": {"toolCallId": "c1"}, "options": options},
        by="server",
    )
    made.answer(asked, {"outcome": {"outcome": "selected", "optionId": "o1"}}, by="client", after=2000)
    update(made, sessionUpdate="tool_call_update", toolCallId="c1", status="failed", content=[{}, {}])
    chunk(made, "It is ")
    chunk(made, "done.")
    chunk(made, "Really.", "m2")
    made.answer(prompt, {"stopReason": "end_turn"})
    update(made, sessionUpdate="session_info_update", title="Planting")
    recording, ladder = made.read(tmp_path)

    assert recording.protocol == "acp"
    assert rows(ladder) == [
        "> initialize zed 9, protocol 1, can fs",
        "< initialize muse-adapter 1, protocol 1, loads sessions, extensions muse/output",
        "> session/new in /w, 1 MCP server",
        "< session/new open, mode code",
        '> session/prompt "plant"',
        "< session/update dig a hole: pending",
        "< session/request_permission may dig a hole? Yes / No",
        "> session/request_permission Yes, allow once",
        "< session/update dig a hole: failed, 2 pieces",
        '< session/update answer: "It is done.", 11 bytes in 2 pieces',
        '< session/update answer: "Really.", 7 bytes',
        "< session/prompt end_turn",
        '< session/update title "Planting"',
    ]
    (turn,) = ladder.turns
    assert (turn.first, turn.last, turn.prompt, turn.outcome, turn.items, turn.asked) == (
        5,
        13,
        '"plant"',
        "end_turn",
        1,
        1,
    )
    assert [entry.turn for entry in ladder.entries] == [None] * 4 + [1] * 8 + [None]
    assert [(one.number, one.answer, one.waited_ms) for one in ladder.asked] == [(7, "Yes, allow once", 2000)]
    assert [(one.id, one.name) for one in ladder.sessions] == [(S, "Planting")]
    assert [entry.words for entry in ladder.totals.failed] == ["dig a hole: failed, 2 pieces"]


def test_prompts_at_once_in_two_sessions_are_two_turns(tmp_path: Path) -> None:
    made = Transcript()
    first = made.ask("session/prompt", {"sessionId": "a", "prompt": []})
    second = made.ask("session/prompt", {"sessionId": "b", "prompt": []})
    for session in ("b", "a"):
        made.tell("session/update", {"sessionId": session, "update": {"sessionUpdate": "plan", "entries": [{}]}})
    made.refuse(first, -32603, "Internal error", {"reason": "hostDied", "details": "the host died"})
    made.answer(second, {"stopReason": "cancelled"})
    _, ladder = made.read(tmp_path, {"protocol": "acp"})

    assert [entry.turn for entry in ladder.entries] == [1, 2, 2, 1, 1, 2]
    assert [(turn.outcome, turn.failed) for turn in ladder.turns] == [
        ("refused: hostDied -32603: the host died", True),
        ("cancelled", False),
    ]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"sessionUpdate": "available_commands_update", "availableCommands": [{}, {}]}, "2 commands"),
        ({"sessionUpdate": "current_mode_update", "currentModeId": "code"}, "mode code"),
        (
            {"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", "currentValue": "x"}]},
            "model = x",
        ),
        ({"sessionUpdate": "plan", "entries": [{"status": "completed"}, {}]}, "plan: 2 entries, 1 done"),
        ({"sessionUpdate": "usage_update", "used": 1200, "size": 5000}, "1,200 of 5,000 tokens in use"),
        ({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}, 'thought: "hm", 2 bytes'),
        ({"sessionUpdate": "agent_message_chunk", "content": {"type": "image"}}, "answer: 1 image"),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"}
            | {"_meta": {"muse/output": {"byteLen": 20_000}}},
            "t: 19.5 KiB stored",
        ),
        ({"sessionUpdate": "tool_call_update", "toolCallId": "?"}, "a tool call not seen before"),
        ({"sessionUpdate": "odd_update"}, "odd update"),
        ({}, ""),
    ],
)
def test_updates(tmp_path: Path, members: Json, said: str) -> None:
    made = Transcript()
    update(made, **members)

    assert rows(made.read(tmp_path, {"protocol": "acp"})[1]) == [f"< session/update {said}".rstrip()]


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
        ({"outcome": {"outcome": "selected", "optionId": "none of them"}}, "none of them"),
        ({}, "answered"),
    ],
)
def test_answers_to_a_permission_that_choose_nothing_offered(tmp_path: Path, result: Json, answer: str) -> None:
    made = Transcript()
    asked = made.ask("session/request_permission", {"sessionId": S, "toolCall": {"title": "dig"}}, by="server")
    made.answer(asked, result, by="client")

    assert [one.answer for one in made.read(tmp_path, {"protocol": "acp"})[1].asked] == [answer]


def test_reads_of_stored_output_are_told(tmp_path: Path) -> None:
    made = Transcript()
    read = {"sessionId": S, "itemId": "i", "outputRef": "out-1", "offsetBytes": 0}
    made.call("_muse/readOutput", read, {"byteLen": 10, "offsetBytes": 0, "eof": False, "mediaType": "text/plain"})
    _, ladder = made.read(tmp_path, {"protocol": "acp"})

    assert [one.served for one in ladder.reads] == ["10 bytes, from byte 0, text/plain, more follows"]
