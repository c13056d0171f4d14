"""Faults of group E, the client's side: a client that stops reading or closes a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.adapter_process import EXIT_SECONDS, INITIALIZE, Json, running_adapter
from tests.faults.ending import LOG_BYTES, end
from tests.processes import assert_gone, descendants

# -- E5


def raw_adapter(home: Path, stderr: Any) -> subprocess.Popen[bytes]:
    """An adapter whose pipes the test holds itself, so that it can close each of them."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated", "--log-level", "debug"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environ | {"HOME": str(home)},
        cwd=home,
        start_new_session=True,
    )


def ask(process: subprocess.Popen[bytes], request_id: int, method: str, params: Json) -> None:
    assert process.stdin is not None
    process.stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n")
    process.stdin.flush()


def answer_to(process: subprocess.Popen[bytes], request_id: int) -> Json:
    assert process.stdout is not None
    for line in process.stdout:
        frame: Json = orjson.loads(line)
        if frame.get("id") == request_id:
            return frame
    raise AssertionError("the adapter closed its output")


@pytest.mark.acp(24)
@pytest.mark.parametrize("prompt", ["stream 2000000 100", "slow 60", "approve"], ids=["streaming", "slow", "dialog"])
@pytest.mark.parametrize("stderr_too", [False, True], ids=["stdout", "stdout and stderr"])
def test_e5_client_no_longer_reads(tmp_path: Path, prompt: str, stderr_too: bool) -> None:
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = raw_adapter(tmp_path, subprocess.PIPE if stderr_too else sink)
    pids = [process.pid]
    try:
        ask(process, 1, "initialize", INITIALIZE)
        assert "result" in answer_to(process, 1)
        ask(process, 2, "session/new", {"cwd": str(tmp_path), "mcpServers": []})
        session_id = answer_to(process, 2)["result"]["sessionId"]
        pids += [row.pid for row in descendants(process.pid)]
        text = {"type": "text", "text": prompt}
        ask(process, 3, "session/prompt", {"sessionId": session_id, "prompt": [text]})
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()
        if sys.platform != "linux":
            # There it is noticed at the next write alone.
            ask(process, 4, "session/unknown", {})
        assert process.wait(EXIT_SECONDS) == 1
        assert_gone(pids)
        assert log.stat().st_size < LOG_BYTES
        assert b"Traceback" not in log.read_bytes()
    finally:
        process.kill()
        process.wait()


def ask_until_full(process: subprocess.Popen[bytes]) -> None:
    """Write requests until the adapter reads no more of them, since too many answers wait."""
    assert process.stdin is not None
    fd, refused = process.stdin.fileno(), 0
    os.set_blocking(fd, False)
    while refused < 10:
        try:
            os.write(fd, b'{"jsonrpc":"2.0","id":4,"method":"session/unknown"}\n' * 100)
            refused = 0
        except BlockingIOError:
            refused += 1
            time.sleep(0.05)
    os.set_blocking(fd, True)


@pytest.mark.acp(19, 23)
@pytest.mark.parametrize("asks", [False, True], ids=["silent", "asking"])
@pytest.mark.parametrize("ends", ["input", "signal"])
def test_e5_client_stalls_and_goes(tmp_path: Path, ends: str, asks: bool) -> None:
    process = raw_adapter(tmp_path, subprocess.DEVNULL)
    try:
        ask(process, 1, "initialize", INITIALIZE)
        assert "result" in answer_to(process, 1)
        ask(process, 2, "session/new", {"cwd": str(tmp_path), "mcpServers": []})
        session_id = answer_to(process, 2)["result"]["sessionId"]
        pids = [process.pid, *(row.pid for row in descendants(process.pid))]
        text = {"type": "text", "text": "stream 2000000 100"}
        ask(process, 3, "session/prompt", {"sessionId": session_id, "prompt": [text]})
        assert process.stdin is not None and process.stdout is not None
        while b"agent_message_chunk" not in process.stdout.readline():
            pass
        # Until the pipe is full, and something waits behind it.
        time.sleep(0.5)
        if asks:
            ask_until_full(process)
        if ends == "input":
            process.stdin.close()
        else:
            process.terminate()
        assert process.wait(2 * EXIT_SECONDS) == 1
        assert_gone(pids)
    finally:
        process.kill()
        process.wait()


def served(directory: Path, stdin: int) -> subprocess.CompletedProcess[bytes]:
    """The adapter with this descriptor, which is closed here afterwards, as its stdin."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated"],
            stdin=stdin,
            capture_output=True,
            cwd=directory,
            timeout=EXIT_SECONDS,
            check=False,
        )
    finally:
        os.close(stdin)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="nothing is known here that opens and cannot be read")
def test_e5_a_client_that_cannot_be_read_is_no_good_end(tmp_path: Path) -> None:
    done = served(tmp_path, os.open("/proc/self/mem", os.O_RDONLY))

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"reading failed" in done.stderr
    assert b"Traceback" not in done.stderr


def test_e5_a_stdin_that_is_not_for_reading_is_no_client(tmp_path: Path) -> None:
    done = served(tmp_path, os.open(os.devnull, os.O_WRONLY))

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"muse-adapter: stdin and stdout must be open") and done.stderr.count(b"\n") == 1


# -- E6


@pytest.mark.acp(15, 21, 22)
@pytest.mark.parametrize("last_newline", [True, False], ids=["newline", "no newline"])
@pytest.mark.parametrize("count", [1, 2, 3], ids=["initialize", "and a session", "and a list"])
def test_e6_everything_accepted_is_answered(tmp_path: Path, count: int, last_newline: bool) -> None:
    requests: list[tuple[str, Json]] = [
        ("initialize", INITIALIZE),
        ("session/new", {"cwd": str(tmp_path), "mcpServers": []}),
        ("session/list", {}),
    ]
    lines = [
        orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests[:count], 1)
    ]
    with running_adapter(tmp_path) as adapter:
        adapter.sent += lines
        adapter.write(b"\n".join(lines) + (b"\n" if last_newline else b""))
        adapter.close_input()
        assert adapter.finish() == 0
        answers = {frame["id"]: frame for frame in adapter.frames if "method" not in frame}
        assert sorted(answers) == list(range(1, count + 1))
        assert "result" in answers[1]
        assert count < 2 or "result" in answers[2]
        assert b"Traceback" not in adapter.stderr


@pytest.mark.acp(21)
def test_e6_a_running_prompt_is_answered(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        prompts = [adapter.begin_prompt(session_id, "slow 60") for _ in range(3)]
        adapter.close_input()
        for prompt in prompts:
            assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        end(adapter)
