"""Nothing of what is somebody's own is left in a redacted frame, and what makes it a frame is."""

from __future__ import annotations

import base64
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.recorder.redact import MOST_OPEN, MOST_VARIABLES, SHORTEST, Redactor, masked

CANARY = "hunter2"
UUID = "0198f000-0000-7000-8000-000000000001"


def redacted(frame: dict[str, Any], *, of_client: bool = False, redactor: Redactor | None = None) -> dict[str, Any]:
    return (redactor or Redactor()).frame(frame, of_client=of_client)


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


SECRETS: dict[str, dict[str, Any]] = {
    "a prompt of MSP": request("turn/start", input=[{"type": "text", "text": f"say {CANARY}"}], displayText=CANARY),
    "a prompt of ACP": request(
        "session/prompt",
        prompt=[
            {"type": "text", "text": CANARY},
            {"type": "resource", "resource": {"uri": f"file:///home/{CANARY}/a.py", "text": CANARY}},
            {"type": "image", "mimeType": "image/png", "data": CANARY},
            {"type": "resource_link", "uri": f"file:///{CANARY}", "name": CANARY, "title": CANARY},
        ],
    ),
    "MCP servers of MSP": request(
        "session/start",
        config={
            "mcpServers": {
                CANARY: {"command": CANARY, "args": ["--token", CANARY], "env": {CANARY: CANARY}},
                "web": {"url": f"https://{CANARY}.example/{CANARY}", "headers": {f"X-{CANARY}": f"Bearer {CANARY}"}},
            }
        },
    ),
    "MCP servers of ACP": request(
        "session/new",
        cwd=f"/home/{CANARY}/x",
        mcpServers=[
            {"name": CANARY, "command": f"/bin/{CANARY}", "args": [CANARY], "env": [{"name": CANARY, "value": CANARY}]},
            {"type": "http", "name": "n", "url": CANARY, "headers": [{"name": "Authorization", "value": CANARY}]},
        ],
    ),
    "paths": request("session/start", workspaceRoot=f"C:\\Users\\{CANARY}\\x", museHome=f"~/{CANARY}"),
    "arguments": request(
        "item/completed",
        item={
            "kind": "toolCall",
            "tool": f"mcp__{CANARY}__read",
            "args": orjson.dumps({"command": CANARY, CANARY: [CANARY, {"kind": CANARY, "id": CANARY}]}).decode(),
            "displayLabel": {"active": CANARY, "done": CANARY},
            "visibleOutput": f"{CANARY}\nmore",
            "outputRef": {"id": UUID, "uri": f"muse://{CANARY}", "path": f"/{CANARY}", "digest": CANARY},
        },
    ),
    "arguments that are no JSON": request("x", rawArgs=f"{{{CANARY}", args=f'["{CANARY}"'),
    "cards": request(
        "session/update",
        update={
            "sessionUpdate": "tool_call",
            "title": CANARY,
            "rawInput": {"kind": CANARY, "status": CANARY, "id": CANARY, "headers": {CANARY: CANARY}},
            "rawOutput": CANARY,
            "locations": [{"path": f"/{CANARY}/a"}],
            "content": [
                {"type": "diff", "path": CANARY, "oldText": CANARY, "newText": CANARY},
                {"type": "content", "content": {"type": "text", "text": CANARY}},
            ],
            "_meta": {"other.example/thing": {"kind": CANARY}, "muse/output": {"sessionId": UUID, "name": CANARY}},
        },
    ),
    "deltas": request("item/delta", itemId=UUID, delta=f"and {CANARY}"),
    "stored output": {"jsonrpc": "2.0", "id": 1, "result": {"content": CANARY, "encoding": "utf8", "byteLen": 7}},
    "questions": request(
        "userInput/request",
        questions=[{"id": CANARY, "header": CANARY, "question": CANARY, "options": [{"label": CANARY}]}],
    ),
    "answers": request("userInput/answer", answers=[{"questionId": CANARY, "freeText": CANARY, "note": CANARY}]),
    "an elicitation": request(
        "elicitation/create", message=CANARY, requestedSchema={"type": "object", "properties": {CANARY: {"type": "x"}}}
    ),
    "filters": request("session/list", filter={"branch": {"anyOf": [CANARY], "allOf": [CANARY]}}),
    "a marketplace": request("plugin/marketplace/add", source=CANARY),
    "members of a method that is not known": request(
        "session/somethingNew",
        **dict.fromkeys(("id", "source", "event", "level", "category", "fields", "status", "reason"), CANARY),
    ),
    "a method of somebody's": request(f"_{CANARY}/login", id=CANARY),
    "what is not known in an error": {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": 1, "message": CANARY, "data": {"kind": "internal", "reason": CANARY, "status": CANARY}},
    },
    "what anybody puts anywhere": request(
        "session/prompt",
        prompt=[{"type": "text", "text": "x", "_meta": {CANARY: CANARY, "id": CANARY, "type": CANARY}}],
    ),
    "a capability": request(
        "initialize", protocolVersion=1, clientCapabilities={CANARY: CANARY, "fs": {CANARY: True}, "type": CANARY}
    ),
    "a host that says more": {"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"id": CANARY}, "source": CANARY}},
    "an answer to it": {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {CANARY: CANARY}}},
    "errors": {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": 1, "message": CANARY, "data": {"kind": "x", "details": CANARY, "path": f"/{CANARY}"}},
    },
    "names": request(
        "x", name=CANARY, title=CANARY, objective=CANARY, description=CANARY, summary=[CANARY], hint=CANARY
    ),
    "reasons": request("userInput/cancel", reason=CANARY),
    "what is not known": request(
        "x", somethingNew={"kind": CANARY, CANARY: CANARY}, another=[CANARY], id=f"a {CANARY}"
    ),
    "unlikely values of harmless members": request(
        f"x {CANARY}",
        kind=f"{CANARY}!",
        status=f"to {CANARY}",
        sessionId=f"/{CANARY}",
        createdAt=CANARY,
        mode=f"{CANARY}\n",
    ),
    "unlikely names": {"jsonrpc": "2.0", f"/{CANARY}": 1, "params": {f"{CANARY} ": CANARY, f"/x/{CANARY}": {}}},
    "an id": {"jsonrpc": "2.0", "id": f"{CANARY} {CANARY}", "method": "x"},
    "commands": request("x", availableCommands=[{"name": CANARY, "description": CANARY, "input": {"hint": CANARY}}]),
    "a shell": request("x", subject={"kind": "shell", "command": CANARY, "stages": [{"argv": [CANARY]}]}),
}


@pytest.mark.parametrize("of_client", [True, False], ids=["client", "server"])
@pytest.mark.parametrize("frame", SECRETS.values(), ids=list(SECRETS))
def test_nothing_secret_is_left(frame: dict[str, Any], of_client: bool) -> None:
    redactor = Redactor()
    written = orjson.dumps([redacted(frame, of_client=of_client, redactor=redactor), sorted(redactor.variables)])

    assert CANARY.encode() in orjson.dumps(frame)
    assert CANARY.encode() not in written


def test_what_makes_it_a_frame_stays() -> None:
    frame = {
        "jsonrpc": "2.0",
        "id": "r1",
        "method": "item/completed",
        "params": {
            "sessionId": UUID,
            "viewCursor": f"v:{UUID}:3",
            "sourceRange": {"stream": {"kind": "run", "id": UUID}, "first": {"id": UUID, "sequence": 3}},
            "item": {
                "itemId": f"{UUID}-i1",
                "kind": "toolCall",
                "status": "completed",
                "revision": 2,
                "recordedAt": "2026-01-02T03:04:05.678Z",
                "tool": "bash",
                "callId": "call_2",
                "truncated": True,
                "durationMs": 12345,
                "turnId": None,
                "outputRef": {"id": "out-1", "kind": "tool_output", "byteLen": 300000, "availability": "available"},
            },
        },
        "emittedAtMs": 1767323045678,
    }
    redactor = Redactor()

    assert redacted(frame, of_client=True, redactor=redactor) == frame
    assert not redactor.variables


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(st.characters(exclude_categories=["Cs"])))
def test_pieces_of_a_text_go_together_as_they_did(one: str, other: str) -> None:
    assert len(masked(one).encode()) == len(one.encode())
    assert masked(one).count("\n") == one.count("\n")
    if not (one + other).endswith("=") and not one.endswith("="):
        assert masked(one) + masked(other) == masked(one + other)
    assert set(masked(one)) <= set("x\né字😀=")


@pytest.mark.parametrize("text", ["aGk=", "aA==", "aGVsbG8h"])
def test_base64_stays_base64_of_as_many_bytes(text: str) -> None:
    assert len(base64.b64decode(masked(text), validate=True)) == len(base64.b64decode(text))
    assert masked("a" + "=" * 40) == "x" * 41


def test_the_same_text_has_the_same_stand_in_and_none_leads_back() -> None:
    redactor, other = Redactor(), Redactor()

    assert redactor.stand_in("make a plan") == redactor.stand_in("make a plan") != redactor.stand_in("make a plan!")
    assert redactor.stand_in("make a plan") != other.stand_in("make a plan")
    assert len(redactor.stand_in("é" * 20)) == 40
    assert len(redactor.stand_in("a")) == SHORTEST


def test_paths_keep_their_structure() -> None:
    redactor = Redactor(b"key")
    root, file = redactor.stand_in("/home/me/project"), redactor.stand_in("/home/me/project/src/../a.py")

    assert file.startswith(root + "/") and file.count("/") == 6 and "/../" in file
    assert redactor.stand_in("C:\\Users\\me").startswith("C:\\")
    assert redactor.stand_in("file:///home/me").startswith("file:///")
    assert redactor.stand_in("/") == "/"


def test_what_the_user_said_is_one_thing_wherever_it_is() -> None:
    redactor = Redactor()
    prompt = redacted(
        request("turn/start", input=[{"type": "text", "text": "do it"}]), of_client=True, redactor=redactor
    )
    said = prompt["params"]["input"][0]["text"]
    item = redacted(request("item/started", item={"kind": "userMessage", "text": "do it"}), redactor=redactor)
    chunk = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "do it"}}
    update = redacted(request("session/update", update=chunk), redactor=redactor)

    assert item["params"]["item"]["text"] == update["params"]["update"]["content"]["text"] == said != masked("do it")
    assert redactor.variables == {"params.input[*].text"}
    answer = redacted(request("item/started", item={"kind": "agentMessage", "text": "do it"}), redactor=redactor)
    assert answer["params"]["item"]["text"] == masked("do it")


def test_what_a_client_says_in_its_own_way_is_known_by_its_place() -> None:
    redactor = Redactor()
    redacted(SECRETS["MCP servers of MSP"], of_client=True, redactor=redactor)
    redacted(SECRETS["MCP servers of ACP"], of_client=True, redactor=redactor)
    redacted(SECRETS["stored output"], of_client=False, redactor=redactor)

    assert redactor.variables == {"params.config.mcpServers", "params.mcpServers", "params.cwd"}


def test_places_are_not_remembered_without_end() -> None:
    redactor = Redactor()
    for number in range(MOST_VARIABLES + 10):
        redacted(request("turn/start", **{f"name{number}": "text"}), of_client=True, redactor=redactor)

    assert len(redactor.variables) == MOST_VARIABLES


def test_arguments_keep_the_names_that_everybody_has() -> None:
    args = {"path": "/a/b", "line": 48213, "mine": True, "x": [0.25, None]}
    frame = redacted(request("item/started", item={"args": orjson.dumps(args).decode()}))
    found = orjson.loads(frame["params"]["item"]["args"])

    path, line, mine, others = found.values()
    assert list(found)[:2] == ["path", "line"] and not {"mine", "x"} & set(found)
    assert path.count("/") == 2
    assert line != 48213 and len(str(line)) == 5
    assert (mine, others) == (True, [0.5, None])


def test_what_is_not_known_keeps_no_name_and_may_be_missing_when_it_plays() -> None:
    redactor = Redactor()
    told = redacted(request("turn/start", sessionId=UUID, somethingNew=True), of_client=True, redactor=redactor)

    name, kept = list(told["params"].items())[1]
    assert name not in ("somethingNew", "sessionId") and kept is True
    assert redactor.variables == {f"params.{name}"}


@pytest.mark.parametrize(
    ("method", "kept"), [("_acme/log/in", "_?/?/?"), ("_muse/readOutput", None), ("session/new2", None), ("a b", "?")]
)
def test_a_method_of_somebodys_keeps_its_shape(method: str, kept: str | None) -> None:
    told = redacted({"method": method})["method"]

    if kept is None:
        assert told == method
    else:
        assert told != method and re.fullmatch(kept.replace("?", "[a-z]{8}"), told)


def test_an_answer_is_known_by_its_request_alone() -> None:
    redactor = Redactor()
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"turnId": UUID, "status": "accepted"}}
    redacted(request("turn/start"), of_client=True, redactor=redactor)

    # The client answers nobody with it.
    assert UUID not in str(redacted(answer, of_client=True, redactor=redactor))
    assert UUID in str(redacted(answer, redactor=redactor)) and UUID not in str(redacted(answer, redactor=redactor))


def test_requests_that_are_never_answered_are_not_remembered_without_end() -> None:
    redactor = Redactor()
    for number in range(MOST_OPEN + 10):
        redacted({"id": number, "method": "turn/start"}, of_client=True, redactor=redactor)

    assert len(redactor._open) == MOST_OPEN


def test_a_form_plays_though_its_fields_have_other_names() -> None:
    schema = {
        "type": "object",
        "properties": {"branch name": {"type": "string", "title": "t"}},
        "required": ["branch name"],
    }
    told = redacted(request("elicitation/create", mode="form", requestedSchema=schema))["params"]["requestedSchema"]

    (name,) = told["required"]
    assert name != "branch name" and told["properties"][name]["type"] == "string" and told["type"] == "object"
