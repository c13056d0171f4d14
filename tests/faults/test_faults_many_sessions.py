"""Fault P2: sessions that nobody closes are bounded, and one that is closed makes room."""

from __future__ import annotations

from pathlib import Path

from tests.adapter_process import running_adapter
from tests.hurried import hurried
from tests.scripted_hosts import ScriptedHost, place


def test_p2_sessions_that_are_left_open_are_bounded(tmp_path: Path) -> None:
    muse = place(tmp_path / "host", ScriptedHost).muse
    with running_adapter(tmp_path, muse=muse, command=hurried(bridge__sessions__MOST_OPEN=3)) as adapter:
        adapter.initialize()
        sessions = [adapter.new_session(tmp_path) for _ in range(3)]
        stored = {"sessionId": "ses-stored", "cwd": str(tmp_path), "mcpServers": []}
        for method, asked in (("session/new", {"cwd": str(tmp_path), "mcpServers": []}), ("session/load", stored)):
            error = adapter.refused(method, asked)
            assert (error["code"], error["data"]["reason"], error["data"]["limit"]) == (-32600, "tooManySessions", 3)
        assert adapter.call("session/resume", stored | {"sessionId": sessions[0]}) is not None, "it is open already"
        assert adapter.prompt(sessions[1], "go")["stopReason"] == "end_turn"
        adapter.call("session/close", {"sessionId": sessions[2]})
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


def test_p2_sessions_that_are_on_their_way_count_too(tmp_path: Path) -> None:
    muse = place(tmp_path / "host", ScriptedHost).muse
    with running_adapter(tmp_path, muse=muse, command=hurried(bridge__sessions__MOST_OPEN=2)) as adapter:
        adapter.initialize()
        with adapter.one_write():
            asked = [adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []}) for _ in range(5)]
        answers = [adapter.response(request) for request in asked]
        assert sum("result" in answer for answer in answers) == 2
        assert {answer["error"]["data"]["reason"] for answer in answers if "error" in answer} == {"tooManySessions"}
        assert adapter.finish() == 0
