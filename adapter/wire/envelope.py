"""The four frame shapes of JSON-RPC 2.0 as both protocols use it: lines to frames or rejects, frames to objects. No
I/O in it.

Rules (`msp.md §3, §4`, `acp.md §1`): an id is a string or an integer and keeps its type, so `1` and `"1"` are two
ids; a request without usable id is refused with a null id; a batch is refused whole; a response has exactly one of
`result` and `error`; unknown members are ignored. Responses are read without a look at `jsonrpc`: they are never
answered, so there is nobody to tell.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from adapter.wire.framing import DEEPEST, Line, Oversize, TooDeep, decode_json
from adapter.wire.head import scan_head

Id: TypeAlias = str | int
Params: TypeAlias = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

MAX_ID_CHARS: Final = 1024
"""Characters of a string id; a longer one is refused, so that an answer that names the id always fits a message."""


class RpcError(Exception):
    """An error response: what a handler raises to refuse a request, and what a request of ours raises when the peer
    refused it."""

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __repr__(self) -> str:
        return f"RpcError({self.code}, {self.message!r}, {self.data!r})"


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call that wants exactly one answer."""

    id: Id
    method: str
    params: Params
    trace: Any = None


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A message that is never answered, not even with an error."""

    method: str
    params: Params
    is_unread: bool = False
    """Its params were nested too deep and stand here as none."""


class Success(msgspec.Struct, frozen=True, gc=False):
    """The result of a request of ours; a `null` result reads as an empty object."""

    id: Id
    result: Params


class Failure(msgspec.Struct, frozen=True, gc=False):
    """The error of a request of ours, or with id None an error about a line the peer could not read."""

    id: Id | None
    error: RpcError


class BadResponse(msgspec.Struct, frozen=True, gc=False):
    """Shaped like a response but not one: never answered; fails the request it names, if there is one."""

    id: Id | None
    problem: str


class Reject(msgspec.Struct, frozen=True, gc=False):
    """A line that is no frame, with the error reply it deserves; `id` is None when none could be recovered."""

    id: Id | None
    code: int
    message: str
    reason: str
    data: dict[str, Any] | None = None
    is_bare: bool = False
    """It names neither a method nor a result nor an error: whoever is waited for under this id has said nothing."""

    def error(self) -> RpcError:
        """The error to answer with; `data.reason` is stable."""
        return RpcError(self.code, self.message, {"reason": self.reason, **(self.data or {})})


UNREADABLE: Final = frozenset({"parseError", "frameTooLarge"})
"""Reasons by which a line may have been any message; whatever else is rejected is known to be none."""

Frame: TypeAlias = Request | Notification | Success | Failure | BadResponse | Reject


def read_line(line: Line | Oversize) -> Frame:
    """What one line is. Never raises."""
    if isinstance(line, Oversize):
        return _classify_oversize(line)
    try:
        value = decode_json(line)
    except TooDeep as error:
        return _too_deep(classify(error.value))
    except ValueError:
        return Reject(None, PARSE_ERROR, "The line is not valid JSON in UTF-8", "parseError")
    return classify(value)


def classify(value: Any) -> Frame:
    """What a decoded JSON value is."""
    if type(value) is not dict:
        if type(value) is list:
            return Reject(None, INVALID_REQUEST, "Batches are not supported; send one message a line", "batch")
        return Reject(None, INVALID_REQUEST, "A message must be a JSON object", "notAnObject")
    method = value.get("method")
    if type(method) is not str:
        return _classify_without_method(value)
    if value.get("jsonrpc") != "2.0":
        return _not_json_rpc(value)
    params = value.get("params")
    if "id" not in value:
        # A notification is never answered, so unusable params read as none.
        return Notification(method, params if type(params) is dict else {})
    request_id = usable_id(value["id"])
    if request_id is None:
        return Reject(None, INVALID_REQUEST, "An id must be an integer or a short string", "badId")
    if params is None:
        params = {}
    elif type(params) is not dict:
        problem = 'Member "params" must be an object'
        return Reject(request_id, INVALID_PARAMS, problem, "invalidParams", {"field": "params"})
    return Request(request_id, method, params, value.get("trace"))


def usable_id(value: Any) -> Id | None:
    """`value` if it can be an id: a string of bounded length or an integer, not a boolean."""
    if type(value) is int or (type(value) is str and len(value) <= MAX_ID_CHARS):
        return value
    return None


def _classify_without_method(value: dict[str, Any]) -> Success | Failure | BadResponse | Reject:
    if "method" not in value and ("result" in value or "error" in value):
        return _classify_response(value)
    if value.get("jsonrpc") != "2.0":
        return _not_json_rpc(value)
    message_id, problem = usable_id(value.get("id")), 'Member "method" must be a string'
    return Reject(message_id, INVALID_REQUEST, problem, "noMethod", is_bare="method" not in value)


def _not_json_rpc(value: dict[str, Any]) -> Reject:
    return Reject(usable_id(value.get("id")), INVALID_REQUEST, 'Member "jsonrpc" must be "2.0"', "notJsonRpc")


def _classify_response(value: dict[str, Any]) -> Success | Failure | BadResponse:
    raw_id = value.get("id")
    response_id = usable_id(raw_id)
    if "result" in value:
        if "error" in value:
            return BadResponse(response_id, "both result and error")
        if response_id is None:
            return BadResponse(None, "a result without a usable id")
        result = value["result"]
        if result is None:
            result = {}
        if type(result) is not dict:
            return BadResponse(response_id, "a result that is not an object")
        return Success(response_id, result)
    error = value["error"]
    if response_id is None and raw_id is not None:
        return BadResponse(None, "an error without a usable id")
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        return BadResponse(response_id, "an error without code and message")
    data = error.get("data")
    return Failure(response_id, RpcError(error["code"], error["message"], data if type(data) is dict else None))


def too_long(cap: int) -> str:
    """What is wrong with an answer that does not fit a line of `cap` bytes."""
    return f"longer than {cap} bytes"


def _classify_oversize(line: Oversize) -> BadResponse | Reject:
    head = scan_head(line.prefix)
    response_id = usable_id(head.get("id"))
    if "method" not in head and ("result" in head or "error" in head):
        return BadResponse(response_id, too_long(line.cap))
    data = {"limitBytes": line.cap}
    message = f"The message is longer than {line.cap} bytes"
    return Reject(response_id, INVALID_REQUEST, message, "frameTooLarge", data)


def _too_deep(frame: Frame) -> Frame:
    """What becomes of a message whose members cannot be used because they are nested too deep."""
    if isinstance(frame, Notification):
        return Notification(frame.method, {}, is_unread=True)
    if isinstance(frame, Success | Failure):
        return BadResponse(frame.id, f"members nested deeper than {DEEPEST} levels")
    if isinstance(frame, Request):
        message = f"The message is nested deeper than {DEEPEST} levels"
        return Reject(frame.id, INVALID_REQUEST, message, "nestedTooDeep", {"limitLevels": DEEPEST})
    return frame


def request_object(request_id: Id, method: str, params: Params | None, trace: Any = None) -> dict[str, Any]:
    """The wire object of a request; without `params` the member is left out, never null."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        frame["params"] = params
    if trace is not None:
        frame["trace"] = trace
    return frame


def notification_object(method: str, params: Params | None) -> dict[str, Any]:
    """The wire object of a notification."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        frame["params"] = params
    return frame


def success_object(request_id: Id, result: Params) -> dict[str, Any]:
    """The wire object of a success response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure_object(request_id: Id | None, error: RpcError) -> dict[str, Any]:
    """The wire object of an error response; `data` is left out when there is none."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}
