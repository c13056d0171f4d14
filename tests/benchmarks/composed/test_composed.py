"""The composed adapter does what it is measured with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.benchmarks.client import Client, Json, client
from tests.benchmarks.fast_host import REPOSITORY, place
from tests.benchmarks.streaming import Streams

COMPOSED: Final = (sys.executable, "-m", "tests.benchmarks.composed")
SIMULATED: Final = (sys.executable, "-m", "adapter.hosts.simulated", "--profile", "1.4.13")
DELTAS: Final = 2_000


@contextmanager
def serving(home: Path) -> Iterator[Client]:
    """A client of the adapter with the simulated host, which keeps its sessions in `home`."""
    places = {"PYTHONPATH": str(REPOSITORY), "MUSE_SIMULATED_HOME": str(home / "muse")}
    with client(home, "--muse", *SIMULATED, command=COMPOSED, **places) as started:
        started.initialize()
        yield started


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One adapter for all tests that need no other."""
    with serving(tmp_path_factory.mktemp("composed")) as started:
        yield started


def answered(running: Client, request_id: int, choice: str | None = None) -> tuple[list[Json], Json]:
    """The updates up to the answer to a request, and the answer; permission is given with `choice`, or not at all."""
    updates: list[Json] = []
    while True:
        frame = orjson.loads(running.stdout.readline())
        method = frame.get("method")
        if method == "session/update":
            updates.append(frame["params"]["update"])
        elif method == "session/request_permission":
            updates.append({"sessionUpdate": "permission", **frame["params"]})
            outcome: Json = {"outcome": "cancelled"}
            if choice is not None:
                outcome = {"outcome": "selected", "optionId": choice}
            send(running, {"id": frame["id"], "result": {"outcome": outcome}})
        elif frame.get("id") == request_id:
            return updates, frame


def send(running: Client, members: Json) -> None:
    """Send a frame that is no request."""
    running.stdin.write(orjson.dumps({"jsonrpc": "2.0", **members}, option=orjson.OPT_APPEND_NEWLINE))
    running.stdin.flush()


def prompted(running: Client, home: Path, text: str, choice: str | None = None) -> tuple[list[Json], str]:
    """The updates and the stop reason of a prompt in a new session."""
    updates, answer = answered(running, running.begin_prompt(running.new_session(home), text), choice)
    return updates, answer["result"]["stopReason"]


def kinds(updates: list[Json]) -> list[str]:
    """What kinds of updates follow each other."""
    names = [update["sessionUpdate"] for update in updates]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def said(updates: list[Json], kind: str = "agent_message_chunk") -> str:
    """The text of all chunks of a kind."""
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == kind)


def output(update: Json) -> str:
    """The text on a tool's card."""
    return "".join(part["content"]["text"] for part in update["content"])


def test_it_says_hello_and_what_it_can_do(running: Client) -> None:
    result = running.answer("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert result["protocolVersion"] == 1
    assert result["agentCapabilities"]["loadSession"] is True


@pytest.mark.parametrize(
    ("prompt", "order", "text"),
    [
        ("Hi", ["agent_message_chunk"], "You said: Hi — noted ✓"),
        ("think", ["agent_thought_chunk", "agent_message_chunk"], "Having thought about it: yes ✓"),
        ("slow 0.2", ["agent_message_chunk"], "This takes a while… done ✓"),
        ("history 3", ["agent_message_chunk"], "Message № 0Message № 1Message № 2"),
    ],
)
def test_it_shows_text_and_thoughts(running: Client, tmp_path: Path, prompt: str, order: list[str], text: str) -> None:
    updates, reason = prompted(running, tmp_path, prompt)
    assert kinds(updates) == order
    assert said(updates) == text
    assert reason == "end_turn"


def test_it_shows_a_tool_call_with_its_output(running: Client, tmp_path: Path) -> None:
    updates, reason = prompted(running, tmp_path, "shell 3000")
    assert kinds(updates) == ["tool_call", "tool_call_update", "agent_message_chunk"]
    cards = [update for update in updates if update["sessionUpdate"] == "tool_call_update"]
    assert len({update["toolCallId"] for update in [updates[0], *cards]}) == 1
    outputs = [output(card) for card in cards]
    assert len(outputs[-1].encode()) == 3000
    assert all(outputs[-1].startswith(so_far) for so_far in outputs)
    assert [card.get("status") for card in cards][-1] == "completed"
    assert said(updates) == "The command wrote 3000 bytes ✓"
    assert reason == "end_turn"


@pytest.mark.parametrize(
    ("prompt", "choice", "asked", "status"),
    [
        ("approve", "allow_once", 1, "completed"),
        ("approve3", "allow_once", 2, "completed"),
        ("approve", "abort", 1, "failed"),
        ("approve", None, 1, "failed"),
    ],
)
def test_it_asks_for_permission(
    running: Client, tmp_path: Path, prompt: str, choice: str | None, asked: int, status: str
) -> None:
    updates, reason = prompted(running, tmp_path, prompt, choice)
    assert kinds(updates) == ["tool_call", "permission", "tool_call_update", "agent_message_chunk"]
    requests = [update for update in updates if update["sessionUpdate"] == "permission"]
    assert len(requests) == asked
    assert all(request["toolCall"]["toolCallId"] == updates[0]["toolCallId"] for request in requests)
    assert {"allow_once", "reject_once"} <= {option["kind"] for option in requests[0]["options"]}
    assert [update.get("status") for update in updates if update["sessionUpdate"] == "tool_call_update"] == [status]
    assert reason == "end_turn"


def test_a_failed_turn_is_a_refusal_with_its_reason(running: Client, tmp_path: Path) -> None:
    updates, reason = prompted(running, tmp_path, "fail stepLimit")
    assert said(updates).endswith("simulated failure of kind stepLimit")
    assert reason == "refusal"


@pytest.mark.parametrize("prompt", ["slow 30", "work 30"])
def test_it_stops_a_turn(running: Client, tmp_path: Path, prompt: str) -> None:
    session_id = running.new_session(tmp_path)
    request_id = running.begin_prompt(session_id, prompt)
    running.stdout.readline()
    send(running, {"method": "session/cancel", "params": {"sessionId": session_id}})
    _, answer = answered(running, request_id)
    assert answer["result"]["stopReason"] == "cancelled"


def test_it_stops_a_turn_of_which_nothing_is_known_yet(running: Client, tmp_path: Path) -> None:
    session_id = running.new_session(tmp_path)
    request_id = running.begin_prompt(session_id, "quiet 30")
    send(running, {"method": "session/cancel", "params": {"sessionId": session_id}})
    _, answer = answered(running, request_id)
    assert answer["result"]["stopReason"] == "cancelled"


def loaded(running: Client, home: Path, session_id: str) -> list[Json]:
    """What is shown of a session when it is loaded."""
    params = {"sessionId": session_id, "cwd": str(home), "mcpServers": []}
    updates, answer = answered(running, running.ask("session/load", params))
    assert "error" not in answer
    return updates


def test_it_loads_a_session_and_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        session_id = first.new_session(tmp_path)
        for text in ("think", "shell 40"):
            answered(first, first.begin_prompt(session_id, text))
    with serving(tmp_path) as second:
        updates = loaded(second, tmp_path, session_id)
        text_and_tool = ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
        assert kinds(updates) == ["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", *text_and_tool]
        assert said(updates, "user_message_chunk") == "thinkshell 40"
        assert output(updates[-2])
        updates, _ = answered(second, second.begin_prompt(session_id, "again"))
        assert said(updates) == "You said: again — noted ✓"


def test_a_past_that_is_not_served_is_read(tmp_path: Path) -> None:
    (tmp_path / "muse").mkdir()
    (tmp_path / "muse" / "settings.json").write_text('{"historyMode": "none", "pageEvents": 3}')
    with serving(tmp_path) as started:
        session_id = started.new_session(tmp_path)
        answered(started, started.begin_prompt(session_id, "history 5"))
        assert said(loaded(started, tmp_path, session_id)) == "".join(f"Message № {number}" for number in range(5))


@pytest.mark.parametrize("items", [1, 2])
def test_every_delta_of_the_scripted_host_arrives(tmp_path: Path, items: int) -> None:
    host = place(tmp_path, Streams, DELTAS, items)
    with client(tmp_path, "--muse", str(host), command=COMPOSED, PYTHONPATH=str(REPOSITORY)) as started:
        started.initialize()
        updates, reason = prompted(started, tmp_path, "go")
    words = said(updates).split(" of the answer ")[:-1]
    assert sorted(words) == [f"word {number:06d}" for number in range(1, DELTAS + 1)]
    assert items > 1 or words == sorted(words)
    assert reason == "end_turn"
