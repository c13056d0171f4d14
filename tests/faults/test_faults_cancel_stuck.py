"""Faults of group G, third part: a turn that the host neither ends nor replaces, and what waits behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.cancelling import (
    CANCELLED,
    END_TURN,
    after,
    begin_and_wait,
    cancel_request,
    cancel_session,
    end,
    is_card,
    texts_of,
)
from tests.faults.hosts_hard_to_stop import CannotReclaim, NeverReplaces
from tests.hurried import hurried
from tests.processes import wait_until
from tests.scripted_hosts import Placed, place

LITTLE_GRACE = hurried(bridge__turns__prompts__CANCEL_GRACE=1.0)


def is_stuck(response: Json) -> bool:
    error = response["error"]
    return bool((error["code"], error["data"]["reason"], error["data"]["retryable"]) == (-32603, "turnStuck", True))


def stop_in_vain(adapter: AdapterProcess, session_id: str) -> Json:
    """A turn that was stopped and has not ended; gives the answer to its prompt."""
    prompt = begin_and_wait(adapter, session_id)
    cancel_session(adapter, session_id, prompt)
    response = adapter.response(prompt)
    assert response["result"] == CANCELLED
    return response


def reclaimed(host: Placed) -> list[str]:
    return [frame["params"]["turnId"] for frame in host.received("turn/unqueue")]


def turns(host: Placed) -> list[str]:
    return [f"turn-of-{frame['params']['commandId']}" for frame in host.received("turn/start")]


@pytest.mark.parametrize("reclaims", [True, False], ids=["reclaimed", "not reclaimed"])
def test_g6_a_prompt_behind_a_turn_that_never_ends_fails_and_a_later_one_may_work(
    tmp_path: Path, reclaims: bool
) -> None:
    host = place(tmp_path / "host", NeverReplaces, reclaims=reclaims)
    with running_adapter(tmp_path, muse=host.muse, command=LITTLE_GRACE) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        stopped = stop_in_vain(adapter, session_id)
        second = adapter.begin_prompt(session_id, "waits")
        third = adapter.begin_prompt(session_id, "waits behind it")
        assert is_stuck(adapter.response(second)) and is_stuck(adapter.response(third))
        wait_until(lambda: set(reclaimed(host)) == set(turns(host)[1:]))
        asked = [frame["params"].get("ifBusy") for frame in host.received("turn/start")]
        assert asked == [None, "replace", None]

        later = adapter.begin_prompt(session_id, "release")
        adapter.wait_for_update(is_card)
        assert host.received("turn/start")[-1]["params"]["ifBusy"] == "replace"
        wait_until(lambda: any("text of turn" in str(text) for text in texts_of(after(adapter, stopped))))
        assert [text for text in texts_of(after(adapter, stopped)) if "text" in text] == [
            f"text of turn {2 if reclaims else 4}"
        ]
        cancel_request(adapter, session_id, later)
        assert adapter.response(later)["result"] == CANCELLED
        adapter.close_input()
        end(adapter)


def test_g6_a_prompt_behind_one_that_was_taken_back_does_not_wait_for_ever(tmp_path: Path) -> None:
    host = place(tmp_path / "host", NeverReplaces)
    with running_adapter(tmp_path, muse=host.muse, command=LITTLE_GRACE) as adapter:
        adapter.initialize()
        session_id, other = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        second = adapter.begin_prompt(session_id, "waits")
        wait_until(lambda: len(host.received("turn/start")) == 2)
        cancel_request(adapter, session_id, first)
        assert adapter.response(first)["result"] == CANCELLED
        assert is_stuck(adapter.response(second))
        wait_until(lambda: reclaimed(host) == turns(host)[1:])
        assert adapter.response(adapter.begin_prompt(other, "elsewhere"))["result"] == END_TURN
        adapter.close_input()
        end(adapter)


def test_g6_the_session_is_still_held_up_when_it_is_opened_again(tmp_path: Path) -> None:
    host = place(tmp_path / "host", NeverReplaces)
    with running_adapter(tmp_path, muse=host.muse, command=LITTLE_GRACE) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        stop_in_vain(adapter, session_id)
        adapter.call("session/close", {"sessionId": session_id})
        adapter.call("session/resume", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        assert is_stuck(adapter.response(adapter.begin_prompt(session_id, "waits")))
        adapter.close_input()
        end(adapter)


def test_g9_a_stopped_prompt_that_begins_all_the_same_shows_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", CannotReclaim)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        first = begin_and_wait(adapter, session_id)
        second = adapter.begin_prompt(session_id, "waits")
        wait_until(lambda: len(host.received("turn/start")) == 2)
        cancel_session(adapter, session_id, first)
        assert adapter.response(first)["result"] == adapter.response(second)["result"] == CANCELLED
        wait_until(lambda: len(host.received("turn/interrupt")) == 2)
        assert "text of turn 2" not in texts_of(adapter.updates(session_id))
        end(adapter)
