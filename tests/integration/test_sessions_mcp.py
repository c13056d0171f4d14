"""MCP servers that a client passes with a session: each session has its own, and none is dropped in silence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.hosts_that_end import KeepsHistory
from tests.output_clients import error_of, stored
from tests.screens import LEAVES, VERSIONS
from tests.scripted_hosts import place

SECRET = "s3cret-värde"
TAKING = ["1.3.0", "1.4.2", "1.4.13"]
each_that_takes = pytest.mark.parametrize("version", TAKING)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])

FILES: Json = {"name": "files", "command": sys.executable, "args": [SECRET], "env": [{"name": "T", "value": SECRET}]}
WEB: Json = {
    "type": "http",
    "name": "web",
    "url": "https://demo.invalid/mcp",
    "headers": [{"name": "Authorization", "value": f"Bearer {SECRET}".encode().hex()}],
}
BROKEN: Json = {"name": "broken", "command": "/no/such/server", "args": [], "env": []}


def new_session(adapter: AdapterProcess, cwd: Path, *servers: Json) -> str:
    session_id: str = adapter.call("session/new", {"cwd": str(cwd), "mcpServers": list(servers)})["sessionId"]
    return session_id


def servers_of(adapter: AdapterProcess, session_id: str) -> list[str]:
    """What the host says the session has."""
    start = len(adapter.text(session_id))
    assert adapter.prompt(session_id, "mcp")["stopReason"] == "end_turn"
    return adapter.text(session_id)[start:].splitlines()


@pytest.mark.acp(48)
@each_that_takes
def test_m3_each_session_has_its_own_servers(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, "--log-level", "debug", muse=f"simulated:{version}") as adapter:
        assert adapter.initialize()["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": False}
        one, two, none = (new_session(adapter, tmp_path, *servers) for servers in ([FILES], [WEB, FILES], []))
        assert servers_of(adapter, one) == ["files stdio optional"]
        assert sorted(servers_of(adapter, two)) == ["files stdio optional", "web streamableHttp optional"]
        assert servers_of(adapter, none) == ["no servers"]
        assert servers_of(adapter, one) == ["files stdio optional"]
        assert adapter.finish() == 0
        assert SECRET.encode() not in adapter.stderr
        assert SECRET.encode() not in b"".join(adapter.lines)


@pytest.mark.acp(49)
@each_that_takes
def test_a_server_that_does_not_start_does_not_cost_the_session(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = new_session(adapter, tmp_path, BROKEN, FILES)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert "The MCP server broken cannot be started" in adapter.text(session_id, "agent_thought_chunk")
        assert "files" not in adapter.text(session_id, "agent_thought_chunk")
        told = len(adapter.text(session_id, "agent_thought_chunk"))
        assert servers_of(adapter, session_id) == [
            "broken left out: its command does not exist",
            "files stdio optional",
        ]
        assert len(adapter.text(session_id, "agent_thought_chunk")) == told, "once"
        assert adapter.finish() == 0


@each_way
@each_that_takes
def test_servers_are_given_again_with_each_opening(tmp_path: Path, version: str, method: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = new_session(adapter, tmp_path, FILES)
        adapter.prompt(session_id, "hello")
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        adapter.call(method, stored(session_id, tmp_path) | {"mcpServers": [WEB]})
        assert servers_of(adapter, session_id) == ["web streamableHttp optional"]
        adapter.call(method, stored(session_id, tmp_path) | {"mcpServers": [WEB]})
        assert servers_of(adapter, session_id) == ["web streamableHttp optional"], "the same again is fine"
        assert adapter.finish() == 0


@each_way
def test_other_servers_for_an_open_session_are_taken_where_the_host_can_let_go(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        session_id = new_session(adapter, tmp_path, FILES)
        adapter.prompt(session_id, "hello")
        adapter.call(method, stored(session_id, tmp_path) | {"mcpServers": [WEB]})
        assert servers_of(adapter, session_id) == ["web streamableHttp optional"]
        adapter.prompt(session_id, "background 30")
        code, data = error_of(adapter.refused(method, stored(session_id, tmp_path) | {"mcpServers": [FILES]}))
        assert (code, data["reason"]) == (-32600, "sessionBusy"), "nothing that runs is lost by it"
        assert servers_of(adapter, session_id) == ["web streamableHttp optional"]
        assert adapter.finish() == 0


@each_way
def test_other_servers_are_refused_where_the_host_cannot_let_go(tmp_path: Path, method: str) -> None:
    with running_adapter(tmp_path, muse="simulated:1.3.0") as adapter:
        adapter.initialize()
        session_id = new_session(adapter, tmp_path, FILES)
        adapter.prompt(session_id, "hello")
        code, data = error_of(adapter.refused(method, stored(session_id, tmp_path) | {"mcpServers": [WEB]}))
        assert (code, data["field"]) == (-32602, "mcpServers")
        assert servers_of(adapter, session_id) == ["files stdio optional"], "it goes on as it was"
        assert adapter.finish() == 0


@pytest.mark.acp(48)
@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in TAKING])
def test_o4_a_host_that_takes_none_refuses_and_starts_nothing(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness.ndjson"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        code, data = error_of(adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": [FILES]}))
        assert (code, data["field"]) == (-32602, "mcpServers")
        assert adapter.call("session/list", {}) == {"sessions": []}
        session_id = new_session(adapter, tmp_path)
        adapter.prompt(session_id, "hello")
        for method in ("session/load", "session/resume", "session/fork"):
            code, data = error_of(adapter.refused(method, stored(session_id, tmp_path) | {"mcpServers": [FILES]}))
            assert (code, data["field"]) == (-32602, "mcpServers")
        assert adapter.finish() == 0
    asked = [json.loads(line)["method"] for line in witness.read_text().splitlines()]
    assert asked.count("session/start") == 1


def test_o4_servers_reach_the_host_whole_whichever_way_a_session_is_opened(tmp_path: Path) -> None:
    host = place(tmp_path / "host", KeepsHistory)
    pairs = [("ORCHARD", "apples and pears"), ("EMPTY", "")]
    env = [{"name": name, "value": value} for name, value in pairs]
    files = {"name": "files", "command": sys.executable, "args": ["-m", "files", "--root", "/srv/demo"], "env": env}
    headers = [{"name": "Authorization", "value": "Bearer demo"}, {"name": "X-Orchard", "value": "north, south"}]
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        new_session(adapter, tmp_path, files, WEB | {"headers": headers})
        for number, method in enumerate(("session/load", "session/resume")):
            adapter.call(
                method, stored(f"ses-{number}", tmp_path) | {"mcpServers": [files, WEB | {"headers": headers}]}
            )
        assert adapter.finish() == 0
    opened = [*host.received("session/start"), *host.received("session/resume")]
    assert len(opened) == 3
    for frame in opened:
        given = frame["params"]["config"]["mcpServers"]
        assert set(given) == {"files", "web"}
        assert (given["files"]["command"], given["files"]["args"]) == (files["command"], files["args"])
        assert given["files"]["env"] == dict(pairs)
        assert given["web"]["url"] == WEB["url"]
        assert given["web"]["headers"] == {header["name"]: header["value"] for header in headers}


@pytest.mark.acp(48)
def test_one_malformed_server_refuses_the_request_and_nothing_is_made(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=LEAVES) as adapter:
        adapter.initialize()
        for bad in (
            WEB | {"type": "sse"},
            WEB | {"url": f"https://me:{SECRET}@demo.invalid"},
            FILES,
            FILES | {"name": ""},
            {"name": "x"},
        ):
            asked = {"cwd": str(tmp_path), "mcpServers": [FILES, bad]}
            code, data = error_of(adapter.refused("session/new", asked))
            assert code == -32602
            assert data["field"].startswith("mcpServers[1].")
        assert adapter.call("session/list", {}) == {"sessions": []}
        assert adapter.finish() == 0
        assert SECRET.encode() not in b"".join(adapter.lines) + adapter.stderr
