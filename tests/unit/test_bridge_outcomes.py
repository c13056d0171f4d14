"""What the end of a turn and the failure of a host mean to a client."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.host_errors import REFUSALS, TURNS
from adapter.bridge.outcomes import _LIMITS, LOGIN_ADVICE, client_error, stop_reason, turn_result, without_secrets
from adapter.msp.errors import HostClosed, HostGone, HostStartError, MalformedResult, MspError, RequestTimeout
from adapter.msp.turns import TurnError, TurnOutcome
from adapter.msp.vocabulary import ERRORS
from adapter.wire.envelope import RpcError


def failed(
    kind: str = "modelError", message: str = "demo quota used up", finish: str | None = None, **more: Any
) -> TurnOutcome:
    return TurnOutcome("failed", error=TurnError(kind, message, **more), finish=finish)


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
        (TurnOutcome("failed", reason="output limit"), "max_tokens"),
        (TurnOutcome("completed", reason="Too many steps"), "max_turn_requests"),
        (failed("OUTPUT_LIMIT"), "max_tokens"),
        (failed("unknown", "output-limit"), "max_tokens"),
        (failed("max_turn_requests"), "max_turn_requests"),
        (TurnOutcome("completed", reason="content_filter"), "refusal"),
        (TurnOutcome("completed", finish="max_output_tokens"), "max_tokens"),
        (TurnOutcome("completed", finish="content_filter"), "refusal"),
        (TurnOutcome("completed", finish="stop"), "end_turn"),
        (TurnOutcome("completed", reason="stepLimit", finish="length"), "max_turn_requests"),
        (TurnOutcome("failed", finish="length"), "max_tokens"),
        (failed(finish="length"), "max_tokens"),
        (TurnOutcome("cancelled", finish="length"), "cancelled"),
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
    assert data(error_of(failed()))["retryable"] is False


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
    error = error_of(outcome)
    assert " " in data(error)["details"]
    assert data(error)["hostKind"] == (outcome.error.kind if outcome.error else outcome.reason or "unknown")


@pytest.mark.parametrize(
    "outcome",
    [failed("authRequired", finish="length"), failed(finish="length", quota={"limitKind": "weekly"})],
    ids=["login", "quota"],
)
def test_h3_a_failure_with_another_cause_is_no_limit(outcome: TurnOutcome) -> None:
    assert "demo quota used up" in data(error_of(outcome))["details"]


def test_h3_a_turn_that_was_lost_is_no_limit() -> None:
    assert data(error_of(TurnOutcome("failed", reason="crash", finish="length")))["hostKind"] == "crash"


def test_h3_words_of_a_failure_that_is_told_as_a_limit_stand_beside_it() -> None:
    said = {"terminal": "failed", "reason": "demo quota used up"}
    assert turn_result(failed(finish="length")) == {"stopReason": "max_tokens", "_meta": {"muse/turn": said}}
    assert turn_result(failed("outputLimit")) == {"stopReason": "max_tokens"}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (TurnOutcome("failed", reason="demo quota used up"), "unknown"),
        (TurnOutcome("failed", TurnError("modelError", ""), "demo quota used up"), "modelError"),
        (TurnOutcome("failed", TurnError("modelError", "no"), "demo quota used up"), "modelError"),
        (TurnOutcome("failed", TurnError("unknown", "demo quota used up")), "unknown"),
        (TurnOutcome("failed", TurnError("demo quota used up", "")), "unknown"),
        (TurnOutcome("FAILED", reason="demo quota used up"), "unknown"),
        (TurnOutcome("error", reason="demo quota used up"), "unknown"),
    ],
)
def test_h3_the_hosts_text_is_kept_wherever_it_stands(outcome: TurnOutcome, kind: str) -> None:
    told = data(error_of(outcome))
    assert told["details"].count("demo quota used up") == 1 and told["hostKind"] == kind


def test_h3_a_kind_of_tomorrow_is_told() -> None:
    for outcome in (TurnOutcome("failed", reason="quotaUsedUp"), failed("quotaUsedUp", "")):
        told = data(error_of(outcome))
        assert (told["details"], told["hostKind"]) == ("The turn failed: quotaUsedUp", "quotaUsedUp")


def test_o8_only_a_missing_login_is_an_authentication_error() -> None:
    assert error_of(failed("authRequired", "log in")).code == -32000
    assert error_of(failed("quotaExceeded")).code == -32603
    assert error_of(TurnOutcome("failed", reason="authRequired")).code == -32000
    assert client_error(MspError(-32000, "authRequired", "log in")).code == -32000
    refused = MspError(-32000, "sessionStartFailed", "log in", data={"reason": "authRequired"})
    assert client_error(refused).code == -32000
    assert data(client_error(refused))["details"] == f"log in; {LOGIN_ADVICE}"


KINDS = sorted({kind for row in ERRORS.values() for kind in {row.kind} | row.override_kinds})
TURN_KINDS = [
    *("stepLimit", "configError", "projectionError", "logError", "workflowLaunchError", "environmentError"),
    *("modelError", "launchError", "authRequired", "mcpLinkError"),
]
"""As the host's documents list them (`msp.md §12.3`)."""


def test_every_kind_of_failure_a_host_is_known_to_have_is_in_a_table_and_no_other() -> None:
    assert set(REFUSALS) == {*KINDS, "authRequired", "sessionBusy"}
    assert set(TURNS) == {*TURN_KINDS, "crash", "crash_inferred", "incomplete"} - set(_LIMITS)


@pytest.mark.acp(103)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"sessionNotFound", "sessionNotLoaded"}])
def test_o9_host_codes_do_not_cross(kind: str) -> None:
    code, retryable = next(
        (code, row.retryable) for code, row in ERRORS.items() if kind in {row.kind, *row.override_kinds}
    )
    refused = {"code": code, "message": "words\nof the host", "data": {"kind": kind, "reason": "some_reason"}}
    error = client_error(MspError.from_error(refused), "ses-1")
    assert error.code in {-32600, -32602, -32603, -32002, -32800}
    assert error.code == -32603 or error.code != code
    assert "words of the host" in data(error)["details"] and "\n" not in error.message
    assert data(error).get("hostKind", kind) == kind
    assert data(error)["retryable"] is (retryable or kind == "sessionInUse")


def test_what_the_host_says_of_trying_again_counts() -> None:
    for said in (True, False):
        for kind in ("commandRejected", "internal", "kindOfTomorrow"):
            assert data(client_error(MspError(0, kind, "no", data={"retryable": said})))["retryable"] is said
        assert data(client_error(MspError(0, "sessionInUse", "no", data={"retryable": said})))["retryable"] is True


@pytest.mark.parametrize("kind", [*KINDS, "kindOfTomorrow"])
def test_q1_a_refusal_without_words_is_told_in_a_sentence(kind: str) -> None:
    details = data(client_error(MspError.from_error({"code": 0, "data": {"kind": kind}}), "ses-1"))["details"]
    assert " " in details and kind not in details


def test_a_frame_that_is_too_large_tells_the_limit() -> None:
    error = client_error(MspError(-32002, "inputTooLarge", "too long", data={"limitBytes": 1024}))
    assert (error.code, data(error)["limitBytes"]) == (-32602, 1024)


@pytest.mark.parametrize("kind", ["sessionNotFound", "sessionNotLoaded"])
def test_l2_a_lost_session_is_not_found(kind: str) -> None:
    error = client_error(MspError(0, kind, "gone"), "ses-1")
    assert (error.code, data(error)["sessionId"]) == (-32002, "ses-1")
    assert client_error(MspError(0, kind, "gone")).code == -32603


def test_l11_a_session_in_use_is_busy() -> None:
    error = client_error(MspError(0, "sessionInUse", "held"), "ses-1")
    assert (error.code, data(error)["reason"], data(error)["retryable"]) == (-32600, "sessionInUse", True)
    assert data(error)["sessionId"] == "ses-1"


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
    assert type(data(error)["retryable"]) is bool


@pytest.mark.parametrize(
    ("exit_code", "retryable"),
    [(0, False), (1, False), (2, False), (3, False), (4, True), (5, False), (7, True), (-9, True)],
)
def test_whether_another_start_is_worth_it_depends_on_the_exit(exit_code: int, retryable: bool) -> None:
    error = client_error(HostStartError("hostStartFailed", "It ended", exit_code))
    assert data(error)["retryable"] is retryable


def test_q2_a_failure_is_told_without_secrets() -> None:
    def scrub(text: str) -> str:
        return text.replace("s3cret", "[hidden]")

    failed = TurnOutcome("failed", TurnError("key s3cret", "bad key s3cret"), "s3cret", {"outputTokens": 1})
    clean = without_secrets(failed, scrub)
    assert clean == TurnOutcome(
        "failed", TurnError("key [hidden]", "bad key [hidden]"), "[hidden]", {"outputTokens": 1}
    )
    assert without_secrets(TurnOutcome("completed"), scrub) == TurnOutcome("completed")
