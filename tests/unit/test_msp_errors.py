"""Host errors, silences and exits."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.errors import HostClosed, HostGone, MalformedResult, MspError, RequestTimeout, exit_class
from adapter.msp.vocabulary import ERRORS


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_code_alone_gives_kind_and_retryable(code: int) -> None:
    error = MspError.from_error({"code": code, "message": "no"})
    assert (error.kind, error.retryable, error.data) == (ERRORS[code].kind, ERRORS[code].retryable, {})


def test_data_overrides_the_table() -> None:
    data = {"kind": "noBoundary", "retryable": True, "latestBoundaryCursor": None}
    error = MspError.from_error({"code": -32042, "message": "gone", "data": data})
    assert (error.kind, error.retryable, error.data) == ("noBoundary", True, data)


def test_unknown_code_is_kept_and_final() -> None:
    error = MspError.from_error({"code": -32999, "message": "new"})
    assert (error.code, error.kind, error.retryable, error.message) == (-32999, "unknown", False, "new")


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"code": "x", "message": 5, "data": [1]},
        {"code": True, "message": None, "data": None},
        {"code": -32030, "message": "m", "data": {"kind": 3, "retryable": "yes", "reason": {}}},
    ],
)
def test_wrong_typed_members_never_raise(broken: dict[str, Any]) -> None:
    error = MspError.from_error(broken)
    assert error.retryable is False
    assert error.reason is None
    assert str(error)


def test_reason_is_read_from_data() -> None:
    data = {"kind": "commandRejected", "reason": "command_id_conflict", "viewCursor": "v:1", "capability": "userShell"}
    error = MspError.from_error({"code": -32030, "message": "rejected", "data": data})
    assert (error.reason, error.view_cursor, error.capability) == ("command_id_conflict", "v:1", "userShell")
    assert "command_id_conflict" in str(error)


@pytest.mark.parametrize(
    ("code", "signal", "name", "posture"),
    [
        (0, None, "clean", "none"),
        (1, None, "unhandledError", "noClaim"),
        (2, None, "usageError", "never"),
        (3, None, "configurationError", "afterFix"),
        (4, None, "leaseUnavailable", "afterHolderExits"),
        (5, None, "surfaceUnavailable", "never"),
        (6, None, "crash", "resume"),
        (-9, None, "crash", "resume"),
        (None, 11, "crash", "resume"),
        (None, None, "crash", "resume"),
    ],
)
def test_exit_class(code: int | None, signal: int | None, name: str, posture: str) -> None:
    told = exit_class(code, signal)
    assert (told.name, told.retry_posture) == (name, posture)
    assert told.sentence


def test_a_negative_code_names_its_signal() -> None:
    assert "signal 9" in exit_class(-9).sentence


@pytest.mark.parametrize(
    "failure", [HostClosed("exit 3"), RequestTimeout("view/page", 2.5), MalformedResult("turn/start", "no turnId")]
)
def test_silence_of_the_host_is_one_family(failure: HostGone) -> None:
    assert isinstance(failure, HostGone)
    assert str(failure)
