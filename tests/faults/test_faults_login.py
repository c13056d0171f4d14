"""Faults N12, O8, O9 and Q1: the error for logins is used for logins, at once, and for nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.host_errors import REFUSALS, TURNS
from tests.adapter_process import Json, running_adapter


def faults(*each: Json) -> dict[str, str]:
    return {"MUSE_SIMULATED_FAULTS": json.dumps(each)}


def new(cwd: Path) -> Json:
    return {"cwd": str(cwd), "mcpServers": []}


@pytest.mark.acp(38)
@pytest.mark.parametrize("at", ["session/start", "session/resume", "session/list"])
def test_n12_a_host_that_wants_a_login_is_told_at_once_with_the_ways_to_log_in(tmp_path: Path, at: str) -> None:
    refusal = {"at": at, "do": "error", "code": -32603, "kind": "authRequired", "message": "sign in first"}
    with running_adapter(tmp_path, env=faults(refusal | {"times": None})) as adapter:
        assert adapter.initialize()["authMethods"]
        stored: Json = new(tmp_path) | {"sessionId": "01900000-0000-7000-8000-00000000feed"}
        calls: dict[str, tuple[str, Json]] = {
            "session/start": ("session/new", new(tmp_path)),
            "session/resume": ("session/load", stored),
            "session/list": ("session/list", {}),
        }
        error = adapter.refused(*calls[at])
        assert (error["code"], error["data"]["reason"]) == (-32000, "authRequired")
        assert "sign in first" in error["data"]["details"]
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"do": "hang"},
        {"do": "error", "code": -32603, "kind": "authRequired", "message": "sign in first"},
        {"do": "error", "code": -32601, "kind": "methodNotFound"},
    ],
    ids=["silent", "login", "missing"],
)
def test_n12_a_list_of_models_that_does_not_come_holds_no_session_up(tmp_path: Path, fault: Json) -> None:
    with running_adapter(tmp_path, env=faults({"at": "model/list", "times": None, **fault})) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.acp(41)
def test_o8_only_the_login_among_the_kinds_of_failed_turns(tmp_path: Path) -> None:
    kinds = [*TURNS, "quotaExceeded", "rateLimited", "unauthorizedTool", "kindOfTomorrow"]
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for kind in kinds:
            error = adapter.response(adapter.begin_prompt(session_id, f"fail {kind}"))["error"]
            assert error["code"] == (-32000 if kind == "authRequired" else -32603), kind
            assert error["data"]["hostKind"] == kind
            assert type(error["data"]["retryable"]) is bool
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.parametrize("kind", [kind for kind in REFUSALS if kind != "authRequired"])
def test_o9_no_other_refusal_of_a_prompt_is_a_login_error(tmp_path: Path, kind: str) -> None:
    refusal = {"at": "turn/start", "do": "error", "code": -32000, "kind": kind, "message": "orchard closed"}
    with running_adapter(tmp_path, env=faults(refusal | {"times": None})) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        error = adapter.response(adapter.begin_prompt(session_id, "hello"))["error"]
        assert error["code"] == REFUSALS[kind].code
        assert error["data"]["reason"] == REFUSALS[kind].reason
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


@pytest.mark.acp(103)
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"kind": "invalidParams"}, "hostError"),
        ({"kind": "commandRejected", "reason": "plan"}, "hostError"),
        ({}, "hostError"),
    ],
    ids=["invalid", "rejected", "without a kind"],
)
def test_q1_what_the_host_says_of_a_session_it_does_not_start_reaches_the_user(
    tmp_path: Path, data: dict[str, Any], reason: str
) -> None:
    refusal = {"at": "session/start", "do": "error", "code": -32602, "message": "model-red is not in your plan"}
    with running_adapter(tmp_path, env=faults(refusal | data)) as adapter:
        adapter.initialize()
        error = adapter.refused("session/new", new(tmp_path))
        assert (error["code"], error["data"]["reason"]) == (-32603, reason)
        assert error["data"]["details"] == "model-red is not in your plan"
        assert adapter.finish() == 0
