"""What the measurements do is what they say, with next to nothing to do; how fast it is, is not asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks import loading, permission, tool_output
from tests.benchmarks.bare_loop import bare_loop
from tests.benchmarks.client import client
from tests.benchmarks.fast_host import SESSION, item_id, place
from tests.benchmarks.tool_output import LETTERS, VISIBLE_BYTES, OutputHost


@pytest.mark.parametrize("letters", LETTERS)
def test_all_of_an_output_is_on_its_card(tmp_path: Path, letters: str) -> None:
    with client(tmp_path, "--muse", str(place(tmp_path, OutputHost, letters))) as running:
        running.initialize()
        session_id = running.new_session(tmp_path)
        whole = tool_output.show(running, session_id, VISIBLE_BYTES)
        rested = tool_output.show(running, session_id, VISIBLE_BYTES, 0.1)
        cut = tool_output.show(running, session_id, 5 * VISIBLE_BYTES)
    text = tool_output.output(VISIBLE_BYTES, letters)
    assert len(text.encode()) == VISIBLE_BYTES
    assert whole.text == rested.text == f"```\n{text}```"
    assert rested.seconds >= 0.1
    assert whole.truncated is None
    assert cut.truncated["source"] == "host"
    assert cut.truncated["totalBytes"] == 5 * VISIBLE_BYTES
    assert cut.written >= cut.last_bytes > VISIBLE_BYTES


@pytest.mark.parametrize("letters", LETTERS)
def test_an_output_is_told_in_pieces_that_are_all_of_it(letters: str) -> None:
    text = tool_output.output(50_000, letters)
    assert len(text.encode()) == 50_000
    assert "".join(tool_output.pieces(text)) == text
    assert len(tool_output.deltas(text, item_id(1))) == len(tool_output.pieces(text)) > 10


def test_all_items_of_a_session_are_loaded(tmp_path: Path) -> None:
    items = 2 * loading.PAGE_EVENTS
    host = str(place(tmp_path, loading.HistoryHost, items))
    with client(tmp_path, "--muse", host) as running:
        running.initialize()
        running.new_session(tmp_path)
        loaded = loading.load(running)
    told = list(loaded.updates())
    kinds = Counter(update["sessionUpdate"] for update in told)
    assert kinds["user_message_chunk"] == kinds["tool_call"] == items // 4
    assert kinds["agent_message_chunk"] == items // 2
    assert _ids(told) == [item_id(number) for number in range(items)]
    cards = {update["toolCallId"]: update["status"] for update in told if "status" in update}
    assert set(cards.values()) == {"completed"}
    assert 0 < loaded.first_seconds <= loaded.seconds
    events = list(loading.history(items))
    assert len(events) > 3 * loading.PAGE_EVENTS
    with bare_loop(loading.BARE_LOOP, host, SESSION, str(loading.PAGE_EVENTS)) as loop:
        assert loading.load_bare(loop)[1] == len(events)


def _ids(told: list[dict[str, object]]) -> list[object]:
    """What was shown, in the order in which it appeared."""
    ids = [update.get("messageId", update.get("toolCallId")) for update in told]
    return [each for each in dict.fromkeys(ids) if each is not None]


def test_every_consent_is_asked_for_once(tmp_path: Path) -> None:
    for way in (permission.through_adapter, permission.through_loop):
        found = way(tmp_path, 30)
        assert (found.asked, found.approvals) == (30, 30)
