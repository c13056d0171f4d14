"""Stored sessions: shown again by `session/load`, gone on with by `session/resume`, ended by `session/close`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json, running_adapter
from tests.output_clients import KEY, OPT_IN, error_of, reading, stored
from tests.output_hosts import ITEM, SESSION
from tests.processes import open_descriptors, wait_until
from tests.screens import (
    LEAVES,
    PROMPTS,
    VERSIONS,
    Shown,
    a_session,
    assert_free,
    before_answer,
    cards_of,
    told,
    without_user,
)
from tests.scripted_hosts import place
from tests.storing_hosts import StoringHost

each_version = pytest.mark.parametrize("version", VERSIONS)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])

# -- load


def comparable(shown: Shown) -> Shown:
    """Something on the screen without the form of its diffs: what a file was before is known only while it changes."""

    def content(part: Json) -> Json | str:
        text = part.get("content", {}).get("text", "")
        return "a diff" if part["type"] == "diff" or text.startswith("```diff\n") else part

    card = {key: value for key, value in shown.card.items() if key != "content"}
    return shown._replace(card=card | {"shown": [content(part) for part in shown.card.get("content", [])]})


@pytest.mark.acp(51)
@each_version
def test_l1_loading_shows_the_whole_conversation_in_order_and_then_answers(tmp_path: Path, version: str) -> None:
    session_id, live = a_session(tmp_path, *PROMPTS, version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        replayed = before_answer(adapter, "session/load", stored(session_id, tmp_path))
        screen = told(replayed)
        assert [shown.text for shown in screen if shown.variant == "user_message_chunk"] == PROMPTS
        assert screen[0].text == PROMPTS[0]
        same = [comparable(shown) for shown in without_user(told(live))]
        assert [comparable(shown) for shown in without_user(screen)] == same, "it looks the same live and loaded"
        assert {card.status for card in cards_of(screen)} == {"completed", "failed"}
        assert [row for row in adapter.updates() if row not in replayed] == [], "nothing more after the answer"
        # L8: the first prompt goes on with it.
        assert adapter.prompt(session_id, "once more")["stopReason"] == "end_turn"
        assert adapter.text(session_id).endswith("You said: once more — noted ✓")
        assert adapter.finish() == 0


@pytest.mark.acp(52)
@each_version
@each_way
def test_l2_an_id_nobody_knows_is_not_found(tmp_path: Path, version: str, method: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        for session_id in ("ses-gone", "../../etc", "0" * 36):
            # L3: and nothing is left behind that a prompt could go to.
            prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}]}
            for asked, params in ((method, stored(session_id, tmp_path)), ("session/prompt", prompt)):
                code, data = error_of(adapter.refused(asked, params))
                assert (code, data["reason"], data["sessionId"]) == (-32002, "sessionUnknown", session_id)
        assert adapter.updates() == []
        assert adapter.finish() == 0


def stored_item(stage: str, **members: Any) -> Json:
    """A shell call as history has it."""
    status = {"started": "inProgress", "completed": "completed"}[stage]
    item = {"itemId": ITEM, "kind": "toolCall", "tool": "bash", "turnId": "t1", "revision": 2, "status": status}
    item |= {"args": json.dumps({"command": "make"}), "visibleOutput": "made\n", **members}
    return {"method": f"item/{stage}", "params": {"sessionId": SESSION, "viewCursor": "v:2", "item": item}}


TURN_STARTED: Json = {
    "method": "turn/started",
    "params": {"sessionId": SESSION, "viewCursor": "v:1", "turnId": "t1", "commandId": "c1"},
}


@pytest.mark.parametrize("status", ["idle", "notLoaded"])
def test_l5_a_call_that_history_leaves_open_is_shown_as_failed(tmp_path: Path, status: str) -> None:
    pages = [[TURN_STARTED, stored_item("started")]]
    host = place(tmp_path / "host", StoringHost, pages=pages, status=status)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        screen = told(before_answer(adapter, "session/load", stored(SESSION, tmp_path)))
        assert [card.status for card in screen] == ["failed"]
        assert adapter.finish() == 0


def test_a_call_of_a_turn_that_still_runs_is_shown_as_running(tmp_path: Path) -> None:
    pages = [[TURN_STARTED, stored_item("started")]]
    host = place(tmp_path / "host", StoringHost, pages=pages, status="running")
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        screen = told(before_answer(adapter, "session/load", stored(SESSION, tmp_path)))
        assert [card.status for card in screen] == ["in_progress"]
        assert adapter.finish() == 0


def test_l5_what_ran_when_the_host_was_killed_is_shown_as_failed(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "background 60")
        for pid in adapter.hosts():
            os.kill(pid, signal.SIGKILL)
        adapter.wait_for_update(lambda update: update.get("status") == "failed")
        assert adapter.finish() == 0
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        screen = told(before_answer(adapter, "session/load", stored(session_id, tmp_path)))
        assert [card.status for card in cards_of(screen)] == ["failed"]
        assert adapter.finish() == 0


def test_l4_a_call_of_which_only_the_end_is_stored_is_a_whole_card(tmp_path: Path) -> None:
    host = place(tmp_path / "host", StoringHost, pages=[[stored_item("completed")]])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        (card,) = before_answer(adapter, "session/load", stored(SESSION, tmp_path))
        assert card["sessionUpdate"] == "tool_call"
        assert (card["title"], card["kind"], card["status"]) == ("make", "execute", "completed")
        assert card["rawInput"] == {"command": "make"}
        assert adapter.finish() == 0


def test_a_long_history_is_shown_to_its_end(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "history 1500", "hello")
    with reading(tmp_path) as client:
        replayed = before_answer(client.adapter, "session/load", stored(session_id, tmp_path))
        screen = told(replayed)
        assert len(screen) > 1500
        assert screen[-1].text == "You said: hello — noted ✓"
        assert not any("historyIncomplete" in str(update.get("_meta")) for update in replayed)
        assert client.adapter.finish() == 0


@pytest.mark.parametrize("asks", [False, True])
def test_a_history_that_does_not_go_on_ends_and_only_who_reads_output_is_told(tmp_path: Path, asks: bool) -> None:
    going_round = {"result": {"events": [stored_item("completed")], "nextCursor": "0"}}
    host = place(tmp_path / "host", StoringHost, pages=[going_round])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize(**(OPT_IN if asks else {}))
        updates = before_answer(adapter, "session/load", stored(SESSION, tmp_path))
        told_of = [update.get("_meta") for update in updates if update["sessionUpdate"] == "session_info_update"]
        assert told_of == ([{KEY: {"historyIncomplete": True, "eventsScanned": 2}}] if asks else [])
        assert adapter.finish() == 0


# -- load of what is open


@pytest.mark.acp(53)
def test_f3_loading_again_and_again_leaves_nothing_behind(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "shell 300")
        adapter.call("session/load", stored(session_id, tmp_path))
        wait_until(lambda: len(adapter.children()) == 1)
        children, descriptors = adapter.children(), open_descriptors(adapter.process.pid)
        screens = [told(before_answer(adapter, "session/load", stored(session_id, tmp_path))) for _ in range(20)]
        assert all(screen == screens[0] for screen in screens), "every load shows the same, once"
        assert adapter.children() == children
        assert open_descriptors(adapter.process.pid) <= descriptors + 1
        before = len(adapter.updates(session_id))
        assert adapter.prompt(session_id, "todo")["stopReason"] == "end_turn"
        later = adapter.updates(session_id)[before:]
        assert len({json.dumps(update) for update in later}) == len(later), "each event arrives once"
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.text(session_id).count("You said: hello") == 1
        assert adapter.finish() == 0


def test_f3_a_host_that_dies_ends_each_card_once_however_often_it_was_loaded(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "background 60")
        for _ in range(3):
            adapter.call("session/load", stored(session_id, tmp_path))
        wait_until(lambda: len(adapter.children()) == 1)
        os.kill(adapter.hosts()[0], signal.SIGKILL)
        adapter.wait_for_update(lambda update: update.get("status") == "failed")
        adapter.call("session/load", stored(session_id, tmp_path))
        failed = [row for row in adapter.updates() if (row["sessionUpdate"], row.get("status")) == CARD_FAILED]
        assert len(failed) == 1
        assert adapter.finish() == 0


CARD_FAILED = ("tool_call_update", "failed")


def test_what_goes_on_in_the_background_goes_on_when_its_session_is_loaded_again(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "background 2")
        screen = told(before_answer(adapter, "session/load", stored(session_id, tmp_path)))
        assert [card.status for card in cards_of(screen)] == ["in_progress"]
        ended = adapter.wait_for_update(lambda update: update.get("status") in ("completed", "failed"))
        assert ended["status"] == "completed"
        assert "built ✓" in str(ended["content"])
        assert adapter.finish() == 0


@pytest.mark.acp(53)
@each_way
def test_a_session_with_a_running_prompt_is_not_opened_anew(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        turn = adapter.begin_prompt(session_id, "slow 30")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        busy = (-32600, {"reason": "sessionBusy", "retryable": True, "sessionId": session_id})
        assert error_of(adapter.refused(method, stored(session_id, tmp_path))) == busy
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.response(turn)["result"] == {"stopReason": "cancelled"}, "the prompt was not disturbed"
        adapter.call(method, stored(session_id, tmp_path))
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


SLOW_PAGE = {"at": "view/page", "do": "slow", "seconds": 1.5, "flag": None}


@pytest.mark.acp(53)
def test_nothing_else_is_done_with_a_session_that_is_being_loaded(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "hello")
    with reading(tmp_path, faults=[SLOW_PAGE]) as client:
        adapter = client.adapter
        loading = adapter.begin("session/load", stored(session_id, tmp_path))
        wait_until(lambda: "view/page" in {call["method"] for call in client.witnessed(read_host=False)})
        busy = (-32600, {"reason": "sessionBusy", "retryable": True, "sessionId": session_id})
        prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}]}
        for method, params in (
            ("session/load", stored(session_id, tmp_path)),
            ("session/resume", stored(session_id, tmp_path)),
            ("session/prompt", prompt),
            ("session/close", {"sessionId": session_id}),
        ):
            assert error_of(adapter.refused(method, params)) == busy, method
        assert "result" in adapter.response(loading)
        assert adapter.prompt(session_id, "again")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@pytest.mark.acp(53)
@pytest.mark.parametrize("closes", [False, True])
def test_a_prompt_right_behind_the_opening_of_its_session_is_told_that_it_is_busy(tmp_path: Path, closes: bool) -> None:
    """Whatever has begun of the opening by then: it may wait for its host to let go of the session first."""
    session_id, _ = a_session(tmp_path, "hello")
    slow = {"at": "view/unsubscribe", "do": "slow", "seconds": 1.5, "flag": None}
    with reading(tmp_path, faults=[slow] if closes else [SLOW_PAGE]) as client:
        adapter = client.adapter
        if closes:
            adapter.call("session/load", stored(session_id, tmp_path))
            adapter.call("session/close", {"sessionId": session_id})
        with adapter.one_write():
            loading = adapter.begin("session/load", stored(session_id, tmp_path))
            prompt = adapter.begin_prompt(session_id, "hello")
        assert error_of(adapter.response(prompt)["error"])[1]["reason"] == "sessionBusy"
        assert "result" in adapter.response(loading)
        assert adapter.prompt(session_id, "again")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_a_load_that_was_taken_back_can_be_tried_again_by_anybody(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "hello")
    with reading(tmp_path, muse=LEAVES, faults=[SLOW_PAGE]) as client:
        loading = client.adapter.begin("session/load", stored(session_id, tmp_path))
        wait_until(lambda: "view/page" in {call["method"] for call in client.witnessed(read_host=False)})
        client.adapter.notify("$/cancel_request", {"requestId": loading})
        assert error_of(client.adapter.response(loading)["error"]) == (-32800, {"reason": "cancelled"})
        assert_free(tmp_path, session_id)
        assert client.adapter.finish() == 0


# -- the folder


@each_way
def test_a_session_belongs_to_its_folder(tmp_path: Path, method: str) -> None:
    session_id, _ = a_session(tmp_path, "hello")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        for cwd in (elsewhere, tmp_path / "nowhere"):
            code, data = error_of(adapter.refused(method, stored(session_id, cwd)))
            assert (code, data["reason"], data["field"]) == (-32602, "invalidParams", "cwd")
        assert adapter.updates() == []
        assert_free(tmp_path, session_id)
        adapter.call(method, stored(session_id, tmp_path))
        assert adapter.finish() == 0


@each_way
def test_l7_a_folder_is_the_same_however_it_is_spelled(tmp_path: Path, method: str) -> None:
    orchard, link = tmp_path / "orchard", tmp_path / "lnk"
    orchard.mkdir()
    link.symlink_to(orchard)
    with reading(tmp_path) as client:
        client.home = link
        session_id = client.start()
        handle = client.handle_of("shell 1000")
        assert client.adapter.finish() == 0
    with reading(tmp_path) as client:
        for spelling in (str(orchard), f"{orchard}/", f"{orchard}/../lnk", str(link)):
            client.adapter.call(method, {"sessionId": session_id, "cwd": spelling, "mcpServers": []})
            assert client.read(handle)["byteLen"] == 1000, "a read takes the spelling too"
        assert client.adapter.finish() == 0
