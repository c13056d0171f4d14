"""Q: secrets in a host's words reach neither the client's errors nor the log; what explains the failure does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapter_process import running_adapter

SECRET = "sekretvalue123"
WORDS = f"model-red is not in your plan (key {SECRET})"


@pytest.mark.acp(103, 104)
@pytest.mark.parametrize("at", ["handshake", "session/start", "turn/start"])
def test_q1_q2_a_refusal_is_told_without_the_secret_in_it(tmp_path: Path, at: str) -> None:
    fault = {"at": at, "do": "error", "code": -32603, "kind": "internal", "message": WORDS}
    env = {"DEMO_API_KEY": SECRET, "MUSE_SIMULATED_FAULTS": json.dumps([fault])}
    with running_adapter(tmp_path, "--log-level", "debug", env=env) as adapter:
        adapter.initialize()
        if at == "turn/start":
            session_id = adapter.new_session(tmp_path)
            error = adapter.response(adapter.begin_prompt(session_id, "hello"))["error"]
        else:
            error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        adapter.finish()
        assert "model-red is not in your plan" in error["data"]["details"]
        assert SECRET.encode() not in b"".join(adapter.lines) + adapter.stderr


@pytest.mark.acp(103, 104)
@pytest.mark.parametrize("opted_in", [False, True])
def test_q2_a_launcher_that_prints_its_settings(tmp_path: Path, opted_in: bool) -> None:
    muse = tmp_path / "muse"
    muse.write_text(f"#!/bin/sh\nset -x\nexport DEMO_API_KEY={SECRET}\nexit 1\n")
    muse.chmod(0o755)
    with running_adapter(tmp_path, "--log-level", "debug", muse=str(muse)) as adapter:
        adapter.initialize(**({"clientCapabilities": {"_meta": {"muse/output": 1}}} if opted_in else {}))
        adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        adapter.finish()
        assert SECRET.encode() not in b"".join(adapter.lines) + adapter.stderr
