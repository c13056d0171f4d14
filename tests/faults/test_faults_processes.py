"""Faults of group F: how processes begin, end and are left."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.adapter_process import COMMAND, running_adapter
from tests.faults.ending import end, is_open_card
from tests.faults.hosts_with_households import LeavesTheDead, NotesSignals, RunsTools
from tests.processes import GONE_SECONDS, assert_gone, descendants, running, table, wait_until
from tests.scripted_hosts import place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are those of POSIX")

AS_SUBREAPER = (
    "import ctypes, os, sys; assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0; os.execv(sys.argv[1], sys.argv[1:])"
)
"""Hands orphans to the program that follows, as PID 1 of a container gets them."""

SILENT_SECONDS = 2.0


# -- F1


def test_f1_gone_when_stdin_closes_while_idle(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.prompt(adapter.new_session(tmp_path), "hello")
        assert adapter.hosts()
        end(adapter)


def test_f1_gone_when_stdin_closes_before_anything_was_said(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        assert adapter.finish() == 0
        assert (adapter.frames, adapter.stderr) == ([], b"")


def test_f1_gone_when_stdin_closes_with_a_question_open(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        prompt = adapter.begin_prompt(adapter.new_session(tmp_path), "approve")
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        adapter.close_input()
        assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        end(adapter)


# -- F2


def test_f2_nothing_of_a_wrapped_host_and_its_tools_is_left(tmp_path: Path) -> None:
    host = place(tmp_path / "host", RunsTools)
    wrapper = tmp_path / "muse"
    wrapper.write_text(f'#!/bin/sh\n{host.muse} "$@"\nexit $?\n')
    wrapper.chmod(0o755)
    with running_adapter(tmp_path, muse=str(wrapper)) as adapter:
        adapter.initialize()
        adapter.begin_prompt(adapter.new_session(tmp_path), "go")
        adapter.wait_for_update(is_open_card)
        tools = host.pids("tool.pids")
        assert {row.pid for row in running(tools)} > set(tools)
        end(adapter, host)
        assert_gone(tools)


# -- F5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sub-reapers")
def test_f5_no_dead_children_where_orphans_are_handed_to_the_adapter(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LeavesTheDead)
    command = (sys.executable, "-c", AS_SUBREAPER, *COMMAND)
    with running_adapter(tmp_path, muse=host.muse, command=command) as adapter:
        adapter.initialize()
        for _ in range(4):
            adapter.new_session(tmp_path)
            wait_until(lambda: len(dead_children(adapter.process.pid)) == 2)
            [victim] = adapter.hosts()
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: not dead_children(adapter.process.pid))
        end(adapter, host)


def dead_children(pid: int) -> list[int]:
    return [row.pid for row in table() if row.parent == pid and not row.runs]


# -- F7


@pytest.mark.acp(23)
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda value: value.name)
def test_f7_a_signal_to_the_foreground_group_is_for_the_adapter_to_follow(
    tmp_path: Path, signum: signal.Signals
) -> None:
    host = place(tmp_path / "host", NotesSignals)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        prompt = adapter.begin_prompt(adapter.new_session(tmp_path), "go")
        adapter.wait_for_update(is_open_card)
        pids = [row.pid for row in descendants(adapter.process.pid)]
        os.killpg(adapter.process.pid, signum)
        assert adapter.response(prompt)["result"] == {"stopReason": "cancelled"}
        assert adapter.wait_exit(GONE_SECONDS) == 0
        assert adapter.stderr == b""
        assert adapter.lines[-1].endswith(b"\n")
        assert_gone(pids)
    assert len(host.received("turn/interrupt")) == 1
    assert (tmp_path / "host" / "noted").read_text() == "end of input\n"


# -- F8


@pytest.mark.parametrize("opened", [False, True], ids=["before initialize", "with a session"])
def test_f8_silence_and_a_stopped_process_are_no_end_of_input(tmp_path: Path, opened: bool) -> None:
    with running_adapter(tmp_path) as adapter:
        if opened:
            adapter.initialize()
            session_id = adapter.new_session(tmp_path)
        for _ in range(2):
            adapter.process.send_signal(signal.SIGSTOP)
            time.sleep(SILENT_SECONDS / 4)
            adapter.process.send_signal(signal.SIGCONT)
        time.sleep(SILENT_SECONDS)
        if opened:
            assert adapter.prompt(session_id, "hello") == {"stopReason": "end_turn"}
        else:
            adapter.initialize()
        assert adapter.finish() == 0
