"""Output of commands in the terminals of a client: each piece once, in order, and then the end."""

from __future__ import annotations

import json

from adapter.bridge.tool_cards.throttle import INTERVAL
from tests.card_screen import SHELL, Json, Screen, printed, text_of

TERMINAL: Json = {"type": "terminal", "terminalId": "i1"}


def test_a_terminal_gets_each_piece_of_output_once() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    [card] = screen.take()
    assert card["content"] == [TERMINAL]
    assert card["_meta"] == {"terminal_info": {"terminal_id": "i1", "cwd": "/srv/demo/orchard"}}
    for number in range(1000):
        screen.delta("i1", f"{number}\n", "output")
        screen.pass_time(0.001)
    whole = "".join(f"{number}\n" for number in range(1000))
    screen.item("i1", 2, "completed", **SHELL, visibleOutput=whole + "end\n", exitCode=3, turnId="t1")
    updates = screen.take()
    assert printed(updates) == whole + "end\n"
    assert len(updates) <= 1 / INTERVAL + 3
    assert updates[-1]["_meta"]["terminal_exit"] == {"terminal_id": "i1", "exit_code": 3, "signal": None}
    assert updates[-1]["status"] == "completed" and text_of(updates[-1]) == "exit code 3"
    assert not any("terminal_exit" in update["_meta"] for update in updates[:-1])


def test_a_terminal_that_is_seen_ended_gets_its_output_before_its_end() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", 1, "failed", **SHELL, visibleOutput="z" * 300_000, exitSignal=9)
    updates = screen.take()
    assert updates[0]["sessionUpdate"] == "tool_call" and updates[0]["status"] == "in_progress"
    assert printed(updates) == "z" * 300_000 and max(len(json.dumps(update)) for update in updates) < 150_000
    assert updates[-1]["status"] == "failed"
    assert updates[-1]["_meta"]["terminal_exit"]["signal"] == "SIGKILL"


def test_a_structured_result_is_printed_as_its_text() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "bui", "output")
    result = json.dumps({"output": "built\n", "exit_code": 2})
    screen.item("i1", 2, "completed", **SHELL, visibleOutput=result)
    updates = screen.take()
    assert printed(updates) == "built\n"
    assert updates[-1]["_meta"]["terminal_exit"]["exit_code"] == 2 == updates[-1]["rawOutput"]["exit_code"]


def test_an_output_that_turns_out_to_be_another_stands_beside_the_terminal() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "abc", "output")
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="xyz")
    updates = screen.take()
    assert printed(updates) == "abc"
    assert updates[-1]["content"][0] == TERMINAL and "xyz" in text_of(updates[-1])


def test_what_the_host_cut_is_said_beside_the_terminal_with_the_handle() -> None:
    screen = Screen(terminals=True, output_offered=True)
    reference = {"id": "out-1", "byteLen": 500, "availability": "available"}
    screen.item("i1", **SHELL)
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="head", truncated=True, outputRef=reference)
    updates = screen.take()
    assert printed(updates) == "head" and "shows 4 of 500 bytes" in text_of(updates[-1])
    assert {"muse/output", "muse/truncated", "terminal_exit"} == set(updates[-1]["_meta"])
    # A client that puts `_meta` in the place of what it had still has the handle.
    assert all("muse/output" in update["_meta"] for update in updates[1:])


def test_only_commands_have_terminals() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", tool="grep", args='{"pattern": "a"}')
    screen.delta("i1", "a.txt:1\n", "output")
    assert "a.txt:1" in text_of(screen.take()[-1])
    screen.item("i2", kind="userShell", commandText="ls", turn=None)
    assert screen.take()[-1]["content"] == [TERMINAL | {"terminalId": "i2"}]


def test_the_terminal_of_a_command_that_is_asked_about_first() -> None:
    screen = Screen(terminals=True)
    screen.projection.ask("i1", "t1", {"title": "make", "kind": "execute"})
    [card] = screen.take()
    assert card["content"] == [TERMINAL] and "terminal_info" in card["_meta"]
    screen.projection.decided("i1")
    screen.item("i1", **SHELL)
    screen.item("i1", 2, "completed", **SHELL, visibleOutput="done\n")
    updates = screen.take()
    assert printed(updates) == "done\n" and updates[-1]["status"] == "completed"


def test_a_trickle_in_a_terminal_is_not_held_up_by_what_was_printed_before() -> None:
    screen = Screen(terminals=True)
    screen.item("i1", **SHELL)
    screen.delta("i1", "x" * 1_000_000, "output")
    for number in range(20):
        screen.take()
        screen.delta("i1", f"{number}\n", "output")
        screen.pass_time(INTERVAL)
        assert printed(screen.take()) == f"{number}\n"
