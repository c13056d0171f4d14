"""Sessions beside and after each other: each in its folder, under an id of its own, and nothing left at its end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.processes import open_descriptors, proc

NOBODY = "01900000-0000-7000-8000-00000000feed"

MANY = 1000
SETTLED = 300
"""Sessions after which what is remembered of closed ones, and what Python keeps, has nearly its full size."""

GROWTH = 12 * 1024
"""Kilobytes for the sessions that follow: much less than they would take if they were kept."""


def resident(adapter: AdapterProcess) -> int:
    """The memory of the adapter, in kilobytes."""
    status = (proc() / str(adapter.process.pid) / "status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@pytest.mark.acp(43)
@pytest.mark.parametrize("version", ["1.1.1", "1.2.1", "1.4.13"])
def test_each_session_works_in_its_folder_wherever_the_adapter_runs(tmp_path: Path, version: str) -> None:
    folders = [tmp_path / "first", tmp_path / "second one"]
    for folder in folders:
        folder.mkdir()
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        sessions = [adapter.new_session(folder) for folder in folders]
        prompts = [
            adapter.begin_prompt(session_id, f"write notes.txt of {folder.name}")
            for session_id, folder in zip(sessions, folders, strict=True)
        ]
        for prompt in prompts:
            assert adapter.response(prompt)["result"] == {"stopReason": "end_turn"}
        for session_id, folder in zip(sessions, folders, strict=True):
            assert (folder / "notes.txt").read_text().strip() == f"of {folder.name}"
            places = [place["path"] for update in adapter.updates(session_id) for place in update.get("locations", [])]
            assert set(places) == {str(folder / "notes.txt")}
        assert not (tmp_path / "notes.txt").exists()
        assert adapter.finish() == 0


@pytest.mark.acp(44, 45)
def test_ids_are_new_each_time_and_told_before_anything_else_of_their_session(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        asked = [adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []}) for _ in range(200)]
        ids = [adapter.response(each)["result"]["sessionId"] for each in asked]
        assert len(set(ids)) == len(ids)
        known: set[str] = set()
        for frame in adapter.frames:
            if frame.get("method") == "session/update":
                assert frame["params"]["sessionId"] in known, frame
            elif "sessionId" in frame.get("result", {}):
                known.add(frame["result"]["sessionId"])
        # Random beyond the time in front: no two that were made in a row are one apart.
        tails = sorted(int(each[-12:], 16) for each in ids)
        assert all(after - before > 1 for before, after in pairwise(tails))
        assert adapter.finish() == 0


@pytest.mark.acp(58)
def test_a_session_nobody_knows_is_not_found_whatever_is_asked_of_it(tmp_path: Path) -> None:
    calls: dict[str, Json] = {
        "session/prompt": {"prompt": [{"type": "text", "text": "hello"}]},
        "session/set_mode": {"modeId": "plan"},
        "session/set_config_option": {"configId": "mode", "value": "plan"},
        "session/close": {},
        "session/load": {"cwd": str(tmp_path), "mcpServers": []},
        "session/resume": {"cwd": str(tmp_path), "mcpServers": []},
        "session/fork": {"cwd": str(tmp_path), "mcpServers": []},
    }
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        for method, params in calls.items():
            error = adapter.refused(method, {"sessionId": NOBODY, **params})
            assert (error["code"], error["data"]["sessionId"]) == (-32002, NOBODY), method
        adapter.notify("session/cancel", {"sessionId": NOBODY})
        assert adapter.refused("orchard/unknown", {})["code"] == -32601
        assert adapter.updates(NOBODY) == []
        assert adapter.finish() == 0


@pytest.mark.acp(59)
def test_a_thousand_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        for number in range(MANY):
            adapter.call("session/close", {"sessionId": adapter.new_session(tmp_path)})
            if number == SETTLED:
                memory, descriptors, children = (
                    resident(adapter),
                    open_descriptors(adapter.process.pid),
                    adapter.children(),
                )
        assert open_descriptors(adapter.process.pid) <= descriptors + 1
        assert adapter.children() == children
        assert resident(adapter) - memory < GROWTH
        assert adapter.finish() == 0
