"""Cards of every simulated version, live and after loading: what they show of tools, files and work beside the turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import Json
from tests.card_clients import TERMINALS, diffs, drawing, loaded, text

PROMPTS = ["shell 100", "shell 40000", "tool failed", "picture", "edit", "write a.txt one", "replace a.txt one two"]
"""Turns whose cards are the same live and after loading."""

SHOWN = ("title", "kind", "status", "content", "rawInput", "rawOutput", "locations", "name", "printed")


@pytest.mark.acp(81, 84)
@pytest.mark.parametrize("capabilities", [{}, TERMINALS], ids=["text", "terminal"])
@pytest.mark.parametrize("version", PROFILES)
def test_a_loaded_session_shows_the_same_cards(tmp_path: Path, version: str, capabilities: Json) -> None:
    muse = f"simulated:{version}"
    with drawing(tmp_path, muse, capabilities) as client:
        for prompt in PROMPTS:
            client.prompt(prompt)
        live = client.cards
        session_id = client.session_id
    with loaded(tmp_path, session_id, muse, capabilities) as again:
        for card_id, card in again.cards.items():
            for name in SHOWN:
                # Diffs that were made from the files then cannot be made again.
                if name != "content" or not diffs(live[card_id]):
                    assert card.get(name) == live[card_id].get(name), (card["title"], name)
        assert again.cards.keys() == live.keys()


def test_a_loaded_session_shows_the_diffs_the_host_has_stored(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        (tmp_path / "a.txt").write_text("one\n")
        live = [*diffs(client.card("replace a.txt one two")), *diffs(client.card("edit"))]
        session_id = client.session_id
    (tmp_path / "a.txt").write_text("something else since\n")
    with loaded(tmp_path, session_id, "simulated:1.4.13") as again:
        shown = [diff for card in again.cards.values() for diff in diffs(card)]
        assert shown == live and len(live) == 2
        assert all(card["status"] == "completed" for card in again.cards.values())


@pytest.mark.acp(83)
def test_a_version_that_stores_no_diffs_has_them_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with drawing(tmp_path, "simulated:1.0.1") as client:
        [diff] = diffs(client.card("ask-replace a.txt one two"))
        assert (diff["path"], diff["oldText"], diff["newText"]) == (str(tmp_path / "a.txt"), "one\n", "two\n")
        session_id = client.session_id
    with loaded(tmp_path, session_id, "simulated:1.0.1") as again:
        [card] = again.cards.values()
        assert diffs(card) == [] and "-one\n+two" in text(card), "nothing is known any more but the arguments"


@pytest.mark.acp(83)
@pytest.mark.parametrize("version", PROFILES)
def test_a_question_about_a_write_shows_the_diff(tmp_path: Path, version: str) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    with drawing(tmp_path, f"simulated:{version}") as client:
        client.card("ask-write a.txt uno")
        [request] = [f for f in client.adapter.frames if f.get("method") == "session/request_permission"]
        [diff] = diffs(request["params"]["toolCall"])
        assert (diff["oldText"], diff["newText"]) == ("one\n", "uno")


def test_nothing_outside_the_workspace_is_read_for_a_diff(tmp_path: Path) -> None:
    work, secret = tmp_path / "work", tmp_path / "secret.txt"
    work.mkdir()
    secret.write_text("hidden\n")
    (work / "link.txt").symlink_to(secret)
    with drawing(tmp_path, "simulated:1.0.1") as client:
        client.session_id = client.adapter.new_session(work)
        client.prompt("ask-write link.txt open")
        shown = [update for update in client.adapter.updates() if "toolCallId" in update]
        assert shown and "hidden" not in str(client.adapter.frames)


@pytest.mark.acp(63, 81)
@pytest.mark.parametrize(
    ("fault", "has_diff"),
    [
        ({"do": "delayAck", "seconds": 0.5}, True),
        ({"do": "hang"}, False),
        ({"do": "error", "kind": "outputUnavailable"}, False),
        ({"do": "result", "set": {"content": "no patch", "encoding": "utf8"}}, False),
    ],
    ids=["late", "never", "refused", "odd"],
)
def test_the_answer_waits_for_a_diff_but_not_for_long(tmp_path: Path, fault: Json, has_diff: bool) -> None:
    faults = {"MUSE_SIMULATED_FAULTS": json.dumps([{"at": "item/readOutput", "times": None, **fault}])}
    with drawing(tmp_path, "simulated:1.4.13", env=faults) as client:
        card = client.card("edit")
        assert card["status"] == "completed" and bool(diffs(card)) == has_diff
        assert has_diff or "```diff" in text(card)
        client.adapter.new_session(tmp_path)
        assert client.cards[card["toolCallId"]] == card, "nothing of it comes later"


# -- what is shown elsewhere


def test_the_plan_is_no_card(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        assert client.prompt("todo") == []
        assert any(update["sessionUpdate"] == "plan" for update in client.adapter.updates())


@pytest.mark.parametrize("offered", [True, False])
def test_a_compaction_is_a_card_unless_the_client_shows_it_in_its_own_way(tmp_path: Path, offered: bool) -> None:
    capabilities: Json = {"session": {"compaction": {}}} if offered else {}
    with drawing(tmp_path, "simulated:1.4.13", capabilities) as client:
        cards = client.prompt("compaction")
        told = [each["status"] for each in client.adapter.updates() if each["sessionUpdate"] == "compaction_update"]
        if offered:
            assert cards == [] and told == ["in_progress", "completed"]
        else:
            [card] = cards
            assert (card["title"], card["kind"], told) == ("Context compaction (automatic)", "think", [])
            assert "161000 tokens before, 31000 after" in text(card)


# -- what is beside the tools


def test_hooks_say_what_they_blocked(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        card = client.card("hook blocked")
        assert card["title"].startswith("Hook UserPromptSubmit: ") and "blocked: " in text(card)


def test_a_search_of_the_web_is_one(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        card = client.card("websearch")
        assert card["kind"] == "search" and "東京" in card["title"] and card["status"] == "completed"


def test_a_damaged_part_of_the_history_is_told(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        assert "unreadable" in client.card("damage")["title"]


def test_a_subagent_reports_in_its_card(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        [card] = client.prompt("subagent")
        assert card["title"] == "Subagent: survey the failing tests"
        client.wait_for_card(status="completed")
        [card] = client.cards.values()
        assert "two tests fail" in text(card) and "tokens: 900 in, 80 out" in text(card)


def test_a_workflow_tells_of_its_children_also_after_its_turn(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        client.prompt("workflow 0.2")
        client.wait_for_card(status="completed")
        [card] = client.cards.values()
        assert "- triage № 2 (triage): completed" in text(card) and "2/2 children succeeded" in text(card)


@pytest.mark.acp(81)
@pytest.mark.parametrize("capabilities", [{}, TERMINALS], ids=["text", "terminal"])
def test_a_background_tool_ends_after_its_turn(tmp_path: Path, capabilities: Json) -> None:
    with drawing(tmp_path, "simulated:1.4.13", capabilities) as client:
        [card] = client.prompt("background 0.3")
        assert card["status"] == "in_progress"
        client.wait_for_card(status="completed")
        [card] = client.cards.values()
        assert "built ✓" in (card["printed"] or text(card))


@pytest.mark.acp(85)
def test_stored_output_stands_beside_the_terminal(tmp_path: Path) -> None:
    capabilities = {"_meta": {"terminal_output": True, "muse/output": 1}}
    with drawing(tmp_path, "simulated:1.2.1", capabilities) as client:
        card = client.card("shell 40000")
        assert {"muse/output", "muse/truncated", "terminal_exit"} == set(card["_meta"])
        assert "_muse/readOutput" in text(card) and len(card["printed"].encode()) == 16 * 1024


@pytest.mark.acp(106)
def test_terminals_of_ours_need_nothing_of_the_clients(tmp_path: Path) -> None:
    # The client announces that it shows output, not that it runs terminals: it is asked for none, and no file.
    with drawing(tmp_path, "simulated:1.4.13", TERMINALS) as client:
        for prompt in ("shell 100", "write a.txt words", "background 0.1"):
            client.prompt(prompt)
        asked = {frame["method"] for frame in client.adapter.frames if "method" in frame and "id" in frame}
        assert asked <= {"session/request_permission"}
        assert (tmp_path / "a.txt").read_text() == "words"


@pytest.mark.acp(81)
def test_closing_a_session_ends_its_cards_and_nothing_comes_later(tmp_path: Path) -> None:
    with drawing(tmp_path, "simulated:1.4.13") as client:
        client.prompt("background 30")
        client.adapter.call("session/close", {"sessionId": client.session_id})
        [card] = client.cards.values()
        assert card["status"] == "failed"
        client.adapter.new_session(tmp_path)
        assert list(client.cards.values()) == [card]
