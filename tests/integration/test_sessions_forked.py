"""`session/fork`: a copy of a session, of all of it or up to a turn, and never more than was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import error_of, stored
from tests.screens import LEAVES, VERSIONS, a_session, before_answer, told

each_version = pytest.mark.parametrize("version", VERSIONS)


def cut_at(params: Json, turn_id: str) -> Json:
    return params | {"_meta": {"muse/fork": {"lastTurnId": turn_id}}}


def user_texts(updates: list[Json]) -> list[str]:
    return [shown.text for shown in told(updates) if shown.variant == "user_message_chunk"]


def replay(adapter: AdapterProcess, session_id: str, cwd: Path) -> list[str]:
    """What the user has said in a session, as loading it shows."""
    adapter.call("session/close", {"sessionId": session_id})
    return user_texts(before_answer(adapter, "session/load", stored(session_id, cwd)))


def turns(home: Path, session_id: str) -> list[str]:
    """The completed turns of a stored session."""
    journal = home / ".local/share/muse-simulated/sessions" / session_id / "session.jsonl"
    events = [record["event"] for record in map(json.loads, journal.read_text().splitlines()) if "event" in record]
    return [params["turnId"] for _, method, params in events if method == "turn/completed"]


@each_version
def test_a_copy_goes_on_apart_from_its_source(tmp_path: Path, version: str) -> None:
    source, _ = a_session(tmp_path, "one", "two", version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        offered = adapter.initialize()["agentCapabilities"]["sessionCapabilities"]
        assert offered["fork"] == {}
        start = len(adapter.frames)
        answer = adapter.call("session/fork", stored(source, tmp_path))
        copy = answer["sessionId"]
        assert copy != source
        assert answer["_meta"] == {"muse/fork": {"sourceSessionId": source, "explicitBoundary": False}}
        assert answer["configOptions"] and answer["modes"]
        before = [frame for frame in adapter.frames[start:] if frame.get("method") == "session/update"]
        assert [frame for frame in before if frame["params"]["sessionId"] == source] == []
        assert user_texts(adapter.updates()) == [], "nothing of it is shown again"
        assert adapter.prompt(copy, "three")["stopReason"] == "end_turn"
        assert adapter.text(copy) == "You said: three — noted ✓"
        assert sorted(row["sessionId"] for row in adapter.call("session/list", {})["sessions"]) == sorted(
            [source, copy]
        )
        assert user_texts(before_answer(adapter, "session/load", stored(source, tmp_path))) == ["one", "two"]
        assert replay(adapter, copy, tmp_path) == ["one", "two", "three"]
        assert adapter.finish() == 0


@each_version
def test_a_copy_ends_where_the_client_says(tmp_path: Path, version: str) -> None:
    source, _ = a_session(tmp_path, "one", "two", "three", version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        answer = adapter.call("session/fork", cut_at(stored(source, tmp_path), turns(tmp_path, source)[1]))
        assert answer["_meta"] == {"muse/fork": {"sourceSessionId": source, "explicitBoundary": True}}
        assert replay(adapter, answer["sessionId"], tmp_path) == ["one", "two"]
        assert adapter.finish() == 0


def test_an_open_session_is_copied_when_nothing_runs_in_it(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        source = adapter.new_session(tmp_path)
        adapter.prompt(source, "one")
        turn = adapter.begin_prompt(source, "slow 30")
        adapter.wait_for_update(lambda update: update.get("content", {}).get("text", "").startswith("This takes"))
        code, data = error_of(adapter.refused("session/fork", stored(source, tmp_path)))
        assert (code, data["reason"]) == (-32600, "sessionBusy")
        adapter.notify("session/cancel", {"sessionId": source})
        assert adapter.response(turn)["result"]["stopReason"] == "cancelled"
        copy = adapter.call("session/fork", stored(source, tmp_path))["sessionId"]
        assert adapter.prompt(copy, "in the copy")["stopReason"] == "end_turn"
        assert adapter.prompt(source, "in the source")["stopReason"] == "end_turn"
        assert adapter.text(copy) == "You said: in the copy — noted ✓"
        assert adapter.finish() == 0


@each_version
def test_what_cannot_be_copied_so_is_refused_and_nothing_is_made(tmp_path: Path, version: str) -> None:
    source, _ = a_session(tmp_path, "one", version=version)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ask = stored(source, tmp_path)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        code, data = error_of(adapter.refused("session/fork", cut_at(ask, "no-such-turn")))
        assert (code, data["reason"]) == (-32602, "forkBoundaryInvalid")
        assert data["field"] == '_meta["muse/fork"].lastTurnId'
        unusable: list[Any] = [{}, {"lastTurnId": None}, {"lastTurnId": 1}, {"lastTurnId": ""}, [], "x"]
        for meta in unusable:
            code, data = error_of(adapter.refused("session/fork", ask | {"_meta": {"muse/fork": meta}}))
            assert (code, data["reason"]) == (-32602, "invalidParams"), meta
        code, data = error_of(adapter.refused("session/fork", stored(source, elsewhere)))
        assert (code, data["field"]) == (-32602, "cwd")
        code, data = error_of(adapter.refused("session/fork", stored("ses-gone", tmp_path)))
        assert (code, data["sessionId"]) == (-32002, "ses-gone")
        assert [row["sessionId"] for row in adapter.call("session/list", {})["sessions"]] == [source]
        assert adapter.updates() == []
        assert adapter.finish() == 0


LIES = [
    {"session": {"sessionId": "SOURCE", "forkedFrom": None}},
    {"session": {"sessionId": "other-id", "forkedFrom": None}},
    {"session": {"sessionId": "other-id", "forkedFrom": {"sessionId": "not-the-source", "cutExplicit": True}}},
    {"session": {"sessionId": "other-id", "forkedFrom": {"sessionId": "SOURCE", "cutExplicit": False}}},
    {"session": {}},
]


@pytest.mark.parametrize("lie", LIES)
def test_a_copy_that_is_not_what_was_asked_for_is_not_used(tmp_path: Path, lie: Json) -> None:
    source, _ = a_session(tmp_path, "one")
    told_so = json.loads(json.dumps(lie).replace("SOURCE", source))
    faults = [{"at": "session/fork", "do": "result", "set": told_so}]
    witness = tmp_path / "witness.ndjson"
    env = {"MUSE_SIMULATED_FAULTS": json.dumps(faults), "MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, env=env) as adapter:
        adapter.initialize()
        ask = cut_at(stored(source, tmp_path), turns(tmp_path, source)[0])
        code, data = error_of(adapter.refused("session/fork", ask))
        assert (code, data["hostKind"]) == (-32603, "malformedResult")
        prompt = {"sessionId": "other-id", "prompt": []}
        assert error_of(adapter.refused("session/prompt", prompt))[0] == -32002
        assert adapter.finish() == 0
    left = [json.loads(line)["method"] for line in witness.read_text().splitlines()].count("view/unsubscribe")
    assert left == (1 if told_so["session"].get("sessionId") == "other-id" else 0), "and it is let go of"


def test_a_copy_gets_mcp_servers_where_the_host_can_let_go_of_it(tmp_path: Path) -> None:
    servers = {"mcpServers": [{"name": "demo", "command": "/bin/true", "args": [], "env": []}]}
    source, _ = a_session(tmp_path, "one", version="1.4.13")
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        copy = adapter.call("session/fork", stored(source, tmp_path) | servers)["sessionId"]
        assert adapter.prompt(copy, "two")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse="simulated:1.3.0") as adapter:
        adapter.initialize()
        code, data = error_of(adapter.refused("session/fork", stored(source, tmp_path) | servers))
        assert (code, data["field"]) == (-32602, "mcpServers")
        assert len(adapter.call("session/list", {})["sessions"]) == 2, "nothing was made"
        assert adapter.finish() == 0
