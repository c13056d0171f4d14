"""`muse-adapter doctor --read` as a process: where it stops, and that an interruption leaves nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.doctor_command import begin, checks, document
from tests.output_command import ended
from tests.output_hosts import ITEM, SESSION, OutputHost, methods
from tests.processes import assert_gone, wait_until
from tests.scripted_hosts import place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals, and stand-ins that are scripts")


@pytest.mark.parametrize(("shown", "stop"), [("1.3.0", 2), ("1.2.1", 9)])
def test_the_report_has_the_steps_and_fails_where_the_read_does(tmp_path: Path, shown: str, stop: int) -> None:
    item = {"itemId": ITEM, "kind": "toolCall", "revision": 1}
    gone = {"id": "out-pear", "byteLen": 10, "availability": "accessFailed"}
    event = {"method": "item/completed", "params": {"sessionId": SESSION, "item": {**item, "outputRef": gone}}}
    placed = place(tmp_path / "host", OutputHost, shown=shown, workspace=str(tmp_path), pages=[[event]])
    found = document(tmp_path, "--read", SESSION, ITEM, muse=placed.muse)
    made = checks(found)
    statuses = [made[f"read.{number}"]["status"] for number in range(1, 14)]
    assert statuses == ["pass"] * (stop - 1) + ["fail"] + ["skipped"] * (13 - stop)
    assert found["ok"] is False
    assert_gone(placed.pids())


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_read_is_quiet_and_leaves_nothing(tmp_path: Path, signum: int) -> None:
    placed = place(tmp_path / "host", OutputHost, workspace=str(tmp_path), silent=["view/page"])
    process = begin(tmp_path, "--read", SESSION, ITEM, muse=placed.muse)
    wait_until(lambda: "view/page" in methods(placed))
    process.send_signal(signum)
    done = ended(process)
    assert (done.code, done.stdout, done.stderr) == (130, b"", "")
    assert_gone(placed.pids())
