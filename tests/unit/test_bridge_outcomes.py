"""What the end of a turn and the failure of a host mean to a client."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.outcomes import client_error, stop_reason, without_secrets
from adapter.msp.errors import HostClosed, HostGone, MalformedResult, MspError, RequestTimeout
from adapter.msp.host import HostStartError
from adapter.msp.turns import TurnError, TurnOutcome
from adapter.msp.vocabulary import ERRORS
from adapter.wire.envelope import RpcError


def failed(kind: str = "modelError", message: str = "demo quota used up", **more: Any) -> TurnOutcome:
    return TurnOutcome("failed", error=TurnError(kind, message, **more))


def error_of(outcome: TurnOutcome) -> RpcError:
    with pytest.raises(RpcError) as caught:
        stop_reason(outcome)
    assert caught.value.data is not None
    return caught.value


def data(error: RpcError) -> dict[str, Any]:
    assert error.data is not None
    return error.data


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (TurnOutcome("completed"), "end_turn"),
        (TurnOutcome("cancelled"), "cancelled"),
        (TurnOutcome("unqueued"), "cancelled"),
        (TurnOutcome("cancelled", error=TurnError("aborted", "stopped")), "cancelled"),
        (TurnOutcome("paused_by_policy"), "end_turn"),
        (TurnOutcome("unknown"), "end_turn"),
        (TurnOutcome("completed", reason="outputLimit"), "max_tokens"),
        (TurnOutcome("completed", reason="length"), "max_tokens"),
        (failed("outputLimit"), "max_tokens"),
        (failed("contextLimit"), "max_tokens"),
        (failed("stepLimit"), "max_turn_requests"),
        (TurnOutcome("failed", reason="turnLimit"), "max_turn_requests"),
        (TurnOutcome("completed", reason="refusal"), "refusal"),
    ],
    ids=lambda value: getattr(value, "terminal", value),
)
def test_h2_h4_stop_reasons(outcome: TurnOutcome, reason: str) -> None:
    assert stop_reason(outcome) == reason


def test_h3_a_failed_turn_is_an_error_with_the_hosts_words() -> None:
    error = error_of(failed(retryable=True))
    assert error.code == -32603
    assert data(error)["reason"] == "hostError"
    assert data(error)["details"] == "demo quota used up"
    assert (data(error)["hostKind"], data(error)["retryable"]) == ("modelError", True)
    assert "retryable" not in data(error_of(failed()))


@pytest.mark.parametrize(
    "outcome",
    [
        TurnOutcome("failed"),
        TurnOutcome("failed", reason="crash_inferred"),
        TurnOutcome("completed", error=TurnError("modelError", "")),
    ],
    ids=["no words", "a reason", "an error without words"],
)
def test_h3_a_failure_always_says_something(outcome: TurnOutcome) -> None:
    details = data(error_of(outcome))["details"]
    assert details and (outcome.reason or "") in details


def test_o8_only_a_missing_login_is_an_authentication_error() -> None:
    assert error_of(failed("authRequired", "log in")).code == -32000
    assert error_of(failed("quotaExceeded")).code == -32603
    assert client_error(MspError(-32000, "authRequired", "log in")).code == -32000
    refused = MspError(-32000, "sessionStartFailed", "log in", data={"reason": "authRequired"})
    assert client_error(refused).code == -32000


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_o9_host_codes_do_not_cross(code: int) -> None:
    row = ERRORS[code]
    error = client_error(MspError.from_error({"code": code, "message": "words\nof the host"}), "ses-1")
    assert error.code == -32000 if row.kind == "authRequired" else error.code in {-32600, -32602, -32603, -32002}
    assert data(error)["reason"] and data(error)["details"]
    assert "\n" not in error.message + data(error)["details"]


@pytest.mark.parametrize("kind", ["sessionNotFound", "sessionNotLoaded"])
def test_l2_a_lost_session_is_not_found(kind: str) -> None:
    error = client_error(MspError(0, kind, "gone"), "ses-1")
    assert (error.code, data(error)["sessionId"]) == (-32002, "ses-1")
    assert client_error(MspError(0, kind, "gone")).code == -32603


def test_l11_a_session_in_use_is_busy() -> None:
    error = client_error(MspError(0, "sessionInUse", "held"), "ses-1")
    assert (error.code, data(error)["reason"]) == (-32600, "sessionBusy")


def test_q1_the_hosts_words_and_reason_reach_the_client() -> None:
    error = client_error(
        MspError(-32602, "invalidParams", "model-red is not in your plan", data={"reason": "model_unavailable"})
    )
    assert data(error)["details"] == "model-red is not in your plan"
    assert (data(error)["hostKind"], data(error)["hostReason"]) == ("invalidParams", "model_unavailable")


@pytest.mark.parametrize(
    ("gone", "reason", "words"),
    [
        (HostStartError("museNotFound", "Muse was not found"), "museNotFound", "not found"),
        (HostStartError("hostStartFailed", "exit 7", 7), "hostStartFailed", "exit 7"),
        (HostClosed("ended by signal 9"), "hostDied", "signal 9"),
        (RequestTimeout("turn/start", 60.0), "hostTimeout", "turn/start"),
        (MalformedResult("turn/start", "no turnId"), "hostError", "no turnId"),
        (HostGone("something else"), "hostDied", "something else"),
    ],
    ids=["not found", "exit", "died", "silent", "malformed", "other"],
)
def test_every_way_a_host_can_be_gone(gone: HostGone, reason: str, words: str) -> None:
    error = client_error(gone, "ses-1")
    assert error.code == -32603
    assert data(error)["reason"] == reason and words in data(error)["details"]
    assert data(error).get("exitCode") == getattr(gone, "exit_code", None)


def test_q2_a_failure_is_told_without_secrets() -> None:
    def scrub(text: str) -> str:
        return text.replace("s3cret", "[hidden]")

    failed = TurnOutcome("failed", TurnError("modelError", "bad key s3cret"), "s3cret", {"outputTokens": 1})
    clean = without_secrets(failed, scrub)
    assert clean == TurnOutcome("failed", TurnError("modelError", "bad key [hidden]"), "[hidden]", {"outputTokens": 1})
    assert without_secrets(TurnOutcome("completed"), scrub) == TurnOutcome("completed")
