"""Nothing of what is somebody's own is left in a redacted frame, and what makes it a frame is."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.recorder import harmless
from adapter.hosts.recorder.redact import MOST_VARIABLES, SHORTEST, Redactor, masked

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
    "paths": request("x", workspaceRoot=f"C:\\Users\\{CANARY}\\x", museHome=f"/home/{CANARY}", path=f"~/{CANARY}"),
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


JSON = st.recursive(
    st.just(f"x{CANARY}\n") | st.just(CANARY + " y") | st.integers() | st.none() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*sorted(harmless.OBJECTS | harmless.WORDS | harmless.IDS | harmless.OPEN), f"{CANARY}!"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["params", "result", "error", "id", "method"]), JSON), st.booleans())
def test_wherever_it_is_nothing_secret_is_left(frame: dict[str, Any], of_client: bool) -> None:
    redactor = Redactor()
    written = str([redacted(frame, of_client=of_client, redactor=redactor), redactor.variables])

    assert CANARY not in written
    orjson.dumps(redacted(frame, of_client=of_client))


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
                "outputRef": {"id": "out-1", "kind": "tool_output", "byteLen": 300000, "availability": "available"},
            },
            "availableChoices": [{"choiceId": "allow_once", "decision": "approved", "scope": "once"}],
            "durationMs": 12345,
            "nothing": None,
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
    item = redacted(request("x", item={"kind": "userMessage", "text": "do it"}), redactor=redactor)
    chunk = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "do it"}}
    update = redacted(request("session/update", update=chunk), redactor=redactor)

    assert item["params"]["item"]["text"] == update["params"]["update"]["content"]["text"] == said != masked("do it")
    assert redactor.variables == {"params.input[*].text"}
    answer = redacted(request("x", item={"kind": "agentMessage", "text": "do it"}), redactor=redactor)
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
        redacted(request("x", **{f"name{number}": "text"}), of_client=True, redactor=redactor)

    assert len(redactor.variables) == MOST_VARIABLES


def test_arguments_keep_the_names_that_everybody_has() -> None:
    args = {"path": "/a/b", "line": 48213, "mine": True, "x": [0.25, None]}
    found = orjson.loads(redacted(request("x", args=orjson.dumps(args).decode()))["params"]["args"])

    path, line, mine, others = found.values()
    assert list(found)[:2] == ["path", "line"] and not {"mine", "x"} & set(found)
    assert path.count("/") == 2
    assert line != 48213 and len(str(line)) == 5
    assert (mine, others) == (True, [0.5, None])


def test_every_name_is_listed_in_one_way_only() -> None:
    assert not harmless.OPEN & harmless.OBJECTS
    assert not harmless.STREAMED & (harmless.WORDS | harmless.IDS)
    assert not harmless.LEFT_OUT & (harmless.OBJECTS | harmless.WORDS | harmless.IDS)
