"""Errors as a client sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.acp import errors
from adapter.bridge.hosts.host_choice import WITHOUT_MUSE
from adapter.bridge.outcomes import client_error
from adapter.msp.errors import HostStartError
from adapter.wire.envelope import RpcError, failure_object
from host_probe import NotFound, find_muse

EVERY = [
    (errors.invalid_params("prompt[2].uri", "is required"), -32602, "invalidParams"),
    (errors.not_initialized(), -32600, "notInitialized"),
    (errors.method_not_found("orchard/unknown"), -32601, "methodNotFound"),
    (errors.auth_required("Log in first"), -32000, "authRequired"),
    (errors.session_unknown("ses-alder"), -32002, "sessionUnknown"),
    (errors.session_closed("ses-alder"), -32002, "sessionClosed"),
    (errors.session_busy("ses-alder", "It is being loaded"), -32600, "sessionBusy"),
    (errors.host_error("overloaded", "Try again"), -32603, "hostError"),
    (errors.request_cancelled(), -32800, "cancelled"),
    (errors.internal_error(), -32603, "internal"),
]


@pytest.mark.acp(103)
@pytest.mark.parametrize(("error", "code", "reason"), EVERY)
def test_an_error_says_what_why_and_for_whom(error: RpcError, code: int, reason: str) -> None:
    body = failure_object(7, error)["error"]
    assert body["code"] == code
    assert body["data"]["reason"] == reason
    assert body["data"]["details"]
    assert body["message"]
    assert not set(body["message"]) & set("\n.")


def test_what_is_busy_may_be_asked_again() -> None:
    data = errors.session_busy("ses-alder", "It is being loaded").data
    assert data is not None
    assert data["retryable"] is True


def test_o9_only_a_missing_login_has_the_login_code() -> None:
    assert [reason for error, _, reason in EVERY if error.code == errors.AUTH_REQUIRED] == ["authRequired"]


def test_details_are_one_bounded_line() -> None:
    data = errors.host_error("odd", "first\nsecond" + "x" * 5000).data
    assert data is not None
    assert data["details"].startswith("first second")
    assert len(data["details"]) <= errors.MAX_DETAILS
    data = errors.method_not_found("m\n" * 100_000).data
    assert data is not None
    assert len(data["details"]) < 200


def test_every_place_where_muse_was_looked_for_is_told() -> None:
    folders = [f"/home/somebody/.local/share/tools-{number:02}/bin" for number in range(20)]
    missing = find_muse(None, {"PATH": ":".join(folders)}, Path("/home/somebody"), windows=False)
    if not isinstance(missing, NotFound):
        pytest.skip("Muse is installed in one of its usual places")
    data = client_error(HostStartError("museNotFound", missing.message(WITHOUT_MUSE))).data
    assert data is not None
    assert all(folder in data["details"] for folder in folders)
    assert data["details"].endswith(".")


def test_more_facts_stand_beside_the_details() -> None:
    assert errors.session_unknown("ses-alder").data == {
        "reason": "sessionUnknown",
        "details": "There is no such session",
        "sessionId": "ses-alder",
    }
