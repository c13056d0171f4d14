"""The adapter's three streams, whatever stands at their other ends (`acp.md §25` 4, 23, 104)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.adapter_process import EXIT_SECONDS, INITIALIZE, Json, running_adapter
from tests.processes import assert_gone, descendants

SECRETS = ["sekret-env-4711", "sekret-header-4711", "sekret-argument-4711"]
WORDS = "pomegranate"
"""Of a prompt."""


def line(request_id: int, method: str, params: Json) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


def adapter_at(home: Path, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated"],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(home)},
        cwd=home,
    )


def answers(data: bytes) -> dict[int, Json]:
    return {frame["id"]: frame for frame in map(orjson.loads, data.splitlines()) if "method" not in frame}


@pytest.mark.acp(4)
def test_a_file_of_requests_gives_a_file_of_answers(tmp_path: Path) -> None:
    asked, said = tmp_path / "asked", tmp_path / "said"
    asked.write_bytes(line(1, "initialize", INITIALIZE) + line(2, "session/new", {"cwd": str(tmp_path)}))
    with asked.open("rb") as stdin, said.open("wb") as stdout:
        process = adapter_at(tmp_path, stdin.fileno(), stdout.fileno())
        assert process.wait(EXIT_SECONDS) == 0
    found = answers(said.read_bytes())
    assert "result" in found[1] and "result" in found[2]


@pytest.mark.acp(4)
def test_a_socket_serves_as_both_ends(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = adapter_at(tmp_path, theirs.fileno(), theirs.fileno())
        ours.settimeout(EXIT_SECONDS)
        ours.sendall(line(1, "initialize", INITIALIZE))
        ours.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: ours.recv(65536), b""))
        assert process.wait(EXIT_SECONDS) == 0
    assert "result" in answers(data)[1]


@pytest.mark.acp(4, 104)
def test_a_log_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    """More is logged than a pipe holds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated", "--log-level", "debug"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    try:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(line(1, "initialize", INITIALIZE))
        for number in range(3000):
            process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"result":"to nobody %s"}\n' % (number, b"x" * 200))
            process.stdin.write(line(number + 10, f"orchard/{number}", {}))
        process.stdin.close()
        assert set(answers(process.stdout.read())) == {1, *range(10, 3010)}
        assert process.wait(EXIT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.acp(23)
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_a_turn_is_like_the_end_of_input(tmp_path: Path, signum: signal.Signals) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        prompt = adapter.begin_prompt(adapter.new_session(tmp_path), "slow 60")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        pids = [adapter.process.pid, *(row.pid for row in descendants(adapter.process.pid))]
        adapter.process.send_signal(signum)
        assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        assert adapter.wait_exit() == 0
        assert_gone(pids)
        assert b"Traceback" not in adapter.stderr


@pytest.mark.acp(104)
@pytest.mark.parametrize("level", ["warning", "info", "debug"])
def test_secrets_and_prompts_stay_out_of_the_log(tmp_path: Path, level: str) -> None:
    servers = [
        {"name": "a", "command": "/no/such/program", "args": [SECRETS[2]], "env": [{"name": "A", "value": SECRETS[0]}]},
        {"name": "b", "type": "http", "url": "http://127.0.0.1:9/", "headers": [{"name": "X", "value": SECRETS[1]}]},
    ]
    with running_adapter(tmp_path, "--log-level", level, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", {"cwd": str(tmp_path), "mcpServers": servers})["sessionId"]
        for prompt in (WORDS, f"think {WORDS}", f"fail modelError {WORDS}", f"slow 0.1 {WORDS}"):
            adapter.response(adapter.begin_prompt(session_id, prompt))
        adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": [*servers, {"name": ""}]})
        adapter.refused("session/prompt", {"sessionId": session_id, "prompt": [{"type": WORDS, "text": WORDS}]})
        adapter.finish()
        for secret in [*SECRETS, WORDS]:
            assert secret.encode() not in adapter.stderr
