"""What a line is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapter.wire.envelope import (
    MAX_ID_CHARS,
    BadResponse,
    Failure,
    Frame,
    Notification,
    Reject,
    Request,
    RpcError,
    Success,
    classify,
    failure_object,
    notification_object,
    read_line,
    request_object,
    success_object,
)
from adapter.wire.framing import Oversize
from adapter.wire.head import scan_head

USABLE_IDS: list[Any] = [
    0,
    1,
    -1,
    41,
    2**63 - 1,
    -(2**63),
    9007199254740993,
    "",
    "1",
    "a-b",
    "温室",
    "x" * MAX_ID_CHARS,
]
UNUSABLE_IDS: list[Any] = [None, True, False, 1.5, 1.0, [], [1], {}, {"a": 1}, "x" * (MAX_ID_CHARS + 1)]


def show(value: Any) -> str:
    return json.dumps(value)[:24]


@pytest.mark.parametrize("request_id", USABLE_IDS, ids=show)
def test_ids_keep_type_and_value(request_id: Any) -> None:
    frame = read_line(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "do"}).encode())
    assert isinstance(frame, Request)
    assert (type(frame.id), frame.id) == (type(request_id), request_id)
    success = read_line(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {}}).encode())
    assert isinstance(success, Success)
    assert (type(success.id), success.id) == (type(request_id), request_id)


@pytest.mark.parametrize("request_id", UNUSABLE_IDS, ids=show)
def test_a_request_with_an_odd_id_is_refused_without_id(request_id: Any) -> None:
    frame = classify({"jsonrpc": "2.0", "id": request_id, "method": "do"})
    assert isinstance(frame, Reject)
    assert (frame.id, frame.code, frame.reason) == (None, -32600, "badId")


@pytest.mark.parametrize("request_id", [1 << 64, -(1 << 64), 1e300])
def test_a_number_beyond_64_bits_is_no_id(request_id: Any) -> None:
    for method in ("do", "do\ud800"):
        frame = read_line(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method}).encode())
        assert isinstance(frame, Reject)
        assert (frame.id, frame.code) == (None, -32600)


@pytest.mark.parametrize(
    ("value", "frame"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "do"}, Request(1, "do", {})),
        ({"jsonrpc": "2.0", "id": 1, "method": "do", "params": None}, Request(1, "do", {})),
        ({"jsonrpc": "2.0", "id": 1, "method": "do", "params": {"a": 1}, "more": 2}, Request(1, "do", {"a": 1})),
        ({"jsonrpc": "2.0", "id": 1, "method": "do", "trace": {"traceparent": "00"}},
         Request(1, "do", {}, {"traceparent": "00"})),
        ({"jsonrpc": "2.0", "id": 1, "method": "do", "result": {}}, Request(1, "do", {})),
        ({"jsonrpc": "2.0", "id": 1, "method": ""}, Request(1, "", {})),
        ({"jsonrpc": "2.0", "method": "tell"}, Notification("tell", {})),
        ({"jsonrpc": "2.0", "method": "tell", "params": {"a": 1}, "emittedAtMs": 5}, Notification("tell", {"a": 1})),
        ({"jsonrpc": "2.0", "method": "tell", "params": None}, Notification("tell", {})),
        ({"jsonrpc": "2.0", "method": "tell", "params": [1]}, Notification("tell", {})),
        ({"jsonrpc": "2.0", "id": "1", "result": {"a": 1}, "more": 2}, Success("1", {"a": 1})),
        ({"jsonrpc": "2.0", "id": 1, "result": None}, Success(1, {})),
        ({"id": 1, "result": {}}, Success(1, {})),
    ],
)  # fmt: skip
def test_frames(value: Any, frame: Frame) -> None:
    assert classify(value) == frame


@pytest.mark.parametrize(
    ("value", "reply_id", "code", "reason"),
    [
        ([], None, -32600, "batch"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "do"}], None, -32600, "batch"),
        (None, None, -32600, "notAnObject"),
        (17, None, -32600, "notAnObject"),
        ("hi", None, -32600, "notAnObject"),
        (True, None, -32600, "notAnObject"),
        ({}, None, -32600, "notJsonRpc"),
        ({"id": 5, "method": "do"}, 5, -32600, "notJsonRpc"),
        ({"jsonrpc": "1.0", "id": "a", "method": "do"}, "a", -32600, "notJsonRpc"),
        ({"jsonrpc": 2.0, "method": "tell"}, None, -32600, "notJsonRpc"),
        ({"jsonrpc": "2.0"}, None, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": 5}, 5, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": 5, "method": None}, 5, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": 5, "method": 7}, 5, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": 5, "method": None, "result": {}}, 5, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": [5], "method": 7}, None, -32600, "noMethod"),
        ({"jsonrpc": "2.0", "id": 5, "method": "do", "params": [1]}, 5, -32602, "invalidParams"),
        ({"jsonrpc": "2.0", "id": 5, "method": "do", "params": "a"}, 5, -32602, "invalidParams"),
        ({"jsonrpc": "2.0", "id": 5, "method": "do", "params": False}, 5, -32602, "invalidParams"),
    ],
)
def test_rejects(value: Any, reply_id: Any, code: int, reason: str) -> None:
    frame = classify(value)
    assert isinstance(frame, Reject)
    assert (frame.id, frame.code, frame.reason) == (reply_id, code, reason)
    error = frame.error()
    assert error.code == code
    assert error.data is not None
    assert error.data["reason"] == reason


def test_a_reject_of_params_names_the_member() -> None:
    frame = classify({"jsonrpc": "2.0", "id": 5, "method": "do", "params": [1]})
    assert isinstance(frame, Reject)
    assert frame.error().data == {"reason": "invalidParams", "field": "params"}


@pytest.mark.parametrize("line", [b"{oops", b"\xff\xfe", b"[" * 100_000, b'{"a":NaN}', b"\x1b[2J"])
def test_unreadable_lines_are_parse_errors(line: bytes) -> None:
    frame = read_line(line)
    assert isinstance(frame, Reject)
    assert (frame.id, frame.code, frame.reason) == (None, -32700, "parseError")


@pytest.mark.parametrize("data", [{"reason": "x"}, None])
def test_an_error_response(data: dict[str, Any] | None) -> None:
    frame = classify({"jsonrpc": "2.0", "id": "a", "error": {"code": -32601, "message": "no", "data": data}})
    assert isinstance(frame, Failure)
    assert (frame.id, frame.error.code, frame.error.message, frame.error.data) == ("a", -32601, "no", data)


def test_an_error_about_an_unreadable_line_has_no_id() -> None:
    for value in ({"id": None, "error": {"code": -32700, "message": "no"}}, {"error": {"code": 1, "message": "no"}}):
        frame = classify({"jsonrpc": "2.0", **value})
        assert isinstance(frame, Failure)
        assert frame.id is None


@pytest.mark.parametrize(
    ("members", "response_id"),
    [
        ({"id": 1, "result": {}, "error": {"code": 1, "message": "no"}}, 1),
        ({"id": 1, "result": []}, 1),
        ({"id": 1, "result": "done"}, 1),
        ({"id": 1, "error": None}, 1),
        ({"id": 1, "error": "no"}, 1),
        ({"id": 1, "error": {}}, 1),
        ({"id": 1, "error": {"code": "1", "message": "no"}}, 1),
        ({"id": 1, "error": {"code": True, "message": "no"}}, 1),
        ({"id": 1, "error": {"code": 1, "message": None}}, 1),
        ({"id": [1], "error": {"code": 1, "message": "no"}}, None),
        ({"id": [1], "result": {}}, None),
        ({"id": None, "result": {}}, None),
        ({"result": {}}, None),
        ({"id": "x" * (MAX_ID_CHARS + 1), "result": {}}, None),
    ],
    ids=show,
)
def test_responses_that_are_none(members: dict[str, Any], response_id: Any) -> None:
    frame = classify({"jsonrpc": "2.0", **members})
    assert isinstance(frame, BadResponse)
    assert frame.id == response_id


@pytest.mark.parametrize(
    ("prefix", "kind", "reply_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"do","params":{"text":"xx', Reject, 7),
        (b'{"method":"do","params":{"id":3,"text":"x"},"id":"7","x":"', Reject, "7"),
        (b'{"jsonrpc":"2.0","method":"do","params":{"id":3,"text":"xx', Reject, None),
        (b'{"jsonrpc":"2.0","id":71', Reject, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"do","p":"x', Reject, None),
        (b"xxxxxxxx", Reject, None),
        (b'{"id":7,"result":{"text":"xx', BadResponse, 7),
        (b'{"result":{"text":"xx', BadResponse, None),
        (b'{"id":7,"error":{"message":"xx', BadResponse, 7),
    ],
)
def test_an_overlong_line_is_told_by_its_beginning(prefix: bytes, kind: type[Frame], reply_id: Any) -> None:
    frame = read_line(Oversize(prefix, 1000))
    assert isinstance(frame, kind)
    assert isinstance(frame, Reject | BadResponse)
    assert frame.id == reply_id
    if isinstance(frame, Reject):
        assert (frame.code, frame.error().data) == (-32600, {"reason": "frameTooLarge", "limitBytes": 1000})


@pytest.mark.parametrize(
    ("begin", "frame"),
    [
        ('{"jsonrpc":"2.0","id":7,"method":"do","params":', Reject(7, -32600, "", "nestedTooDeep")),
        ('{"jsonrpc":"2.0","id":"7","method":"do","params":', Reject("7", -32600, "", "nestedTooDeep")),
        ('{"jsonrpc":"2.0","id":7,"params":', Reject(7, -32600, "", "noMethod")),
        ('{"jsonrpc":"2.0","id":', Reject(None, -32600, "", "noMethod")),
        ('{"jsonrpc":"2.0","method":"do","params":', Notification("do", {})),
        ('{"jsonrpc":"2.0","id":7,"result":', BadResponse(7, "")),
        ('{"jsonrpc":"2.0","id":7,"error":', BadResponse(7, "")),
        ('{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"},"data":', BadResponse(7, "")),
    ],
)
@pytest.mark.parametrize("levels", [300, 900])
def test_what_is_nested_too_deep_is_still_the_message_it_is(begin: str, frame: Any, levels: int) -> None:
    read: Any = read_line((begin + '{"a":' * levels + "1" + "}" * levels + "}").encode())
    assert type(read) is type(frame)
    if not isinstance(frame, Notification):
        assert read.id == frame.id
    if isinstance(frame, Reject):
        assert (read.code, read.reason) == (frame.code, frame.reason)


@pytest.mark.parametrize(
    ("prefix", "members"),
    [
        (b"", {}),
        (b" ", {}),
        (b"[1", {}),
        (b"{", {}),
        (b"{}", {}),
        (b'{"a"', {}),
        (b'{"a":', {"a": None}),
        (b'{"a":1', {"a": None}),
        (b'{"a":1}', {"a": 1}),
        (b'{ "a" : -1 , "b" : [1,{"c":"]"}] ,"d":tr', {"a": -1, "b": [1, {"c": "]"}], "d": None}),
        (b'{"a\\"b":"c\\\\","d":1,', {'a"b': "c\\", "d": 1}),
        ('{"a":"温室","b":"🌳'.encode()[:-1], {"a": "温室", "b": None}),
        (b'{"a" 1}', {}),
        (b"{a:1}", {}),
        (b'{"a":1]', {"a": 1}),
        (b'{"a":oops,"b":2,', {"a": None, "b": 2}),
        (b'{"a":' + b"[" * 8000, {"a": None}),
        (b'{"a":' + b"[" * 4000 + b"]" * 4000 + b',"b":1,', {"a": None, "b": 1}),
        (b'{"a":"\\ud800","b":1,', {"a": "\ufffd", "b": 1}),
    ],
)
def test_the_head_of_a_cut_object(prefix: bytes, members: dict[str, Any]) -> None:
    assert scan_head(prefix) == members


def test_objects_leave_out_what_is_absent() -> None:
    assert request_object(0, "do", None) == {"jsonrpc": "2.0", "id": 0, "method": "do"}
    assert request_object("", "do", {}) == {"jsonrpc": "2.0", "id": "", "method": "do", "params": {}}
    assert request_object(1, "do", {"a": None}, {"traceparent": "00"}) == {
        "jsonrpc": "2.0", "id": 1, "method": "do", "params": {"a": None}, "trace": {"traceparent": "00"},
    }  # fmt: skip
    assert notification_object("tell", None) == {"jsonrpc": "2.0", "method": "tell"}
    assert notification_object("tell", {"a": 1}) == {"jsonrpc": "2.0", "method": "tell", "params": {"a": 1}}
    assert success_object("1", {}) == {"jsonrpc": "2.0", "id": "1", "result": {}}
    assert failure_object(None, RpcError(1, "no")) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": 1, "message": "no"},
    }
    assert failure_object(1, RpcError(1, "no", {}))["error"] == {"code": 1, "message": "no", "data": {}}


def test_an_error_shows_itself() -> None:
    assert repr(RpcError(1, "no", {"a": 1})) == "RpcError(1, 'no', {'a': 1})"
