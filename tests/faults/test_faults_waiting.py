"""Fault P3: much comes while a prompt waits for the diff of a call."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hurried import hurried
from tests.load.client import load_client
from tests.load.hosts import LoadHost, PatchlessHost
from tests.processes import proc
from tests.scripted_hosts import place


@pytest.mark.acp(67)
def test_p3_a_prompt_does_without_a_diff_if_too_much_comes_meanwhile(tmp_path: Path) -> None:
    proc()
    muse = place(tmp_path / "host", PatchlessHost).muse
    patient = hurried(bridge__tool_cards__diffs__READ_SECONDS=1000, msp__budgets__QUERY_TIMEOUT=1000)
    with load_client(tmp_path, muse, {}, patient) as client:
        session_id = client.new_session()
        answer = client.answer(client.play(session_id, "patch", pieces=9000), 30)
        assert answer["result"]["stopReason"] == "end_turn"
        assert client.cards["write"]["status"] == "completed"
        client.wait_for(lambda: len(client.message(session_id)) == 9000 * 1024)


@pytest.mark.acp(19)
def test_p3_a_host_is_not_late_while_the_client_does_not_read(tmp_path: Path) -> None:
    proc()
    muse = place(tmp_path / "host", LoadHost).muse
    hasty = hurried(msp__budgets__OPEN_TIMEOUT=3.0)
    with load_client(tmp_path, muse, {}, hasty) as client:
        session_id = client.new_session()
        client.stop_reading()
        flood = client.play(session_id, "flood", turns=1)
        # So long that everything between the two is full.
        time.sleep(2.0)
        asked = client.ask("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        time.sleep(5.0)
        client.read_on()
        assert "result" in client.answer(asked)
        client.notify("session/cancel", {"sessionId": session_id})
        assert client.answer(flood)["result"]["stopReason"] == "cancelled"
