"""What the tests of group E share: a good end, and the look of cards."""

from __future__ import annotations

from typing import Final

from tests.adapter_process import AdapterProcess, Json
from tests.processes import assert_gone, descendants
from tests.scripted_hosts import Placed

LOG_BYTES: Final = 64 * 1024
"""More than the adapter ever has to say about one dead peer."""


def end(adapter: AdapterProcess, *placed: Placed) -> None:
    """The adapter ends well, what it wrote is right, and nothing of it is left."""
    pids = [row.pid for row in descendants(adapter.process.pid)]
    assert adapter.finish() == 0
    assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
    notes = adapter.stderr.splitlines()
    assert len(notes) == len(set(notes)) and len(adapter.stderr) < LOG_BYTES, adapter.stderr.decode()
    assert_gone([*pids, *(pid for host in placed for pid in host.pids())])


def is_open_card(update: Json) -> bool:
    return bool(update["sessionUpdate"] == "tool_call")


def is_failed_card(frame: Json) -> bool:
    update = frame.get("params", {}).get("update", {})
    return (update.get("sessionUpdate"), update.get("status")) == ("tool_call_update", "failed")
