"""MSP frames against the official wire types (`muse_code_msp`): required members, types, closed enums, error pairs.

The envelope is `msp.md §3`. Vocabularies the types leave open stay open here: unknown item kinds, notifications and
enum values pass. What the types close is refused. `closed=True` also refuses methods and members nobody declares; it
is the default for frames of a client, because what we send is strict (`msp.md §27`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal

import muse_code_msp as msp

from tests.oracles import removed_types
from tests.oracles.shapes import Member, Shapes

Direction = Literal["client", "server"]
NEWEST = msp.REQUIRED_HOST_VERSION
CORPUS = "corpus"

SERVER_REQUESTS = {"approval/request": "ApprovalRequestParams", "userInput/request": "UserInputRequestParams"}
CLIENT_NOTIFICATIONS = frozenset({"initialized", "userInput/engaged"})
METHODS: dict[str, Any] = {**msp.METHODS, **removed_types.METHODS}
NOTIFICATIONS: dict[str, Any] = {**msp.NOTIFICATIONS, **removed_types.NOTIFICATIONS}

_NULLABLE_SINCE_1_4_13: frozenset[Member] = frozenset(
    {
        ("SessionBranchChangedParams", "branch"),
        ("SessionGoalChangedParams", "goal"),
        ("SessionModelChangedParams", "providerId"),
        ("SessionModelRouteUnservedParams", "providerId"),
        ("SessionTokenUsageParams", "modelId"),
    }
)
_ADDED_IN_1_4_13: frozenset[Member] = frozenset({("UserInputSettledParams", "decidedAt")})

OLDER_HOST_GAPS: dict[str, frozenset[Member]] = {
    NEWEST: frozenset(),
    "1.4.2": _ADDED_IN_1_4_13 | _NULLABLE_SINCE_1_4_13,
    "1.3.0": _ADDED_IN_1_4_13 | _NULLABLE_SINCE_1_4_13,
    "1.2.1": _ADDED_IN_1_4_13 | _NULLABLE_SINCE_1_4_13,
    "1.1.1": _ADDED_IN_1_4_13 | _NULLABLE_SINCE_1_4_13,
    "1.0.1": _ADDED_IN_1_4_13 | _NULLABLE_SINCE_1_4_13,
    CORPUS: _ADDED_IN_1_4_13,
}
"""What the newest types require and an older host lacks (`msp.md §28`); the official transcripts are one profile."""

CLIENT_EXTRAS: frozenset[Member] = frozenset({("ViewPageParams", "futureOptionalField")})
"""Undeclared members a client may send: the official transcripts probe the host's tolerance with one."""


def check_client_frame(obj: Any, *, closed: bool = True) -> None:
    """A frame on the host's stdin: a request, `initialized`, `userInput/engaged`, or a receipt.

    Raises:
        AssertionError: naming the method, the path and the problem.
    """
    shapes = _shapes(NEWEST, closed)
    shape = _envelope(obj, shapes, "client frame")
    if shape == "request":
        _check_call(obj, shapes, METHODS.get(obj["method"]), closed)
    elif shape == "notification":
        assert "emittedAtMs" not in obj, f"{obj['method']}: only a host says emittedAtMs"
        assert not closed or obj["method"] in CLIENT_NOTIFICATIONS, f"{obj['method']}: not a client's notification"
        _check_call(obj, shapes, NOTIFICATIONS.get(obj["method"]), closed)
    elif shape == "error":
        _check_error(obj, shapes, "receipt")
    else:
        # Presentation is acknowledged with an empty object; the decision is a command (`msp.md §15.1`).
        assert obj["result"] == {}, f"receipt: result must be {{}}, is {obj['result']!r}"


def check_server_frame(obj: Any, request_method: str | None, *, profile: str = NEWEST, closed: bool = False) -> None:
    """A frame on the host's stdout; `request_method` is the method a response answers, None for everything else.

    `profile` picks the row of `OLDER_HOST_GAPS`.

    Raises:
        AssertionError: naming the method, the path and the problem.
    """
    shapes = _shapes(profile, closed)
    shape = _envelope(obj, shapes, "server frame")
    if shape == "request":
        params = SERVER_REQUESTS.get(obj["method"])
        assert params or not closed, f"{obj['method']}: no such server request"
        _check_call(obj, shapes, {"params": params} if params else None, closed)
    elif shape == "notification":
        _check_call(obj, shapes, NOTIFICATIONS.get(obj["method"]), closed)
        assert obj["method"] not in CLIENT_NOTIFICATIONS, f"{obj['method']}: only a client sends it"
    elif shape == "error":
        assert obj["id"] is not None or obj["error"]["code"] in (-32700, -32600), "a null id is for unreadable lines"
        _check_error(obj, shapes, request_method or "unreadable line")
    else:
        assert request_method is not None, f"a result for id {obj['id']!r}, which no request has"
        _check_result(obj["result"], request_method, shapes, closed)


def check_transcript(frames: Iterable[tuple[Direction, Any]], *, profile: str = NEWEST, closed: bool = False) -> None:
    """A dialogue in the order of the wire: every frame by itself, and every answer to the request it names.

    Raises:
        AssertionError: naming the frame's number and direction, the method, the path and the problem.
    """
    asked: dict[Direction, dict[Any, str]] = {"client": {}, "server": {}}
    for number, (direction, obj) in enumerate(frames, 1):
        other: Direction = "server" if direction == "client" else "client"
        try:
            method = _answered_method(obj, asked[other])
            if direction == "client":
                check_client_frame(obj)
            else:
                check_server_frame(obj, method, profile=profile, closed=closed)
            if "method" in obj and "id" in obj:
                assert obj["id"] not in asked[direction], f"id {obj['id']!r} is in use"
                asked[direction][obj["id"]] = obj["method"]
        except AssertionError as problem:
            raise AssertionError(f"frame {number} ({direction}): {problem}") from None


def _answered_method(obj: Any, asked: dict[Any, str]) -> str | None:
    if type(obj) is not dict or "method" in obj or obj.get("id") is None:
        return None
    assert type(obj["id"]) in (int, str) and obj["id"] in asked, f"id {obj['id']!r} answers no open request"
    return asked.pop(obj["id"])


@cache
def _shapes(profile: str, closed: bool) -> Shapes:
    # The params of a page's events are checked again, by the type of their method.
    bases = frozenset({"UnframedViewNotificationParams"})
    return Shapes(OLDER_HOST_GAPS[profile], closed=closed, extras=CLIENT_EXTRAS, bases=bases)


def _envelope(obj: Any, shapes: Shapes, where: str) -> Literal["request", "notification", "success", "error"]:
    assert type(obj) is dict, f"{where}: must be an object, is {obj!r}"
    where = str(obj.get("method", where))
    if "method" in obj:
        assert "result" not in obj and "error" not in obj, f"{where}: a method and an answer in one frame"
        assert obj.get("params", {}) is not None, f"{where}: params must be left out, not null"
        if "id" in obj:
            shapes.check(obj, msp.Request, where)
            return "request"
        shapes.check(obj, msp.Notification, where)
        return "notification"
    assert ("result" in obj) != ("error" in obj), f"{where}: exactly one of result and error"
    if "result" in obj:
        shapes.check(obj, msp.SuccessResponse, where)
        return "success"
    shapes.check(obj, msp.ErrorResponse, where)
    return "error"


def _type(name: str) -> Any:
    return getattr(msp, name, None) or getattr(removed_types, name)


def _check_call(obj: dict[str, Any], shapes: Shapes, spec: Any, closed: bool) -> None:
    method = obj["method"]
    if spec is None:
        assert not closed, f"{method}: no such method"
    elif spec["params"] is None:
        assert "params" not in obj, f"{method}: takes no params"
    else:
        shapes.check(obj.get("params", {}), _type(spec["params"]), f"{method} params")


def _check_result(result: Any, method: str, shapes: Shapes, closed: bool) -> None:
    spec = METHODS.get(method)
    if spec is None:
        assert not closed, f"{method}: a result of a method that is not declared"
        return
    shapes.check(result, _type(spec["result"] or "RequestReceipt"), f"{method} result")
    if method == "view/page":
        for at, event in enumerate(result["events"]):
            _check_event(event, f"{method} result.events[{at}]", shapes, closed)


def _check_event(event: dict[str, Any], path: str, shapes: Shapes, closed: bool) -> None:
    """A page holds durable notifications without their envelope (`msp.md §11.2`)."""
    spec = NOTIFICATIONS.get(event["method"])
    if spec is None:
        assert not closed, f"{path}: no such notification as {event['method']}"
        return
    assert spec["params"] is not None, f"{path}: {event['method']} is no event"
    shapes.check(event["params"], _type(spec["params"]), f"{path} {event['method']} params")


def _check_error(obj: dict[str, Any], shapes: Shapes, where: str) -> None:
    error = obj["error"]
    code = error["code"]
    assert code in _error_kinds(), f"{where} error: no such code as {code}"
    kind = error.get("data", {}).get("kind")
    assert kind is None or kind in _error_kinds()[code], f"{where} error: {code} does not go with kind {kind!r}"


@cache
def _error_kinds() -> dict[int, tuple[str, ...]]:
    return {spec["code"]: (spec["kind"], *spec["overrideKinds"]) for spec in msp.ERRORS}
