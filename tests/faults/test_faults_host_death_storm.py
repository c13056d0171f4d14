"""Rule 4 in bad weather: hosts are killed while everything is under way, and each request is answered once."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.faults.ending import end
from tests.processes import wait_until

WORDS = ("hello", "slow 1", "approve", "background", "shell 3000", "stream 200", "think")
ENDS = {"hostDied", "hostStartFailed", "hostError"}
"""What a prompt may end with when the host it runs on is killed, beside a stop reason."""


def hosts_of(adapter: AdapterProcess) -> list[int]:
    """The hosts that serve, not those that only say their version."""
    found = []
    for pid in adapter.hosts():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and b"--help" not in words:
            found.append(pid)
    return found


def allow(request: Json) -> Json:
    options = request["params"]["options"]
    return permission(next(option["optionId"] for option in options if option["kind"] == "allow_once"))


@pytest.mark.parametrize(("version", "seed"), [("1.2.1", 1), ("1.3.0", 2), ("1.4.13", 3)])
def test_e2_every_request_is_answered_once_however_often_hosts_are_killed(
    tmp_path: Path, version: str, seed: int
) -> None:
    chance = random.Random(seed)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.answer = allow
        adapter.initialize()
        sessions = [adapter.new_session(tmp_path) for _ in range(3)]
        asked: list[int] = []
        for _ in range(4):
            for session_id in sessions:
                asked.append(adapter.begin_prompt(session_id, chance.choice(WORDS)))
                if chance.random() < 0.3:
                    adapter.notify("session/cancel", {"sessionId": session_id})
            time.sleep(chance.uniform(0, 0.15))
            wait_until(lambda: bool(hosts_of(adapter)))
            for pid in hosts_of(adapter):
                os.kill(pid, signal.SIGKILL)
            asked.append(adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []}))
        for request_id in asked:
            response = adapter.response(request_id)
            if "error" in response:
                assert response["error"]["data"]["reason"] in ENDS, response
        for session_id in sessions:
            adapter.prompt(session_id, "hello")
        answered = [frame["id"] for frame in adapter.frames if "method" not in frame]
        assert len(answered) == len(set(answered))
        end(adapter)
