"""From the first answer, which comes before everything else is there, to what follows it."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.adapter_process import ANSWER_SECONDS, EXIT_SECONDS, INITIALIZE, Json, running_adapter
from tests.processes import assert_gone, descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is said before the rest is there")

ASKS: Json = {"_meta": {"muse/steering": 1, "muse/asyncTasks": 1}}


def wait_for_event_loop(pid: int) -> None:
    """Until the process has what an event loop waits with."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while not any(_is_of_event_loop(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_of_event_loop(fd: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return str(fd.readlink()) == "anon_inode:[eventpoll]"
    return False


def is_sleep(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")
    return False


def test_a_client_that_asks_for_everything_at_once_gets_every_answer(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        with adapter.one_write():
            first = adapter.begin("initialize", INITIALIZE)
            session = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            listed = adapter.begin("session/list", {})
        assert adapter.wait_for(lambda frame: frame.get("id") == first)["result"]["protocolVersion"] == 1
        session_id = adapter.wait_for(lambda frame: frame.get("id") == session)["result"]["sessionId"]
        assert "result" in adapter.wait_for(lambda frame: frame.get("id") == listed)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_the_answer_is_the_same_when_it_is_asked_for_again(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        first = adapter.initialize(clientCapabilities=ASKS)
        assert adapter.initialize(clientCapabilities=ASKS) == first
        # What was settled holds, also for a client that says less of itself now.
        assert adapter.initialize()["_meta"] == first["_meta"]
        assert adapter.finish() == 0


def test_two_that_ask_at_once_on_an_unknown_host_are_told_the_same(tmp_path: Path) -> None:
    asks = {**INITIALIZE, "clientCapabilities": {"_meta": {"muse/output": 1}}}
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        with adapter.one_write():
            # The second answer is known first: for that one the host's version is of no interest.
            one, other = adapter.begin("initialize", asks), adapter.begin("initialize", INITIALIZE)
        first = adapter.wait_for(lambda frame: frame.get("id") == one)["result"]
        second = adapter.wait_for(lambda frame: frame.get("id") == other)["result"]
        assert first == second == adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        assert adapter.finish() == 0


def test_a_client_that_waits_before_it_asks_gets_the_same_answer(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        early = adapter.initialize(clientCapabilities=ASKS)
    with running_adapter(tmp_path) as adapter:
        wait_for_event_loop(adapter.process.pid)
        assert adapter.initialize(clientCapabilities=ASKS) == early
        assert adapter.finish() == 0


def test_who_has_asked_is_in_the_log(tmp_path: Path) -> None:
    with running_adapter(tmp_path, "--log-level", "info") as adapter:
        adapter.initialize(clientInfo={"name": "early", "version": "3"})
        assert adapter.finish() == 0
    assert adapter.stderr.count(b"client: early 3") == 1


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_f3_a_signal_right_after_the_answer_leaves_nothing(tmp_path: Path, signum: signal.Signals) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        started = [row.pid for row in descendants(adapter.process.pid)]
        adapter.process.send_signal(signum)
        assert adapter.process.wait(EXIT_SECONDS) == (-signum if signum == signal.SIGKILL else 0)
        assert_gone(started)


def test_the_end_of_input_right_after_the_request_ends_all_in_order(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        request = adapter.begin("initialize", INITIALIZE)
        assert adapter.process.stdin is not None
        adapter.process.stdin.close()
        assert "result" in adapter.wait_for(lambda frame: frame.get("id") == request)
        started = [row.pid for row in descendants(adapter.process.pid)]
        assert adapter.process.wait(EXIT_SECONDS) == 0
        assert_gone(started)


@pytest.mark.parametrize("end", ["end of input", "SIGTERM", "SIGKILL"])
def test_f3_an_end_while_a_host_is_asked_for_its_version_leaves_nothing(tmp_path: Path, end: str) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/bin/sh\nexec sleep 600\n")
    muse.chmod(0o755)
    with running_adapter(tmp_path, muse=str(muse)) as adapter:
        adapter.begin("initialize", {**INITIALIZE, "clientCapabilities": {"_meta": {"muse/output": 1}}})
        deadline = time.monotonic() + ANSWER_SECONDS
        while len(started := [row.pid for row in descendants(adapter.process.pid) if is_sleep(row.pid)]) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        if end == "end of input":
            assert adapter.process.stdin is not None
            adapter.process.stdin.close()
        else:
            adapter.process.send_signal(signal.Signals[end])
        adapter.process.wait(EXIT_SECONDS)
        assert_gone(started)
