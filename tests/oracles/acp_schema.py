"""Whether an ACP frame is what the official schema says: the models of the `agent-client-protocol` package, asked
strictly.

The package's models are lenient by design: a bad optional value becomes its default, a bad list item is dropped, an
unknown member is ignored. So a frame is right only if the model also gives back exactly what it was given.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import orjson
from acp import schema
from pydantic import BaseModel, TypeAdapter, ValidationError

Json = dict[str, Any]

AGENT_METHODS: Final[dict[str, tuple[Any, Any]]] = {
    "initialize": (schema.InitializeRequest, schema.InitializeResponse),
    "authenticate": (schema.AuthenticateRequest, schema.AuthenticateResponse),
    "logout": (schema.LogoutRequest, schema.LogoutResponse),
    "session/new": (schema.NewSessionRequest, schema.NewSessionResponse),
    "session/load": (schema.LoadSessionRequest, schema.LoadSessionResponse),
    "session/resume": (schema.ResumeSessionRequest, schema.ResumeSessionResponse),
    "session/fork": (schema.ForkSessionRequest, schema.ForkSessionResponse),
    "session/list": (schema.ListSessionsRequest, schema.ListSessionsResponse),
    "session/close": (schema.CloseSessionRequest, schema.CloseSessionResponse),
    "session/delete": (schema.DeleteSessionRequest, schema.DeleteSessionResponse),
    "session/set_mode": (schema.SetSessionModeRequest, schema.SetSessionModeResponse),
    "session/set_config_option": (
        schema.SetSessionConfigOptionBooleanRequest | schema.SetSessionConfigOptionSelectRequest,
        schema.SetSessionConfigOptionResponse,
    ),
    "session/prompt": (schema.PromptRequest, schema.PromptResponse),
}
"""Params and result of the requests an agent answers."""

CLIENT_METHODS: Final[dict[str, tuple[Any, Any]]] = {
    "session/request_permission": (schema.RequestPermissionRequest, schema.RequestPermissionResponse),
    "elicitation/create": (schema.CreateElicitationRequest, schema.CreateElicitationResponse),
    "fs/read_text_file": (schema.ReadTextFileRequest, schema.ReadTextFileResponse),
    "fs/write_text_file": (schema.WriteTextFileRequest, schema.WriteTextFileResponse),
    "terminal/create": (schema.CreateTerminalRequest, schema.CreateTerminalResponse),
    "terminal/output": (schema.TerminalOutputRequest, schema.TerminalOutputResponse),
    "terminal/wait_for_exit": (schema.WaitForTerminalExitRequest, schema.WaitForTerminalExitResponse),
    "terminal/kill": (schema.KillTerminalRequest, schema.KillTerminalResponse),
    "terminal/release": (schema.ReleaseTerminalRequest, schema.ReleaseTerminalResponse),
}
"""Params and result of the requests a client answers."""

AGENT_NOTIFICATIONS: Final[dict[str, Any]] = {
    "session/update": schema.SessionNotification,
    "elicitation/complete": schema.CompleteElicitationNotification,
    "$/cancel_request": schema.CancelRequestNotification,
}

CLIENT_NOTIFICATIONS: Final[dict[str, Any]] = {
    "session/cancel": schema.CancelNotification,
    "$/cancel_request": schema.CancelRequestNotification,
}

NEWER_THAN_ORACLE: Final[dict[tuple[str, str], str]] = {
    ("tool_call", "name"): "the tool's programmatic name became stable after schema 1.19 (acp.md §7)",
    ("tool_call_update", "name"): "the tool's programmatic name became stable after schema 1.19 (acp.md §7)",
    ("session/request_permission", "name"): "the tool call it carries may have a name, as above",
    ("clientCapabilities.session", "notices"): "notices became stable after schema 1.19 (acp.md §6)",
    ("clientCapabilities.session", "compaction"): "compaction became stable after schema 1.19 (acp.md §6)",
}
"""Members the package does not know yet, by where they stand: they are taken out before the package is asked."""

NEWER_UPDATES: Final[dict[str, tuple[frozenset[str], frozenset[str], str]]] = {
    "notice": (
        frozenset({"severity", "title"}),
        frozenset({"description"}),
        "notices became stable after schema 1.19 (acp.md §6)",
    ),
    "compaction_update": (
        frozenset({"compactionId", "status"}),
        frozenset({"summary", "error"}),
        "compaction became stable after schema 1.19 (acp.md §6)",
    ),
    "compaction_summary_chunk": (
        frozenset({"compactionId", "content"}),
        frozenset(),
        "compaction became stable after schema 1.19 (acp.md §6)",
    ),
}
"""Update variants the package does not know yet: required members, optional members, and why they are allowed."""

UNSTABLE_UPDATES: Final = frozenset({"plan_update", "plan_removed"})
"""Variants the package knows and the stable protocol does not."""

_WORDS: Final = {
    "notice": ("severity", {"info", "warning", "error"}),
    "compaction_update": ("status", {"in_progress", "completed", "failed", "cancelled"}),
}


def check_agent_frame(frame: Json, method_of_request: str | None = None) -> None:
    """Raises AssertionError if `frame` is nothing an agent may write.

    `method_of_request` is the method of the client's request that a result answers.
    """
    _check_frame(frame, method_of_request, AGENT_METHODS, CLIENT_METHODS, AGENT_NOTIFICATIONS)


def check_client_frame(frame: Json, method_of_request: str | None = None) -> None:
    """Raises AssertionError if `frame` is nothing a client may write.

    `method_of_request` is the method of the agent's request that a result answers.
    """
    _check_frame(frame, method_of_request, CLIENT_METHODS, AGENT_METHODS, CLIENT_NOTIFICATIONS)


def check_transcript(agent_lines: Iterable[bytes], client_lines: Iterable[bytes] = ()) -> list[Json]:
    """Check every line an agent wrote, and give the frames.

    `client_lines` are what the client wrote to it, good or bad: they tell which request a result answers. Every
    answer must belong to a request, and no request may be answered twice or left open.
    """
    open_requests: dict[tuple[type, Any], deque[str]] = defaultdict(deque)
    for line in client_lines:
        asked = _request_in(line)
        if asked is not None:
            open_requests[type(asked["id"]), asked["id"]].append(asked["method"])
    frames = [_decode(line) for line in agent_lines]
    for number, frame in enumerate(frames, start=1):
        method = None
        if "method" not in frame and frame.get("id") is not None:
            waiting = open_requests[type(frame["id"]), frame["id"]]
            _require(bool(waiting), f"line {number}", f"answers the request {frame['id']!r}, which is not open")
            method = waiting.popleft()
        try:
            check_agent_frame(frame, method)
        except AssertionError as error:
            raise AssertionError(f"line {number}: {error}") from None
    unanswered = [(key[1], *methods) for key, methods in open_requests.items() if methods]
    _require(not unanswered, "transcript", f"requests without an answer: {unanswered}")
    return frames


def _check_frame(
    frame: Json,
    method_of_request: str | None,
    answered: dict[str, tuple[Any, Any]],
    asked: dict[str, tuple[Any, Any]],
    notified: dict[str, Any],
) -> None:
    _require(type(frame) is dict, "frame", "must be an object")
    _require(frame.get("jsonrpc") == "2.0", "jsonrpc", 'must be "2.0"')
    if "error" in frame:
        _members(frame, {"jsonrpc", "id", "error"}, set(), "frame")
        _check_id(frame["id"], null=True)
        _check_error(frame["error"])
    elif "result" in frame:
        _members(frame, {"jsonrpc", "id", "result"}, set(), "frame")
        _check_id(frame["id"], null=False)
        _require(method_of_request is not None, "result", "can only be checked with the method of its request")
        _check_body(str(method_of_request), frame["result"], _result_model(str(method_of_request), answered), "result")
    else:
        is_request = "id" in frame
        _members(frame, {"jsonrpc", "method"} | ({"id"} if is_request else set()), {"params"}, "frame")
        if is_request:
            _check_id(frame["id"], null=False)
        method = frame["method"]
        _require(type(method) is str, "method", "must be a string")
        _check_body(method, frame.get("params", {}), _params_model(method, asked if is_request else notified), "params")


def _params_model(method: str, table: dict[str, Any]) -> Any:
    if method.startswith("_"):
        return None
    _require(method in table, "method", f"{method} is not sent by this side in this form")
    model = table[method]
    return model[0] if isinstance(model, tuple) else model


def _result_model(method: str, table: dict[str, tuple[Any, Any]]) -> Any:
    if method.startswith("_"):
        return None
    _require(method in table, "result", f"{method} is not answered by this side")
    return table[method][1]


def _check_body(method: str, body: Any, model: Any, path: str) -> None:
    _require(type(body) is dict, path, "must be an object")
    if model is None:
        return
    if method == "session/update" and type(body.get("update")) is dict:
        variant = body["update"].get("sessionUpdate")
        _require(variant not in UNSTABLE_UPDATES, "params.update.sessionUpdate", f"{variant} is not stable")
        if type(variant) is str and variant in NEWER_UPDATES:
            return _check_newer_update(variant, body)
    if method == "session/prompt" and path == "result":
        _require("usage" not in body, "result.usage", "is not stable")
    known = _without_newer(method, body)
    try:
        value = _adapter(model).validate_python(known)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join([path, *(str(part) for part in problem["loc"])])
        raise AssertionError(f"{place}: {problem['msg']}") from None
    assert isinstance(value, BaseModel)
    _require_same(known, value.model_dump(mode="json", by_alias=True, exclude_unset=True), path)
    return None


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _check_newer_update(variant: str, params: Json) -> None:
    _members(params, {"sessionId", "update"}, {"_meta"}, "params")
    update = params["update"]
    required, optional, _reason = NEWER_UPDATES[variant]
    _members(update, required | {"sessionUpdate"}, optional | {"_meta"}, "params.update")
    if variant in _WORDS:
        name, words = _WORDS[variant]
        _require(update[name] in words, f"params.update.{name}", f"must be one of {sorted(words)}")
    if variant == "notice":
        _require(type(update["title"]) is str and bool(update["title"]), "params.update.title", "must not be empty")


def _without_newer(method: str, body: Json) -> Json:
    """`body` without the members of `NEWER_THAN_ORACLE`."""
    if method == "session/update" and type(body.get("update")) is dict:
        return body | {"update": _drop(body["update"], str(body["update"].get("sessionUpdate")))}
    if method == "session/request_permission" and type(body.get("toolCall")) is dict:
        return body | {"toolCall": _drop(body["toolCall"], method)}
    offered = body.get("clientCapabilities")
    if method == "initialize" and type(offered) is dict and type(offered.get("session")) is dict:
        return body | {
            "clientCapabilities": offered | {"session": _drop(offered["session"], "clientCapabilities.session")}
        }
    return body


def _drop(members: Json, where: str) -> Json:
    return {name: value for name, value in members.items() if (where, name) not in NEWER_THAN_ORACLE}


def _require_same(given: Any, understood: Any, path: str) -> None:
    """The package must have understood a value as it was given, with nothing ignored, mended or converted."""
    if type(given) is dict and type(understood) is dict:
        for name in given:
            _require(name in understood, f"{path}.{name}", "is not a member the schema knows")
            _require_same(given[name], understood[name], f"{path}.{name}")
        for name in understood:
            _require(name in given, f"{path}.{name}", "was filled in by the schema")
    elif type(given) is list and type(understood) is list:
        _require(len(given) == len(understood), path, "has an item the schema does not accept")
        for index, (item, other) in enumerate(zip(given, understood, strict=True)):
            _require_same(item, other, f"{path}[{index}]")
    elif type(given) is int and type(understood) is float:
        _require(given == understood, path, f"{given!r} is not accepted by the schema")
    else:
        same = type(given) is type(understood) and given == understood
        _require(same, path, f"{given!r} is not accepted by the schema")


def _check_error(error: Any) -> None:
    _require(type(error) is dict, "error", "must be an object")
    _members(error, {"code", "message"}, {"data"}, "error")
    _require(type(error["code"]) is int, "error.code", "must be an integer")
    message = error["message"]
    _require(type(message) is str and message != "" and "\n" not in message, "error.message", "must be a short line")
    _require("data" not in error or type(error["data"]) is dict, "error.data", "must be an object or left out")


def _check_id(value: Any, *, null: bool) -> None:
    usable = type(value) in (str, int) or (null and value is None)
    _require(usable, "id", "must be a string or an integer")


def _members(given: Json, required: Iterable[str], optional: Iterable[str], path: str) -> None:
    names = set(given)
    missing = set(required) - names
    _require(not missing, path, f"lacks {sorted(missing)}")
    unknown = names - set(required) - set(optional)
    _require(not unknown, path, f"has unknown members {sorted(unknown)}")


def _require(holds: bool, path: str, problem: str) -> None:
    if not holds:
        raise AssertionError(f"{path}: {problem}")


def _decode(line: bytes) -> Json:
    body = line.removesuffix(b"\n")
    _require(b"\n" not in body and b"\r" not in body, "line", "holds a line break")
    try:
        frame = orjson.loads(body)
    except ValueError as error:
        raise AssertionError(f"line: is not JSON: {error}") from None
    _require(type(frame) is dict, "line", "is not an object")
    assert isinstance(frame, dict)
    return frame


def _request_in(line: bytes) -> Json | None:
    """The request in a line of a client, None if it holds none that is answered under its own id. What is no response
    counts: a malformed request is refused under the id it has."""
    try:
        frame = orjson.loads(line)
    except ValueError:
        return None
    if type(frame) is not dict or type(frame.get("id")) not in (str, int):
        return None
    if "method" not in frame and ("result" in frame or "error" in frame):
        return None
    return {"id": frame["id"], "method": str(frame.get("method"))}
