"""MCP servers of a session on the simulated host (`msp.md §19`, `peers.md §7`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim_driver import Json, Refused, SimHost, items_of, sim_host

SECRET = "s3cret-värde"
WORKING: Json = {"transport": "stdio", "command": sys.executable, "args": [SECRET], "env": {"TOKEN": SECRET}}
BROKEN: Json = {"transport": "stdio", "command": "/no/such/server"}
REMOTE: Json = {"transport": "streamableHttp", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": SECRET}}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that lets sessions have servers."""
    with sim_host(tmp_path) as running:
        running.handshake(requestedCapabilities=["sessionMcp"])
        yield running


def config(**servers: Json) -> Json:
    return {"mcpServers": servers}


def answer(host: SimHost, session: str) -> list[str]:
    text: str = items_of(host.turn(session, "mcp"), "agentMessage")[-1]["text"]
    return text.split("\n")


def test_a_session_tells_its_servers_and_none_of_their_secrets(host: SimHost) -> None:
    session = host.start(config=config(files=WORKING, web={**REMOTE, "mode": "optional"}))
    assert answer(host, session) == ["files stdio required", "web streamableHttp optional"]
    assert answer(host, host.start()) == ["no servers"]
    assert SECRET not in json.dumps(host.frames, ensure_ascii=False)


def test_the_servers_of_a_loaded_session_do_not_change(host: SimHost) -> None:
    session = host.start(config=config(files=WORKING))
    again: list[Json] = [{}, {"config": {}}, {"config": config()}, {"config": config(files=WORKING)}]
    for same in again:
        host.command("session/resume", {"sessionId": session, **same})
    for other in (config(web=REMOTE), config(files={**WORKING, "mode": "optional"})):
        with pytest.raises(Refused) as caught:
            host.command("session/resume", {"sessionId": session, "config": other})
        assert (caught.value.code, caught.value.data["reason"]) == (-32030, "configuration_conflict")
    assert answer(host, session) == ["files stdio required"]


def test_servers_are_not_kept_with_a_session(host: SimHost, tmp_path: Path) -> None:
    session = host.start(config=config(files=WORKING))
    host.turn(session, "hello")
    host.close()
    assert SECRET not in (tmp_path / "sessions" / session / "session.jsonl").read_text("utf-8")
    with sim_host(tmp_path) as second:
        second.handshake(requestedCapabilities=["sessionMcp"])
        second.command("session/resume", {"sessionId": session, "config": config(web=REMOTE)})
        assert answer(second, session) == ["web streamableHttp required"]


@pytest.mark.parametrize(("version", "kind"), [("1.3.0", "configError"), ("1.4.13", "mcpLinkError")])
def test_a_required_server_that_cannot_start_costs_every_turn(tmp_path: Path, version: str, kind: str) -> None:
    with sim_host(tmp_path, version) as host:
        host.handshake(requestedCapabilities=["sessionMcp"])
        session = host.start(config=config(files=BROKEN))
        for prompt in ("hello", "mcp"):
            ended = host.turn(session, prompt)[-1]["params"]
            assert (ended["terminal"], ended["error"]["kind"]) == ("failed", kind)
            assert "files" in ended["error"]["message"]


def test_an_optional_server_that_cannot_start_is_left_out(host: SimHost) -> None:
    session = host.start(config=config(files={**BROKEN, "mode": "optional"}, more=WORKING))
    assert answer(host, session) == ["files left out: its command does not exist", "more stdio required"]


def test_a_command_is_looked_for_where_its_environment_says(host: SimHost, tmp_path: Path) -> None:
    program = tmp_path / "my-server"
    program.write_text("")
    program.chmod(0o755)
    server: Json = {"transport": "stdio", "command": "my-server", "mode": "optional"}
    assert "left out" in answer(host, host.start(config=config(mine=server)))[0]
    found = host.start(config=config(mine={**server, "env": {"PATH": str(tmp_path)}}))
    assert answer(host, found) == ["mine stdio optional"]


@pytest.mark.parametrize(
    "servers",
    [
        {"": WORKING},
        {"old": {"transport": "sse", "url": "http://127.0.0.1:9"}},
        {"bare": {"transport": "stdio"}},
        {"mode": {**WORKING, "mode": "sometimes"}},
        {"number": {**WORKING, "env": {"PATH": 5}}},
        {"list": {**WORKING, "env": [{"name": "A", "value": "b"}]}},
    ],
)
def test_servers_that_cannot_be_used_refuse_the_whole_session(host: SimHost, servers: Json) -> None:
    with pytest.raises(Refused) as caught:
        host.start(config={"mcpServers": servers})
    assert caught.value.code == -32602
    assert host.ask("session/list")["sessions"] == []
