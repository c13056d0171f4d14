"""What the doctor says that clients would be offered is what the adapter offers them."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import anyio
import pytest

from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse
from adapter.cli.doctor.client_profiles import PROFILES, ClientProfile
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.negotiation import case_of, known_of, offers
from adapter.hosts.simulated import profiles
from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from adapter.wire.background import Background
from host_probe import probe_version
from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.integration.test_initialize import EVERYTHING

CLIENTS = (
    *PROFILES,
    ClientProfile("everything", {"protocolVersion": 1, "clientCapabilities": EVERYTHING}),
    ClientProfile("old", {"protocolVersion": 0}),
)
HTTP = {"type": "http", "name": "plums", "url": "http://127.0.0.1:9/", "headers": []}
SERVER = {"name": "pears", "command": "/bin/cat", "args": [], "env": []}


def environ(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    return {**kept, "HOME": str(home)}


async def facts_of(choice: HostChoice) -> MuseFacts:
    """What one host tells."""
    command = tuple(resolve_muse(choice))
    probe = await probe_version(command, environ=choice.environ)
    host = Host(HostCommand([*command, "serve"], choice.environ), "1", probes=True)
    async with anyio.create_task_group() as tasks:
        Background(tasks, logging.getLogger("tests")).start(host.run)
        handshake, abilities = await host.ready(), await host.abilities()
        await host.close()
    return MuseFacts(command=command, version=probe.version, handshake=handshake, abilities=abilities)


def facts_for(home: Path, version: str) -> tuple[HostChoice, MuseFacts]:
    choice = HostChoice(environ(home), home, f"simulated:{version}", startup_timeout=20.0)
    return choice, anyio.run(facts_of, choice)


@pytest.mark.parametrize("version", profiles.PROFILES)
def test_each_client_is_answered_what_the_doctor_says(tmp_path: Path, version: str) -> None:
    choice, facts = facts_for(tmp_path, version)
    known = known_of(choice, facts)
    for profile in CLIENTS:
        home = tmp_path / profile.name.replace("/", "-")
        home.mkdir()
        with running_adapter(home, muse=choice.muse) as adapter:
            answer = adapter.call("initialize", profile.params)
            assert answer == case_of(profile, known).answer, profile.name


@pytest.mark.parametrize("version", profiles.PROFILES)
@pytest.mark.parametrize("name", ["baseline", "everything"])
def test_what_no_answer_names_is_offered_as_well(tmp_path: Path, version: str, name: str) -> None:
    choice, facts = facts_for(tmp_path, version)
    profile = next(client for client in CLIENTS if client.name == name)
    offered = offers(choice, facts, [profile])[0].offered
    with running_adapter(tmp_path, muse=choice.muse) as adapter:
        adapter.answer = answered
        adapter.call("initialize", profile.params)
        started = adapter.response(adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": [SERVER]}))
        assert ("result" in started) == ("mcpServers" in offered), started
        started = adapter.response(adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": [HTTP]}))
        assert ("result" in started) == ("mcp.http" in offered), started
        session = adapter.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        kinds = {option["type"] for option in session["configOptions"]}
        assert ("modes" in session, bool(kinds)) == ("modes" in offered, "configOptions" in offered)
        assert ("boolean" in kinds) == ("booleanOptions" in offered)
        adapter.prompt(session["sessionId"], "shell 3000")
        assert ("terminal_info" in all_meta(adapter)) == ("terminalCards" in offered)
        adapter.prompt(session["sessionId"], "ask")
        asked = [frame for frame in adapter.frames if frame.get("method") == "elicitation/create"]
        assert bool(asked) == ("elicitation.form" in offered)
        # What was left open is not part of it.
        adapter.call("session/close", {"sessionId": session["sessionId"]})
        assert adapter.finish() == 0


def answered(request: Json) -> Json:
    if request["method"] == "elicitation/create":
        return {"result": {"action": "cancel"}}
    return {"result": {"outcome": {"outcome": "cancelled"}}}


def all_meta(adapter: AdapterProcess) -> set[str]:
    """The names of everything that updates carried in `_meta`."""
    return {name for update in adapter.updates() for name in update.get("_meta", {})}


@pytest.mark.parametrize("name", ["baseline", "everything"])
def test_compactions_and_remarks_come_as_the_doctor_says(tmp_path: Path, name: str) -> None:
    choice, facts = facts_for(tmp_path, "1.4.13")
    profile = next(client for client in CLIENTS if client.name == name)
    offered = offers(choice, facts, [profile])[0].offered
    with running_adapter(tmp_path, muse=choice.muse) as adapter:
        adapter.call("initialize", profile.params)
        session_id = adapter.new_session(tmp_path)
        for prompt in ("compaction", "retry"):
            adapter.prompt(session_id, prompt)
        shown = {update["sessionUpdate"] for update in adapter.updates()}
        assert ("compaction_update" in shown) == ("compaction" in offered)
        assert ("notice" in shown) == ("notices" in offered)
        assert adapter.finish() == 0
