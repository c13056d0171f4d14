"""The simulated host's envelope, handshake, ledger, command line and versions (`msp.md §2 to §6, §23, §24, §28`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import muse_code_msp as msp
import pytest

from adapter.hosts.select import stand_in_command
from adapter.hosts.simulated.ledger import payload_digest
from adapter.hosts.simulated.profiles import NEWEST, PROFILES
from tests.sim_driver import Refused, SimHost, methods, params_of, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def run(*words: str, home: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """The host as a command."""
    command = [sys.executable, "-m", "adapter.hosts.simulated", *words]
    env = {**os.environ, **environment, **({"MUSE_SIMULATED_HOME": str(home)} if home else {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=20, env=env, input="")


# -- the command line


@pytest.mark.parametrize("version", PROFILES)
def test_it_tells_its_version_and_that_it_is_simulated(version: str) -> None:
    done = run("--profile", version, "--version")
    assert done.returncode == 0
    assert done.stdout == f"Muse Code {version} ({PROFILES[version].build})\n"
    assert "simulated host, no model is called" in done.stderr


def test_serve_lists_the_flags_of_the_real_host() -> None:
    done = run("serve", "--help")
    assert done.returncode == 0
    for flag in (
        *("--provider", "--model", "--disable-sandbox", "--sandbox-network", "--disable-write"),
        *("--disable-shell", "--trust-workspace", "--no-session-log"),
    ):
        assert flag in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--fly"),
        ("dance",),
        (),
        ("--profile", "9.9.9", "serve"),
        ("--profile",),
        ("serve", "--sandbox-network", "sometimes"),
        ("serve", "--disable-write=yes"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_where_to_look(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    problem, where = done.stderr.splitlines()
    assert problem.startswith("muse: ") and where == "Try `muse --help`."


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        ("{", None),
        ('{"frameLimitBytes": "many"}', None),
        ('{"unheardOf": 1}', None),
        (None, "{"),
        (None, '[{"at": "spawn", "do": "dance"}]'),
        (None, '[{"do": "die"}]'),
    ],
)
def test_a_malformed_file_ends_with_3_before_the_handshake(
    tmp_path: Path, settings: str | None, faults: str | None
) -> None:
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings)
    done = run("serve", home=tmp_path, **({"MUSE_SIMULATED_FAULTS": faults} if faults else {}))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("muse: the ")


def test_a_fault_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('[{"at": "spawn", "do": "exit", "code": 5}]')
    assert run("--faults", str(path), "serve", home=tmp_path).returncode == 5


def test_the_end_of_stdin_ends_it_with_0(tmp_path: Path) -> None:
    done = run("serve", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_where_it_keeps_its_sessions(tmp_path: Path) -> None:
    for words, environment, expected in (
        (["--data-dir", str(tmp_path / "a")], {"MUSE_SIMULATED_HOME": str(tmp_path / "b")}, tmp_path / "a"),
        ([], {"MUSE_SIMULATED_HOME": str(tmp_path / "b"), "XDG_DATA_HOME": str(tmp_path / "c")}, tmp_path / "b"),
        ([], {"MUSE_SIMULATED_HOME": "", "XDG_DATA_HOME": str(tmp_path / "c")}, tmp_path / "c" / "muse-simulated"),
    ):
        frame = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"clientInfo": {"name": "x", "version": ""}},
        }
        command = [sys.executable, "-m", "adapter.hosts.simulated", *words, "serve"]
        done = subprocess.run(
            command,
            input=json.dumps(frame),
            capture_output=True,
            text=True,
            timeout=20,
            env={**os.environ, **environment},
        )
        assert json.loads(done.stdout)["result"]["museHome"] == str(expected)


def test_a_stand_in_is_named_by_a_word() -> None:
    for spec, words in (
        ("simulated", ["-m", "adapter.hosts.simulated", "--profile", "1.2.1"]),
        ("simulated:1.1.1", ["-m", "adapter.hosts.simulated", "--profile", "1.1.1"]),
        ("simulated:1.4", ["-m", "adapter.hosts.simulated", "--profile", "1.4.13"]),
        ("recorded:some/dir", ["-m", "adapter.hosts.recorded", "some/dir"]),
    ):
        command = stand_in_command(spec)
        assert command is not None
        assert command[0] == sys.executable
        assert command[-len(words) :] == words
    for other in ("muse", "/usr/bin/muse", "simulated-host", "recorded"):
        assert stand_in_command(other) is None
    for wrong in ("simulated:2.0", "simulated:", "recorded:"):
        with pytest.raises(ValueError, match=r"version|directory"):
            stand_in_command(wrong)


# -- handshake


def test_the_handshake_comes_first_and_once(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        with pytest.raises(Refused) as caught:
            host.ask("session/list")
        assert (caught.value.code, caught.value.kind) == (-32600, "notInitialized")
        result = host.handshake(requestedCapabilities=["sessionMcp", "rawLog", "userShell"])
        assert result["serverInfo"] == {"name": "muse-simulated-host", "version": "1.4.13"}
        assert result["schema"]["fingerprint"] == msp.SCHEMA_FINGERPRINT
        assert result["grantedCapabilities"] == ["sessionMcp", "userShell"]
        with pytest.raises(Refused) as caught:
            host.handshake()
        assert (caught.value.code, caught.value.kind) == (-32600, "alreadyInitialized")


def test_nothing_is_sent_before_the_client_says_initialized(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        host.ask("initialize", {"clientInfo": {"name": "tests", "version": "1"}})
        host.start()
        assert not methods(host.frames)
        host.notify("initialized")
        assert "session/started" in methods(host.settled())


@pytest.mark.parametrize("name", ["Tests", "te st", "té", "", 5])
def test_a_client_name_of_other_characters_is_refused(tmp_path: Path, name: Any) -> None:
    with sim_host(tmp_path) as host:
        with pytest.raises(Refused) as caught:
            host.ask("initialize", {"clientInfo": {"name": name, "version": "1"}})
        assert caught.value.code == -32602


def test_what_needs_a_grant_is_refused_without_it(tmp_path: Path) -> None:
    config = {"mcpServers": {"files": {"transport": "stdio", "command": "files"}}}
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        for method, params in (
            ("session/userShell", {"sessionId": session, "commandText": "ls"}),
            ("session/start", {"config": config}),
        ):
            with pytest.raises(Refused) as caught:
                host.command(method, params)
            assert (caught.value.code, caught.value.kind) == (-32010, "capabilityRequired")
    with sim_host(tmp_path) as host:
        host.handshake(requestedCapabilities=["sessionMcp", "userShell"])
        session = host.start(config=config)
        host.command("session/userShell", {"sessionId": session, "commandText": "ls"})
        item = host.until_method("item/completed")["item"]
        assert (item["kind"], item["turnId"], item["exitCode"]) == ("userShell", None, 0)
        with pytest.raises(Refused) as caught:
            host.start(config={"mcpServers": {"files": {"transport": "sse", "url": "x"}}})
        assert caught.value.code == -32602


# -- envelope


@pytest.mark.parametrize(
    ("line", "code", "answered"),
    [
        (b"{nonsense", -32700, None),
        (b"[]", -32600, None),
        (b"42", -32600, None),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"model/list","params":[]}', -32602, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"no/such"}', -32601, "a"),
    ],
)
def test_a_line_that_is_no_frame_costs_one_error(host: SimHost, line: bytes, code: int, answered: Any) -> None:
    host.write(line + b"\n")
    frame = host.until(lambda frame: "error" in frame)
    assert (frame["id"], frame["error"]["code"]) == (answered, code)
    assert host.ask("model/list")["models"]


def test_blank_lines_carriage_returns_and_unknown_notifications_cost_nothing(host: SimHost) -> None:
    host.write(b'\n  \n{"jsonrpc":"2.0","method":"what/ever"}\r\n')
    host.post("model/list", request_id="r")
    assert host.next()["id"] == "r"


def test_a_frame_over_the_limit_is_refused_by_its_id_and_the_connection_lives(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"frameLimitBytes": 20000}')
    with sim_host(tmp_path) as host:
        host.handshake()
        host.write(b'{"jsonrpc":"2.0","id":77,"method":"x","params":{"text":"' + b"y" * 30_000 + b'"}}\n')
        frame = host.until(lambda frame: "error" in frame)
        assert (frame["id"], frame["error"]["code"]) == (77, -32002)
        assert frame["error"]["data"]["limitBytes"] == 20_000
        host.write(b"z" * 30_000 + b"\n")
        frame = host.until(lambda frame: "error" in frame)
        assert (frame["id"], frame["error"]["code"]) == (None, -32700)
        assert host.ask("model/list")["models"]


def test_a_request_nobody_thought_of_is_an_internal_error_and_no_end(tmp_path: Path) -> None:
    with sim_host(tmp_path) as host:
        params = {"clientInfo": {"name": "x", "version": "1"}, "capabilities": {"requestedCapabilities": 5}}
        with pytest.raises(Refused) as caught:
            host.ask("initialize", params)
        assert (caught.value.code, caught.value.kind) == (-32603, "internal")
        host.handshake()


def test_ids_keep_their_type(host: SimHost) -> None:
    for request_id in (1000, "1000", "", 0, -5):
        host.post("model/list", request_id=request_id)
        frame = host.next()
        assert frame["id"] == request_id
        assert type(frame["id"]) is type(request_id)


# -- the ledger


def test_a_repeated_command_has_one_effect_and_one_answer(host: SimHost) -> None:
    session = host.start()
    params = {"sessionId": session, "input": [{"type": "text", "text": "once"}]}
    first = host.command("turn/start", params, "same")
    host.until_method("turn/completed")
    assert host.command("turn/start", params, "same") == first
    assert not methods(host.settled())
    with pytest.raises(Refused) as caught:
        host.command("turn/start", {**params, "input": [{"type": "text", "text": "other"}]}, "same")
    assert (caught.value.code, caught.value.data["reason"]) == (-32030, "command_id_conflict")


def test_a_rejection_is_repeated_too(host: SimHost) -> None:
    session = host.start()
    errors = []
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            host.command("turn/unqueue", {"sessionId": session, "turnId": "nobody"}, "same")
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_command_that_was_not_admitted_may_come_again_with_the_same_id(host: SimHost) -> None:
    session = host.start()
    running = host.prompt(session, "slow 60")
    for _ in range(64):
        host.prompt(session, "next")
    params = {"sessionId": session, "input": [{"type": "text", "text": "one too many"}]}
    with pytest.raises(Refused) as caught:
        host.command("turn/start", params, "again")
    assert (caught.value.code, caught.value.data["capacity"], caught.value.data["retryable"]) == (-32031, 64, True)
    host.command("turn/interrupt", {"sessionId": session, "turnId": running})
    host.until_method("turn/completed")
    assert host.command("turn/start", params, "again")["turnId"] == "again"


def test_commands_are_known_again_after_a_restart(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        started = first.command("session/start", {"workspaceRoot": str(tmp_path)}, "start")
        session = started["session"]["sessionId"]
        params = {"sessionId": session, "input": [{"type": "text", "text": "once"}]}
        turn = first.command("turn/start", params, "turn")
        first.until_method("turn/completed")
        first.kill()
    with sim_host(tmp_path) as second:
        second.handshake()
        assert second.command("session/start", {"workspaceRoot": str(tmp_path)}, "start") == started
        second.command("session/resume", {"sessionId": session})
        assert second.command("turn/start", params, "turn") == turn
        assert not params_of(second.settled(), "turn/started")


def test_a_command_that_was_taken_in_and_never_settled_is_abandoned(tmp_path: Path) -> None:
    with sim_host(tmp_path) as first:
        first.handshake()
        session = first.start()
        assert first.close() == 0
    journal = tmp_path / "sessions" / session / "session.jsonl"
    params = {"commandId": "cut", "sessionId": session, "name": "new"}
    intake = {"intake": {"commandId": "cut", "digest": payload_digest("session/rename", params)}}
    with journal.open("a") as file:
        file.write(json.dumps(intake) + "\n")
    with sim_host(tmp_path) as second:
        second.handshake()
        second.command("session/resume", {"sessionId": session})
        with pytest.raises(Refused) as caught:
            second.ask("session/rename", params)
        assert (caught.value.code, caught.value.data["reason"]) == (-32030, "abandoned")


def _members(method: str) -> frozenset[str]:
    name = msp.METHODS[method]["params"]
    return frozenset(getattr(msp, name).__annotations__) if name else frozenset()


@pytest.mark.parametrize("method", sorted(name for name in NEWEST.methods if "commandId" in _members(name)))
def test_a_command_without_command_id_is_refused(tmp_path: Path, method: str) -> None:
    with sim_host(tmp_path) as host:
        host.handshake(requestedCapabilities=["userShell"])
        with pytest.raises(Refused) as caught:
            host.ask(method, {"sessionId": host.start()})
        assert (caught.value.code, caught.value.data["details"]) == (-32602, {"field": "commandId"})


# -- prompts


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([], -32602),
        (None, -32602),
        ([{"type": "mention", "text": "x"}], -32602),
        ([{"type": "text"}], -32602),
        ([{"type": "image", "mediaType": "image/png", "base64Data": "not base64!"}], -32602),
        ([{"type": "image", "mediaType": "image/png", "base64Data": ""}], -32602),
        ([{"type": "image", "mediaType": "image/png", "base64Data": "aGk=", "width": 3}], -32602),
        ([{"type": "skill", "selector": "nobody"}], -32032),
        ([{"type": "video", "uploadId": "nothing"}], -32038),
    ],
)
def test_input_that_cannot_be_used_is_refused(host: SimHost, parts: Any, code: int) -> None:
    params = {"sessionId": host.start(), **({} if parts is None else {"input": parts})}
    with pytest.raises(Refused) as caught:
        host.command("turn/start", params)
    assert caught.value.code == code


def test_text_images_and_skills_become_one_prompt(host: SimHost) -> None:
    parts = [
        {"type": "text", "text": "look "},
        {"type": "image", "mediaType": "image/png", "base64Data": "aGk=", "width": 1, "height": 1},
        {"type": "skill", "selector": "review", "arguments": "src"},
    ]
    params = {"sessionId": host.start(), "input": parts, "displayText": "shown", "reasoningEffort": "max"}
    host.command("turn/start", params)
    said = host.until_method("item/completed")["item"]
    assert said["text"] == "look /review src"
    assert said["displayText"] == "shown"
    assert said["attachments"] == [{"type": "image", "mediaType": "image/png", "width": 1, "height": 1}]


# -- versions


@pytest.mark.parametrize("version", PROFILES)
def test_a_version_answers_its_methods_and_no_other(tmp_path: Path, version: str) -> None:
    profile = PROFILES[version]
    with sim_host(tmp_path, version) as host:
        host.handshake()
        for method in sorted(NEWEST.methods - {"initialize"}):
            with pytest.raises(Refused) as caught:
                host.ask(method, {"sessionId": 5, "commandId": 5, "limit": "x", "note": 1, "cursor": 1})
                raise Refused({"code": 0})
            assert (caught.value.code == -32601) == (method not in profile.methods), method


def test_an_older_version_has_no_newer_members(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.0.1") as host:
        result = host.handshake(requestedCapabilities=["sessionMcp", "userShell"])
        assert "sandboxAvailability" not in result
        assert result["grantedCapabilities"] == ["userShell"]
        session = host.start()
        host.turn(session, "edit")
        row = host.ask("session/list")["sessions"][0]
        assert not {"name", "title", "kind", "createdByClient", "branch", "firstUserPrompt"} & set(row)
        read = host.ask("session/read", {"sessionId": session, "excludeItems": False})
        assert "lastTurn" not in read
        assert not any({"patchRef", "displayLabel"} & set(item) for item in read["history"]["items"])
        with pytest.raises(Refused) as caught:
            host.prompt(session, "hello", reasoningEffort="max")
        assert caught.value.code == -32602


def test_a_1_1_1_host_lets_no_model_and_no_workflow_through(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.1.1") as host:
        host.handshake()
        result = host.command("session/start", {"modelId": "muse-small-1"})
        assert result["session"]["modelId"] == "muse-large-2"
        frames = host.turn(result["session"]["sessionId"], "workflow")
        assert "workflow_launch_unavailable" in json.dumps(frames)
