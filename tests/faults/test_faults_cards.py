"""Faults of groups J and P: what cards show of edits, long outputs and other agents' work, and how much is written for
them. The adapter as a process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import Json, running_adapter
from tests.benchmarks.client import memory
from tests.card_clients import TERMINALS, diffs, drawing, loaded, text
from tests.faults.scripted_turns import Plays, Step, delta, ended, event, item, pause, tool
from tests.faults.with_host import opened
from tests.scripted_hosts import ScriptedHost, place

LINES = "".join(f"line {number}\n" for number in range(35_000))
CARD_BYTES = 49_152
LINE_BYTES = 1024 * 1024


# -- J


@pytest.mark.parametrize(
    ("status", "result", "exit_code", "signal"),
    [
        ("failed", {"exitCode": 3, "visibleOutput": "oh"}, 3, None),
        ("completed", {"exitCode": 1, "visibleOutput": ""}, 1, None),
        ("failed", {"exitSignal": 9, "visibleOutput": "oh"}, None, "SIGKILL"),
        ("completed", {"visibleOutput": "fine"}, None, None),
    ],
    ids=["exit-3", "search-1", "signal-9", "nothing-said"],
)
def test_j4_a_terminal_is_told_how_its_command_ended(
    tmp_path: Path, status: str, result: Json, exit_code: int | None, signal: str | None
) -> None:
    shell: list[Any] = ["t", "userShell"]
    script = [
        item("started", *shell, commandText="make"),
        item("completed", *shell, commandText="make", **({"status": status} | result)),
        ended(),
    ]
    host = place(tmp_path / "host", Plays, scripts=[script])
    with drawing(tmp_path, host.muse, TERMINALS) as client:
        card = client.card("go")
        assert card["status"] == status and card["printed"] == result["visibleOutput"]
        told = card["_meta"]["terminal_exit"]
        assert (told["exit_code"], told["signal"]) == (exit_code, signal)


@pytest.mark.acp(83, 84)
@pytest.mark.parametrize("version", PROFILES)
def test_j5_edits_are_diffs_with_places(tmp_path: Path, version: str) -> None:
    (tmp_path / "old.txt").write_text("grüßt\nthe world\n")
    with drawing(tmp_path, f"simulated:{version}") as client:
        old, new = str(tmp_path / "old.txt"), str(tmp_path / "new.txt")
        edited = client.card("ask-replace old.txt world orchard")
        made = client.card("ask-write new.txt hello")
        deleted = client.card("delete old.txt")
        assert diffs(edited) == [
            {"type": "diff", "path": old, "oldText": "grüßt\nthe world\n", "newText": "grüßt\nthe orchard\n"}
        ]
        assert diffs(made) == [{"type": "diff", "path": new, "newText": "hello"}]
        assert diffs(deleted) == [] and deleted["kind"] == "delete"
        assert [card["locations"][0]["path"] for card in (edited, made, deleted)] == [old, new, old]
        assert {card["status"] for card in (edited, made, deleted)} == {"completed"}


def test_j5_a_file_that_was_there_is_never_shown_as_a_new_one(tmp_path: Path) -> None:
    # The host has written before it says anything, and stores no diff.
    (tmp_path / "a.txt").write_text("new\n")
    arguments = '{"path": "a.txt", "content": "new\\n"}'
    script = [
        tool("started", tool="write_file", args=arguments),
        pause(0.2),
        tool("completed", tool="write_file", args=arguments),
        ended(),
    ]
    host = place(tmp_path / "host", Plays, scripts=[script])
    with drawing(tmp_path, host.muse) as client:
        card = client.card("go")
        assert diffs(card) == [] and text(card) == "```diff\n+new\n```"


@pytest.mark.acp(85)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "at once"])
def test_j6_a_long_output_says_how_much_is_missing(tmp_path: Path, streamed: bool) -> None:
    pieces = [LINES[at : at + 4000] for at in range(0, len(LINES), 4000)] if streamed else []
    script = [tool("started"), *(delta(piece, "t", "output") for piece in pieces)]
    script += [tool("completed", visibleOutput=LINES), ended()]
    host = place(tmp_path / "host", Plays, scripts=[script])
    with drawing(tmp_path, host.muse) as client:
        card = client.card("go")
        assert len(text(card).encode()) <= CARD_BYTES
        assert "line 0\n" in text(card) and "line 34999\n" in text(card)
        assert f"of {len(LINES)} bytes" in text(card)
        assert card["_meta"]["muse/truncated"]["totalBytes"] == len(LINES)
        assert max(map(len, client.adapter.lines)) < LINE_BYTES


@pytest.mark.acp(85)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "at once"])
def test_j6_a_terminal_gets_all_of_a_long_output_in_short_lines(tmp_path: Path, streamed: bool) -> None:
    pieces = [LINES[at : at + 4000] for at in range(0, len(LINES), 4000)] if streamed else []
    script = [tool("started"), *(delta(piece, "t", "output") for piece in pieces)]
    script += [tool("completed", visibleOutput=LINES), ended()]
    host = place(tmp_path / "host", Plays, scripts=[script])
    with drawing(tmp_path, host.muse, TERMINALS) as client:
        assert client.card("go")["printed"] == LINES
        assert max(map(len, client.adapter.lines)) < LINE_BYTES // 4


def test_j7_the_work_of_a_subagent_is_summarised_and_not_mixed_in(tmp_path: Path) -> None:
    child = {"sessionId": "$S-child"}
    agent: Json = {"subagentId": "agent-1", "childSessionId": "$S-child", "objective": "look around"}
    of_child = {"itemId": "m", "kind": "agentMessage", "turnId": "child-turn", "revision": 1, "status": "inProgress"}
    script: list[Step] = [
        item("started", text=""),
        item("started", "a", "subagent", **agent),
        delta("mine "),
        ["event", "item/started", {"item": {**of_child, "text": ""}, **child}],
        ["delta", {"itemId": "m", "field": "text", "delta": "foreign", **child}],
        event("item/started", item={**of_child, "itemId": "c", "kind": "toolCall", "tool": "bash"}, **child),
        event("turn/completed", turnId="child-turn", terminal="failed", **child),
        item("completed", "a", "subagent", **agent, status="failed", result={"summary": "nothing found"}),
        delta("too"),
        item("completed", text="mine too"),
        ended(),
    ]
    with opened(tmp_path, ForTwo, scripts=[script]) as case:
        assert case.prompt()["stopReason"] == "end_turn"
        assert case.text() == "mine too"
        [card] = case.cards().values()
        assert card["title"] == "Subagent: look around" and card["status"] == "failed"
        assert "nothing found" in str(card["content"])
        assert "foreign" not in str(case.adapter.frames)


class ForTwo(Plays):
    """Its events may name another session."""

    def event(self, method: str, session_id: str, **params: Any) -> None:
        super().event(method, params.pop("sessionId", session_id), **params)


@pytest.mark.acp(81)
def test_j8_calls_have_ids_of_their_own_which_stay_after_loading(tmp_path: Path) -> None:
    with drawing(tmp_path) as client:
        for prompt in ("shell 10", "tool", "shell 10"):
            client.prompt(prompt)
        live = client.cards
        session_id = client.session_id
    assert len(live) == 3
    with loaded(tmp_path, session_id) as again:
        assert list(again.cards) == list(live)


@pytest.mark.parametrize("version", PROFILES)
def test_l4_a_loaded_call_looks_as_it_did_when_it_ran(tmp_path: Path, version: str) -> None:
    shown = ("title", "kind", "status", "locations")
    (tmp_path / "old.txt").write_text("the world\n")
    with drawing(tmp_path, f"simulated:{version}") as client:
        for prompt in ("shell 10", "tool failed", "replace old.txt world orchard", "delete old.txt"):
            client.prompt(prompt)
        live = [{name: card.get(name) for name in shown} for card in client.cards.values()]
        session_id = client.session_id
    assert [card["status"] for card in live] == ["completed", "failed", "completed", "completed"]
    with loaded(tmp_path, session_id, f"simulated:{version}") as again:
        assert [{name: card.get(name) for name in shown} for card in again.cards.values()] == live


# -- P


class PrintsMuch(ScriptedHost):
    """Prints `chunks` pieces of a KiB in one call, as fast as the pipe takes them."""

    chunks = 5000

    def turn(self, session_id: str, turn_id: str) -> None:
        item_id = self.open_shell(session_id, turn_id)
        for number in range(self.chunks):
            self.delta(session_id, item_id, f"{number:06} ".ljust(1023, "x") + "\n", "output")
        self.item("completed", session_id, turn_id, item_id, kind="toolCall", tool="bash")
        self.complete(session_id, turn_id)


@pytest.mark.parametrize("capabilities", [{}, TERMINALS], ids=["text", "terminal"])
def test_p1_a_long_output_is_written_about_twice_and_not_kept(tmp_path: Path, capabilities: Json) -> None:
    host = place(tmp_path / "host", PrintsMuch)
    with drawing(tmp_path, host.muse, capabilities) as client:
        client.prompt("warm up")
        before = memory(client.adapter.process.pid)
        written = sum(map(len, client.adapter.lines))
        card = client.card("again")
        assert "004999 " in (card["printed"] or text(card))
        assert sum(map(len, client.adapter.lines)) - written < 2.2 * PrintsMuch.chunks * 1024
        # What is kept of it, until newer calls take its place, is its text.
        assert memory(client.adapter.process.pid) - before < 25


class TellsProgress(ScriptedHost):
    """Tells 3,000 times in half a second where a call stands."""

    def turn(self, session_id: str, turn_id: str) -> None:
        item_id = self.open_shell(session_id, turn_id)
        call = {"itemId": item_id, "kind": "toolCall", "tool": "bash", "turnId": turn_id}
        for tenth in range(10):
            for number in range(300):
                revision = tenth * 300 + number + 2
                status = {"revision": revision, "status": "inProgress", "statusLine": f"step {revision}"}
                self.event("item/updated", session_id, item=call | status)
            time.sleep(0.05)
        self.event("item/completed", session_id, item=call | {"revision": 4000, "status": "completed", "exitCode": 0})
        self.complete(session_id, turn_id)


def test_p3_a_burst_of_progress_is_merged(tmp_path: Path) -> None:
    host = place(tmp_path / "host", TellsProgress)
    with drawing(tmp_path, host.muse) as client:
        card = client.card("go")
        assert card["status"] == "completed"
        told = [update for update in client.adapter.updates() if "step" in str(update.get("content"))]
        # Some every second, however long the burst has taken on this machine.
        assert 3 <= len(told) <= 300


def test_p3_a_replay_of_many_items_is_complete_for_a_slow_client(tmp_path: Path) -> None:
    with drawing(tmp_path) as client:
        client.prompt("history 5000")
        live = said(client.adapter.updates())
        session_id = client.session_id
    assert len(live) >= 5000
    with running_adapter(tmp_path) as adapter:
        adapter.pause = 0.0002
        adapter.initialize()
        adapter.call("session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        assert said(adapter.updates(session_id)) == live
        assert adapter.finish() == 0


def said(updates: list[Json]) -> dict[str, str]:
    """The agent's messages in order."""
    messages: dict[str, str] = {}
    for update in updates:
        if update["sessionUpdate"] == "agent_message_chunk":
            messages[update["messageId"]] = messages.get(update["messageId"], "") + update["content"]["text"]
    return messages
