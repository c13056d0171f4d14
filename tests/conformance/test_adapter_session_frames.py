"""How the adapter lists, opens, copies and deletes sessions, held to the official types in every version."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.listening_host import heard, place_listener
from tests.oracles.msp_types import Direction, check_transcript

HTTP: Json = {"type": "http", "name": "web", "url": "https://demo.invalid", "headers": [{"name": "X", "value": "y"}]}
STDIO: Json = {"name": "one", "command": "/bin/true", "args": ["-v"], "env": [{"name": "A", "value": "b"}]}


def open_in_every_way(adapter: AdapterProcess, cwd: Path) -> set[str]:
    """Sessions of every kind; the methods of the host that it took."""
    asked = {"initialize", "session/list", "session/start", "session/resume", "session/fork", "session/read"}
    capabilities = adapter.initialize()["agentCapabilities"]["sessionCapabilities"]
    extra: Json = {}
    if "additionalDirectories" in capabilities:
        (cwd / "more").mkdir()
        extra = {"additionalDirectories": [str(cwd / "more")]}
    plain = {"cwd": str(cwd), "mcpServers": []}
    taken = adapter.response(adapter.begin("session/new", plain | {"mcpServers": [HTTP, STDIO]}))
    session_id = (taken if "result" in taken else {"result": adapter.call("session/new", plain)})["result"]["sessionId"]
    adapter.prompt(session_id, "hello")
    stored = {"sessionId": session_id} | plain | extra
    for method in ("session/load", "session/resume"):
        adapter.call(method, stored)
        adapter.prompt(session_id, "todo")
    copy = adapter.call("session/fork", stored)["sessionId"]
    adapter.prompt(copy, "hello")
    adapter.call("session/list", {})
    adapter.call("session/list", {"cwd": str(cwd)})
    adapter.call("session/close", {"sessionId": copy})
    if "delete" in capabilities:
        asked.add("session/delete")
        adapter.call("session/delete", {"sessionId": session_id})
    assert adapter.finish() == 0
    return asked


@pytest.mark.parametrize("version", PROFILES)
def test_sessions_are_opened_as_the_types_say(tmp_path: Path, version: str) -> None:
    command = [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", version]
    listener = place_listener(tmp_path / "listener", command)
    with running_adapter(tmp_path, muse=listener) as adapter:
        # What a host can do may become known too late for this client, and is remembered for the next one.
        adapter.initialize()
        adapter.call("session/list", {})
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=listener) as adapter:
        expected = open_in_every_way(adapter, tmp_path)
    (_, transcript) = heard(tmp_path / "listener")
    frames: list[tuple[Direction, Any]] = [
        ("client" if entry["dir"] == "client" else "server", orjson.loads(entry["raw"])) for entry in transcript
    ]
    check_transcript(frames, profile=version)
    said = [frame for direction, frame in frames if direction == "client" and "method" in frame]
    assert expected <= {frame["method"] for frame in said}
    rooted = [frame["method"] for frame in said if "workspaceRoots" in frame.get("params", {})]
    assert rooted == (["turn/start"] * 3 if version in ("1.4.2", "1.4.13") else [])
