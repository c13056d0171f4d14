"""The MSP type oracle can fail: one frame per kind of fault, each refused with its method and path."""

from __future__ import annotations

import copy
from typing import Any

import muse_code_msp as msp
import pytest

from tests.oracles.msp_types import (
    NEWEST,
    OLDER_HOST_GAPS,
    Direction,
    check_client_frame,
    check_server_frame,
    check_transcript,
)
from tests.oracles.shapes import members_of

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"clientInfo": {"name": "tester", "version": "1"}},
}
HANDSHAKE: dict[str, Any] = {
    "serverInfo": {"name": "muse-session-server", "version": "1.4.13"},
    "userAgent": "muse-session-server/1.4.13",
    "museHome": "/home/someone/.muse",
    "platformFamily": "unix",
    "platformOs": "linux",
    "schema": {"version": 1, "fingerprint": "sha256:00"},
    "grantedCapabilities": [],
    "experimentalApi": False,
}
RANGE: dict[str, Any] = {
    "stream": {"kind": "run", "id": "t1"},
    "first": {"id": "e1", "sequence": 1},
    "last": {"id": "e1", "sequence": 1},
}
ITEM: dict[str, Any] = {"itemId": "i1", "kind": "agentMessage", "revision": 1, "status": "completed", "text": "hi"}
COMPLETED: dict[str, Any] = {"sessionId": "s1", "viewCursor": "v:1", "sourceRange": RANGE, "item": ITEM}
SETTLED: dict[str, Any] = {
    "sessionId": "s1",
    "viewCursor": "v:1",
    "sourceRange": RANGE,
    "userInputId": "u1",
    "outcome": "cancelled",
    "answers": [],
    "clarification": None,
    "reason": None,
    "decidedByCommandId": None,
}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "emittedAtMs": 1}


def success(result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def failure(code: int, **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", "data": data}}


def without(obj: dict[str, Any], *path: str) -> dict[str, Any]:
    changed = copy.deepcopy(obj)
    at = changed
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return changed


@pytest.mark.parametrize(
    "frame",
    [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "initialized"},
        {"jsonrpc": "2.0", "id": "a", "method": "usage/read"},
        request("turn/start", sessionId="s", commandId="c", input=[{"type": "text", "text": "hi"}], ifBusy="queue"),
        request("turn/start", sessionId="s", commandId="c", input=[]) | {"trace": {"traceparent": "00-1-2-01"}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        failure(-32601, kind="methodNotFound", retryable=False),
    ],
    ids=str,
)
def test_a_good_client_frame_passes(frame: dict[str, Any]) -> None:
    check_client_frame(frame)


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ([], "must be an object"),
        (without(INITIALIZE, "jsonrpc"), "'jsonrpc'"),
        (INITIALIZE | {"id": True}, "initialize.id"),
        (INITIALIZE | {"id": None}, "initialize.id"),
        (INITIALIZE | {"id": 1.0}, "initialize.id"),
        (INITIALIZE | {"params": None}, "params must be left out"),
        (INITIALIZE | {"result": {}}, "a method and an answer"),
        (without(INITIALIZE, "params"), "'clientInfo'"),
        (without(INITIALIZE, "params", "clientInfo", "name"), "params.clientInfo"),
        (INITIALIZE | {"trace": "00-1"}, "initialize.trace"),
        (request("initialize", clientInfo={"name": "x", "version": 1}), "params.clientInfo.version"),
        (request("turn/start", sessionId="s", input=[]), "'commandId'"),
        (request("turn/start", sessionId="s", commandId="c", input=[], ifBusy="wait"), "turn/start params.ifBusy"),
        (request("turn/start", sessionId="s", commandId="c", input=[{"type": "sound"}]), "params.input[0].type"),
        (request("turn/start", sessionId="s", commandId="c", input=[], inputs=[]), "declares no member 'inputs'"),
        (request("view/page", sessionId="s", limit=True), "params.limit"),
        (request("usage/read"), "takes no params"),
        (request("turn/begin"), "no such method"),
        ({"jsonrpc": "2.0", "method": "session/closed", "params": {}}, "not a client's notification"),
        ({"jsonrpc": "2.0", "method": "initialized", "emittedAtMs": 1}, "only a host"),
        ({"jsonrpc": "2.0", "id": 1}, "exactly one of result and error"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}, "result must be {}"),
        (failure(-32601, kind="internal"), "does not go with kind 'internal'"),
    ],
    ids=str,
)
def test_a_bad_client_frame_is_refused(frame: Any, problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_client_frame(frame)
    assert problem in str(caught.value)


def test_a_client_that_probes_unknown_methods_can_say_so() -> None:
    check_client_frame(request("turn/begin", anything=1), closed=False)


@pytest.mark.parametrize(
    ("frame", "method"),
    [
        (success(HANDSHAKE), "initialize"),
        (success(HANDSHAKE | {"newMember": 1}), "initialize"),
        (success({"anything": 1}), "session/tomorrow"),
        (notification("item/completed", COMPLETED), None),
        (notification("item/completed", COMPLETED | {"item": ITEM | {"kind": "hologram", "status": "odd"}}), None),
        (notification("session/tomorrow", {"any": 1}), None),
        (success({"events": [{"method": "item/completed", "params": COMPLETED}], "nextCursor": None}), "view/page"),
        (failure(-32600, kind="notInitialized"), "session/list"),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}}, None),
    ],
    ids=str,
)
def test_a_good_server_frame_passes(frame: dict[str, Any], method: str | None) -> None:
    check_server_frame(frame, method)


@pytest.mark.parametrize(
    ("frame", "method", "problem"),
    [
        (success(None), "initialize", "server frame.result"),
        (success(without(HANDSHAKE, "schema")), "initialize", "'schema'"),
        (success(HANDSHAKE | {"platformOs": "plan9"}), "initialize", "initialize result.platformOs"),
        (success(HANDSHAKE | {"experimentalApi": 0}), "initialize", "result.experimentalApi"),
        (success(HANDSHAKE) | {"error": {}}, "initialize", "exactly one"),
        (success(HANDSHAKE), None, "which no request has"),
        (notification("item/completed", without(COMPLETED, "viewCursor")), None, "'viewCursor'"),
        (notification("item/completed", without(COMPLETED, "item", "revision")), None, "params.item"),
        (notification("item/completed", COMPLETED | {"item": None}), None, "item/completed params.item"),
        (notification("item/completed", COMPLETED) | {"emittedAtMs": "now"}, None, "emittedAtMs"),
        (notification("initialized", {}), None, "takes no params"),
        (request("approval/request", sessionId="s"), None, "'approvalId'"),
        (
            success(
                {"events": [{"method": "item/completed", "params": without(COMPLETED, "item")}], "nextCursor": None}
            ),
            "view/page",
            "result.events[0] item/completed params",
        ),
        (
            success({"events": [{"method": "item/completed", "params": {}}], "nextCursor": None}),
            "view/page",
            "events[0]",
        ),
        (success({"events": []}), "view/page", "'nextCursor'"),
        (failure(-32600, kind="internal"), "session/list", "does not go with kind"),
        (failure(-32600), "session/list", "'kind'"),
        (failure(-1, kind="internal"), "session/list", "no such code as -1"),
        (failure(-32020, kind="sessionNotFound") | {"id": None}, None, "a null id"),
        (notification("userInput/settled", SETTLED), None, "'decidedAt'"),
    ],
    ids=str,
)
def test_a_bad_server_frame_is_refused(frame: dict[str, Any], method: str | None, problem: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_server_frame(frame, method)
    assert problem in str(caught.value)


@pytest.mark.parametrize("receipt", ["cron", "other"])
def test_a_discriminator_picks_the_arm_of_a_union(receipt: str) -> None:
    families: dict[str, Any] = {"cron": {"jobs": "none"}, "other": {"jobs": "none"}}
    item = ITEM | {
        "kind": "toolCall",
        "toolReceipt": {"family": receipt, "operation": "x", "outcome": "y", "details": families[receipt]},
    }
    frame = notification("item/completed", COMPLETED | {"item": item})
    if receipt == "other":
        return check_server_frame(frame, None)
    with pytest.raises(AssertionError, match=r"toolReceipt\.details"):
        check_server_frame(frame, None)
    return None


def test_an_older_host_is_excused_for_what_it_lacks_and_for_nothing_else() -> None:
    check_server_frame(notification("userInput/settled", SETTLED), None, profile="1.3.0")
    with pytest.raises(AssertionError, match="'outcome'"):
        check_server_frame(notification("userInput/settled", without(SETTLED, "outcome")), None, profile="1.3.0")


@pytest.mark.parametrize("profile", OLDER_HOST_GAPS)
def test_every_gap_is_a_required_member_of_the_newest_types(profile: str) -> None:
    for type_name, member in OLDER_HOST_GAPS[profile]:
        declared = getattr(msp, type_name)
        assert member in declared.__required_keys__, (type_name, member)
        assert member in members_of(declared)
    assert not OLDER_HOST_GAPS[NEWEST]


def test_closed_server_frames_refuse_what_nobody_declares() -> None:
    page = {"events": [{"method": "item/completed", "params": COMPLETED}], "nextCursor": None}
    check_server_frame(success(page), "view/page", closed=True)
    for frame in (
        notification("item/completed", COMPLETED | {"item": ITEM | {"txt": "typo"}}),
        notification("item/complete", COMPLETED),
        request("approval/ask"),
    ):
        with pytest.raises(AssertionError):
            check_server_frame(frame, None, closed=True)


@pytest.mark.parametrize(
    ("frames", "problem"),
    [
        ([("client", INITIALIZE), ("server", success({}))], r"frame 2 \(server\): initialize result"),
        ([("client", INITIALIZE), ("server", success(HANDSHAKE) | {"id": "1"})], "answers no open request"),
        ([("client", INITIALIZE), ("server", success(HANDSHAKE)), ("server", success(HANDSHAKE))], "frame 3"),
        ([("client", INITIALIZE), ("client", INITIALIZE)], "id 1 is in use"),
        ([("client", success({}))], "answers no open request"),
    ],
)
def test_a_transcript_pairs_answers_with_requests(frames: list[tuple[Direction, Any]], problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_transcript(frames)


def test_both_sides_have_their_own_ids() -> None:
    ask = request("userInput/request", **without(SETTLED, "outcome"))
    ask["params"] |= {"itemId": "i", "questions": [], "toolCallId": "t", "toolName": "ask", "turnId": "t"}
    check_transcript([("client", INITIALIZE), ("server", ask), ("client", success({})), ("server", success(HANDSHAKE))])
