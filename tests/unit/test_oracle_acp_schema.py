"""The oracle for ACP frames must be able to say no."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from adapter.acp import errors, updates
from adapter.acp.capabilities import AgentCapabilities, PromptCapabilities
from adapter.acp.tool_content import diff_content, terminal_content, text_content
from adapter.acp.updates import TextChunk
from adapter.wire.envelope import failure_object, notification_object, request_object, success_object
from tests.oracles.acp_schema import (
    NEWER_THAN_ORACLE,
    NEWER_UPDATES,
    check_agent_frame,
    check_client_frame,
    check_transcript,
)

SES = "ses-alder"
INITIALIZED: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": AgentCapabilities(
        prompt=PromptCapabilities(image=True, audio=True, embedded_context=True),
        mcp_http=True,
        mcp_sse=True,
        load_session=True,
        list_sessions=True,
        resume_session=True,
        close_session=True,
        delete_session=True,
        additional_directories=True,
        logout=True,
    ).wire({"muse/output": {"version": 1}}),
    "agentInfo": {"name": "muse-adapter", "title": "Muse", "version": "0.1.0"},
    "authMethods": [
        {"id": "muse-login", "name": "Log in"},
        {"id": "muse-terminal", "name": "Log in", "type": "terminal", "args": ["--login"], "env": {"A": "b"}},
    ],
}
OPTION: dict[str, Any] = {
    "id": "model",
    "name": "Model",
    "type": "select",
    "category": "model",
    "currentValue": "m1",
    "options": [{"value": "m1", "name": "One"}, {"value": "m2", "name": "Two", "description": "Larger"}],
}

GOOD_UPDATES = [
    TextChunk(SES, "agent_message_chunk", "hi", "m1").params(),
    TextChunk(SES, "agent_thought_chunk", "hm").params(),
    updates.chunk(SES, "user_message_chunk", {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}, "m2"),
    updates.tool_call(SES, "itm-1", {"title": "Look"}),
    updates.tool_call(
        SES,
        "itm-1",
        {
            "title": "Edit",
            "name": "edit_file",
            "kind": "edit",
            "status": "pending",
            "content": [
                text_content("x"),
                diff_content("/a", None, "b"),
                diff_content("/a", "a", "b"),
                terminal_content("t1"),
            ],
            "locations": [updates.location("/a", 1), updates.location("/b")],
            "rawInput": {"any": [1, None, {"deep": 1.5}]},
            "rawOutput": "text",
        },
        meta={"muse/output": {"byteLen": 3}},
    ),
    updates.tool_call_update(SES, "itm-1", {"status": "failed", "rawOutput": []}, meta={"muse/output": None}),
    updates.plan(SES, [updates.plan_entry("Dig", "low", "in_progress")]),
    updates.plan(SES, []),
    updates.available_commands(SES, [updates.command("/dig", "Dig", "where"), updates.command("rest", "Rest")]),
    updates.current_mode(SES, "plan"),
    updates.config_options(SES, [OPTION]),
    updates.session_info(SES),
    updates.session_info(SES, title=None, updated_at="2026-01-02T03:04:05Z", meta={"muse/output": {"n": 1}}),
    updates.usage(SES, 5, 100),
    updates.usage(SES, 5, 100, cost=1),
    updates.notice(SES, "info", "Cut", "More"),
    updates.compaction(SES, "c1", "in_progress"),
    updates.compaction(SES, "c1", "completed", summary=[{"type": "text", "text": "x"}]),
]


@pytest.mark.parametrize("params", GOOD_UPDATES, ids=lambda params: params["update"]["sessionUpdate"])
def test_every_update_we_build_is_right(params: dict[str, Any]) -> None:
    check_agent_frame(notification_object(updates.METHOD, params))


GOOD_RESULTS: list[tuple[str, dict[str, Any]]] = [
    ("initialize", INITIALIZED),
    ("authenticate", {}),
    ("session/new", {"sessionId": SES}),
    (
        "session/new",
        {
            "sessionId": SES,
            "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "Ask"}]},
            "configOptions": [OPTION],
        },
    ),
    ("session/load", {}),
    ("session/resume", {"configOptions": []}),
    ("session/list", {"sessions": []}),
    ("session/list", {"sessions": [{"sessionId": SES, "cwd": "/srv", "title": "x"}], "nextCursor": "c"}),
    ("session/close", {}),
    ("session/delete", {}),
    ("session/set_mode", {}),
    ("session/set_config_option", {"configOptions": [OPTION]}),
    ("session/prompt", {"stopReason": "end_turn", "_meta": {"x": 1}}),
    ("_muse/readOutput", {"anything": 1}),
]


@pytest.mark.parametrize(("method", "result"), GOOD_RESULTS)
def test_good_results_are_right(method: str, result: dict[str, Any]) -> None:
    check_agent_frame(success_object(1, result), method)


def bad_update(**members: Any) -> dict[str, Any]:
    return notification_object("session/update", {"sessionId": SES, "update": members})


TEXT = {"type": "text", "text": "x"}
CARD = {"sessionUpdate": "tool_call", "toolCallId": "i", "title": "t"}

BAD_FRAMES = {
    "camelCase discriminator": bad_update(sessionUpdate="agentMessageChunk", content=TEXT),
    "unknown variant": bad_update(sessionUpdate="orchard", content=TEXT),
    "unstable variant": bad_update(sessionUpdate="plan_removed", planId="p"),
    "no variant": bad_update(content=TEXT),
    "modeId": bad_update(sessionUpdate="current_mode_update", modeId="a"),
    "modeId beside the right one": bad_update(sessionUpdate="current_mode_update", currentModeId="a", modeId="a"),
    "missing title": bad_update(sessionUpdate="tool_call", toolCallId="i"),
    "missing id": bad_update(sessionUpdate="tool_call_update", title="t"),
    "invented kind": bad_update(**CARD, kind="shell"),
    "invented status": bad_update(**CARD, status="cancelled"),
    "bare block as content": bad_update(**CARD, content=[TEXT]),
    "camelCase content type": bad_update(**CARD, content=[{"type": "Diff", "path": "/a", "newText": "b"}]),
    "snake_case member": bad_update(sessionUpdate="tool_call", tool_call_id="i", title="t"),
    "snake_case optional member": bad_update(**CARD, raw_input={}),
    "unknown member": bad_update(**CARD, colour="red"),
    "unknown nested member": bad_update(sessionUpdate="agent_message_chunk", content={**TEXT, "colour": "red"}),
    "negative line": bad_update(**CARD, locations=[{"path": "/a", "line": -1}]),
    "meta that is no object": bad_update(**CARD, _meta=[1]),
    "number as text": bad_update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": 1}),
    "plan without priority": bad_update(sessionUpdate="plan", entries=[{"content": "x", "status": "pending"}]),
    "usage as text": bad_update(sessionUpdate="usage_update", used="5", size=100),
    "usage as float": bad_update(sessionUpdate="usage_update", used=5.0, size=100),
    "usage without size": bad_update(sessionUpdate="usage_update", used=5),
    "notice without title": bad_update(sessionUpdate="notice", severity="info", title=""),
    "notice of unknown severity": bad_update(sessionUpdate="notice", severity="fatal", title="x"),
    "notice with more": bad_update(sessionUpdate="notice", severity="info", title="x", colour="red"),
    "compaction without status": bad_update(sessionUpdate="compaction_update", compactionId="c"),
    "no session id": notification_object("session/update", {"update": CARD}),
    "unknown root member": {
        **notification_object("session/update", {"sessionId": SES, "update": CARD}),
        "emittedAt": 1,
    },
    "no jsonrpc": {"method": "session/update", "params": {"sessionId": SES, "update": CARD}},
    "update as a request": request_object(1, "session/update", {"sessionId": SES, "update": CARD}),
    "unknown notification": notification_object("session/orchard", {}),
    "a client's request": request_object(1, "session/new", {"cwd": "/a", "mcpServers": []}),
    "bad id": request_object(1.5, "fs/read_text_file", {"sessionId": SES, "path": "/a"}),  # type: ignore[arg-type]
    "permission without options": request_object(
        1, "session/request_permission", {"sessionId": SES, "toolCall": {"toolCallId": "i"}}
    ),
    "permission of unknown kind": request_object(
        1,
        "session/request_permission",
        {
            "sessionId": SES,
            "toolCall": {"toolCallId": "i"},
            "options": [{"optionId": "o", "name": "n", "kind": "allow"}],
        },
    ),
    "error with null data": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x", "data": None}},
    "error with a text code": {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "x"}},
    "error of several lines": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x\ny"}},
    "error and result": {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}, "result": {}},
    "result with null id": {"jsonrpc": "2.0", "id": None, "result": {}},
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_o1_a_bad_frame_is_refused(name: str) -> None:
    with pytest.raises(AssertionError, match=":"):
        check_agent_frame(BAD_FRAMES[name])


def with_capabilities(**changed: Any) -> dict[str, Any]:
    return {**INITIALIZED, "agentCapabilities": {**INITIALIZED["agentCapabilities"], **changed}}


BAD_RESULTS: list[tuple[str, Any]] = [
    ("session/prompt", {"stopReason": "error"}),
    ("session/prompt", {"stopReason": "endTurn"}),
    ("session/prompt", {}),
    ("session/prompt", {"stopReason": "end_turn", "usage": {"totalTokens": 1, "inputTokens": 1, "outputTokens": 0}}),
    ("session/prompt", {"stopReason": "end_turn", "colour": "red"}),
    ("session/load", None),
    ("session/new", {}),
    ("session/new", {"sessionId": 1}),
    ("session/new", {"sessionId": SES, "configOptions": [{**OPTION, "label": "Model"}]}),
    ("session/new", {"sessionId": SES, "modes": {"currentModeId": "a", "availableModes": [{"id": "a"}]}}),
    ("session/set_config_option", {}),
    ("session/list", {}),
    ("session/list", {"sessions": [{"sessionId": SES}]}),
    ("initialize", {**INITIALIZED, "protocolVersion": "1"}),
    ("initialize", {**INITIALIZED, "protocolVersion": True}),
    ("initialize", {**INITIALIZED, "authMethods": [{"id": "x"}]}),
    ("initialize", {**INITIALIZED, "agentInfo": {"name": "x"}}),
    ("initialize", with_capabilities(loadSession="true")),
    ("initialize", with_capabilities(sessionCapabilities={"list": True})),
    ("initialize", with_capabilities(sessionCapabilities={"list": False})),
    ("initialize", with_capabilities(auth={"logout": True})),
    ("initialize", with_capabilities(promptCapabilities={"image": {}})),
    ("initialize", with_capabilities(museOutput={"version": 1})),
    ("session/request_permission", {"outcome": {"outcome": "cancelled"}}),
]


@pytest.mark.parametrize(("method", "result"), BAD_RESULTS)
def test_o1_a_bad_result_is_refused(method: str, result: Any) -> None:
    with pytest.raises(AssertionError, match=":"):
        check_agent_frame(success_object(1, result), method)


def test_a_result_cannot_be_checked_without_its_method() -> None:
    with pytest.raises(AssertionError, match="method of its request"):
        check_agent_frame(success_object(1, {}))


def test_the_message_names_the_place() -> None:
    with pytest.raises(AssertionError, match=r"^result\.agentCapabilities\.sessionCapabilities\.list: "):
        check_agent_frame(success_object(1, with_capabilities(sessionCapabilities={"list": True})), "initialize")
    with pytest.raises(AssertionError, match=r"^params\.update\.colour: "):
        check_agent_frame(BAD_FRAMES["unknown member"])


def test_our_errors_are_right() -> None:
    for error in (errors.auth_required("Log in"), errors.invalid_params("cwd", "is required")):
        check_agent_frame(failure_object("a", error))
        check_agent_frame(failure_object(None, error))


def test_requests_to_the_client_are_checked() -> None:
    options = [{"optionId": "o", "name": "Allow", "kind": "allow_once"}]
    card = {"toolCallId": "itm-1", "title": "Edit", "name": "edit_file", "kind": "edit", "rawInput": {}}
    params = {"sessionId": SES, "toolCall": card, "options": options}
    check_agent_frame(request_object(0, "session/request_permission", params))
    check_agent_frame(notification_object("$/cancel_request", {"requestId": 0}))
    check_agent_frame(notification_object("_orchard/anything", {"x": 1}))


def test_client_frames_are_checked_too() -> None:
    offered = {"fs": {"readTextFile": True}, "session": {"notices": {}, "compaction": {}}, "_meta": {"muse/output": 1}}
    check_client_frame(request_object(1, "initialize", {"protocolVersion": 1, "clientCapabilities": offered}))
    check_client_frame(request_object(2, "session/new", {"cwd": "/a", "mcpServers": []}))
    value = {"sessionId": SES, "configId": "c", "value": True, "type": "boolean"}
    check_client_frame(request_object(3, "session/set_config_option", value))
    check_client_frame(notification_object("session/cancel", {"sessionId": SES}))
    selected = {"outcome": {"outcome": "selected", "optionId": "o"}}
    check_client_frame(success_object(0, selected), "session/request_permission")
    for frame in (
        request_object(2, "session/new", {"cwd": "/a"}),
        request_object(2, "session/prompt", {"sessionId": SES, "content": []}),
        request_object(2, "initialize", {"protocolVersion": "1"}),
        request_object(2, "session/cancel", {"sessionId": SES}),
    ):
        with pytest.raises(AssertionError):
            check_client_frame(frame)
    with pytest.raises(AssertionError):
        check_client_frame(success_object(0, {"outcome": {"optionKind": "allow"}}), "session/request_permission")


def test_what_is_newer_than_the_oracle_is_listed_with_a_reason() -> None:
    assert all(reason for reason in NEWER_THAN_ORACLE.values())
    assert all(reason for _required, _optional, reason in NEWER_UPDATES.values())
    with pytest.raises(AssertionError, match="name"):
        check_agent_frame(bad_update(sessionUpdate="plan", entries=[], name="x"))


def lines(*frames: dict[str, Any]) -> list[bytes]:
    return [orjson.dumps(frame) + b"\n" for frame in frames]


ASKED = lines(
    request_object(1, "session/list", {}),
    request_object("1", "session/new", {"cwd": 5}),
    request_object(1, "session/close", {"sessionId": SES}),
)
ANSWERED = [
    success_object(1, {"sessions": []}),
    failure_object("1", errors.invalid_params("cwd", "must be a string")),
    success_object(1, {}),
    failure_object(None, errors.not_initialized()),
]


def test_a_transcript_pairs_answers_with_requests() -> None:
    assert check_transcript(lines(*ANSWERED), [*ASKED, b"{oops\n", b"[]\n", b'{"id":true,"method":"x"}\n']) == ANSWERED


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (lines(*ANSWERED[:2]), "without an answer"),
        (lines(*ANSWERED, success_object("1", {})), "line 5: answers the request '1', which is not open"),
        (lines(*ANSWERED[1:3], ANSWERED[0]), "line 2: result.sessions"),
        ([b"hello\n", *lines(*ANSWERED)], "not JSON"),
        ([b"[]\n", *lines(*ANSWERED)], "not an object"),
        ([b'{"jsonrpc":"2.0",\r\n', *lines(*ANSWERED)], "line break"),
        ([b'{"jsonrpc":"2.0","id":1,"result":NaN}\n'], "not JSON"),
    ],
)
def test_a_bad_transcript_is_refused(written: list[bytes], problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_transcript(written, ASKED)
