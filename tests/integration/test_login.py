"""Logging in and out: what a client is told, and how it comes back to work without a new adapter (`acp.md §3`)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.processes import assert_gone, descendants, wait_until

FROM_1_2 = pytest.mark.parametrize("version", ["1.2.1", "1.3.0", "1.4.2", "1.4.13"])
"""Older versions do not say that it is the login a turn failed for."""


def data_dir(home: Path) -> Path:
    return home / ".local" / "share" / "muse-simulated"


def command_line(home: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`muse-adapter` with these words, as somebody would run it in a terminal beside the editor."""
    return subprocess.run(
        [sys.executable, "-m", "adapter.cli.entry", *words],
        env=os.environ | {"HOME": str(home), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def log_in(home: Path) -> None:
    assert command_line(home, "--muse", "simulated", "login").returncode == 0


@contextmanager
def adapter_for(
    home: Path, *, version: str = "1.4.13", env: dict[str, str] | None = None, **settings: object
) -> Iterator[AdapterProcess]:
    """An adapter whose Muse needs a login that is not there."""
    data_dir(home).mkdir(parents=True, exist_ok=True)
    (data_dir(home) / "settings.json").write_text(json.dumps({"login": True, **settings}))
    with running_adapter(home, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize(clientCapabilities={"auth": {"terminal": True}})
        yield adapter


def new(cwd: Path) -> Json:
    return {"cwd": str(cwd), "mcpServers": []}


def stored(session_id: str, cwd: Path) -> Json:
    return {"sessionId": session_id, **new(cwd)}


def prompt_error(adapter: AdapterProcess, session_id: str, text: str = "hello") -> Json:
    error: Json = adapter.response(adapter.begin_prompt(session_id, text))["error"]
    return error


def needs_login(error: Json) -> None:
    assert (error["code"], error["data"]["reason"]) == (-32000, "authRequired")
    assert "muse-adapter login" in error["data"]["details"]


def works(adapter: AdapterProcess, session_id: str) -> None:
    before = len(adapter.text(session_id))
    assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
    assert adapter.text(session_id)[before:] == "You said: hello — noted ✓"


# -- without a login


@pytest.mark.acp(38)
@FROM_1_2
def test_o8_without_a_login_a_turn_is_refused_and_so_is_what_opens_sessions(tmp_path: Path, version: str) -> None:
    with adapter_for(tmp_path, version=version) as adapter:
        session_id = adapter.new_session(tmp_path)
        needs_login(prompt_error(adapter, session_id))
        needs_login(adapter.refused("session/new", new(tmp_path)))
        needs_login(adapter.refused("session/load", stored(session_id, tmp_path)))
        needs_login(adapter.refused("session/resume", stored(session_id, tmp_path)))
        needs_login(adapter.refused("session/fork", stored(session_id, tmp_path)))
        needs_login(adapter.refused("session/list", {}))
        needs_login(prompt_error(adapter, session_id))
        assert "result" in adapter.response(adapter.begin("initialize", {"protocolVersion": 1}))
        assert adapter.finish() == 0


@pytest.mark.acp(38)
def test_n12_a_host_that_opens_no_session_without_a_login_is_told_at_once(tmp_path: Path) -> None:
    with adapter_for(tmp_path, loginAt="session") as adapter:
        for _ in range(2):
            needs_login(adapter.refused("session/new", new(tmp_path)))
        log_in(tmp_path)
        works(adapter, adapter.new_session(tmp_path))
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.0.1", "1.1.1"])
def test_o9_a_host_that_does_not_name_the_login_is_not_second_guessed(tmp_path: Path, version: str) -> None:
    with adapter_for(tmp_path, version=version) as adapter:
        error = prompt_error(adapter, adapter.new_session(tmp_path))
        assert (error["code"], error["data"]["hostKind"]) == (-32603, "modelError")
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


@pytest.mark.acp(37, 38)
@pytest.mark.parametrize("once", [False, True], ids=["each turn", "at the start"])
@pytest.mark.parametrize("way", ["prompt", "authenticate", "new"])
def test_a_login_made_beside_the_adapter_is_found_without_a_new_one(tmp_path: Path, way: str, once: bool) -> None:
    """Also by a host that looks at its login only when it starts: that one is replaced."""
    with adapter_for(tmp_path, loginReadOnce=once) as adapter:
        session_id = adapter.new_session(tmp_path)
        needs_login(prompt_error(adapter, session_id))
        log_in(tmp_path)
        if way == "authenticate":
            assert adapter.call("authenticate", {"methodId": "muse-login"}) == {}
            session_id = adapter.new_session(tmp_path)
        elif way == "new":
            needs_login(adapter.refused("session/new", new(tmp_path)))
            session_id = adapter.new_session(tmp_path)
        works(adapter, session_id)
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


@pytest.mark.acp(37)
def test_only_the_login_that_the_agent_runs_can_be_asked_for(tmp_path: Path) -> None:
    with adapter_for(tmp_path) as adapter:
        for method_id in ("muse-login-terminal", "meta-api-key", ""):
            error = adapter.refused("authenticate", {"methodId": method_id})
            assert (error["code"], error["data"]["field"]) == (-32602, "methodId")
        assert adapter.call("authenticate", {"methodId": "muse-login"}) == {}
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


def test_without_muse_a_login_says_so_and_is_no_login_error(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=str(tmp_path / "none")) as adapter:
        assert adapter.initialize()["authMethods"]
        error = adapter.refused("authenticate", {"methodId": "muse-login"})
        assert (error["code"], error["data"]["reason"]) == (-32603, "museNotFound")
        assert adapter.finish() == 0


@pytest.mark.acp(41)
def test_o8_a_login_that_runs_out_in_a_turn_is_a_login_error_and_a_quota_is_not(tmp_path: Path) -> None:
    with adapter_for(tmp_path) as adapter:
        log_in(tmp_path)
        session_id = adapter.new_session(tmp_path)
        works(adapter, session_id)
        error = prompt_error(adapter, session_id, "fail quotaExceeded")
        assert (error["code"], error["data"]["hostKind"]) == (-32603, "quotaExceeded")
        before = len(adapter.text(session_id))
        needs_login(prompt_error(adapter, session_id, "expire"))
        assert adapter.text(session_id)[before:], "it ran out in the middle of an answer"
        needs_login(adapter.refused("session/new", new(tmp_path)))
        log_in(tmp_path)
        works(adapter, session_id)
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


# -- the command


@pytest.mark.acp(39)
@pytest.mark.parametrize(
    "words",
    [
        ["--muse", "simulated", "login"],
        ["--muse", "simulated", "serve", "login"],
        ["serve", "--log-level", "debug", "--muse", "simulated", "login"],
        ["login", "--muse", "simulated"],
    ],
    ids=" ".join,
)
def test_the_command_logs_in_or_fails_with_an_exit_code(tmp_path: Path, words: list[str]) -> None:
    refused = command_line(tmp_path, *words, env={"MUSE_SIMULATED_LOGIN_FAILS": "1"})
    assert refused.returncode == 1
    file = data_dir(tmp_path) / "credentials.json"
    assert not file.exists()

    done = command_line(tmp_path, *words)
    assert (done.returncode, done.stdout) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.acp(39)
def test_both_forms_of_the_terminal_login_work_as_the_client_runs_them(tmp_path: Path) -> None:
    with adapter_for(tmp_path) as adapter:
        adapter.finish()
    with running_adapter(tmp_path) as adapter:
        methods = adapter.initialize(clientCapabilities={"_meta": {"terminal-auth": True}})["authMethods"]
        adapter.finish()
    (terminal,) = [method for method in methods if method.get("type") == "terminal"]
    older = terminal["_meta"]["terminal-auth"]
    ours = [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated"]
    for command in ([older["command"], *older["args"]], [*ours, *terminal["args"]]):
        environ = os.environ | {"HOME": str(tmp_path)}
        assert subprocess.run(command, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=30).returncode == 0
        (data_dir(tmp_path) / "credentials.json").unlink()


# -- logging out


@pytest.mark.acp(40)
@pytest.mark.parametrize("once", [False, True], ids=["each turn", "at the start"])
def test_a_logout_closes_everything_and_leaves_no_login(tmp_path: Path, once: bool) -> None:
    log_in(tmp_path)
    with adapter_for(tmp_path, loginReadOnce=once) as adapter:
        first, second = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        works(adapter, first)
        hosts = [row.pid for row in descendants(adapter.process.pid)]
        running = adapter.begin_prompt(second, "slow 60")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")

        assert adapter.call("logout", {}) == {}
        assert adapter.response(running)["result"] == {"stopReason": "cancelled"}
        assert not (data_dir(tmp_path) / "credentials.json").exists()
        assert_gone(hosts)
        for _ in range(2):
            needs_login(adapter.refused("session/new", new(tmp_path)))
        needs_login(adapter.refused("session/load", stored(first, tmp_path)))
        assert prompt_error(adapter, first)["data"]["reason"] == "sessionClosed"

        log_in(tmp_path)
        assert adapter.call("authenticate", {"methodId": "muse-login"}) == {}
        adapter.call("session/load", stored(first, tmp_path))
        works(adapter, first)
        assert adapter.finish() == 0


@pytest.mark.acp(40)
def test_a_key_in_the_environment_outlives_a_logout_and_the_answer_says_so(tmp_path: Path) -> None:
    with adapter_for(tmp_path, env={"META_API_KEY": "orchard-4711"}) as adapter:
        works(adapter, adapter.new_session(tmp_path))
        answer = adapter.call("logout", {})
        assert answer == {"_meta": {"muse/authStatus": {"configured": True, "source": "environment"}}}
        works(adapter, adapter.new_session(tmp_path))
        assert adapter.finish() == 0
        assert b"orchard-4711" not in b"".join(adapter.lines) + adapter.stderr


def test_a_logout_that_fails_is_told_and_nothing_else_is_believed(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    simulated = f'exec {sys.executable} -P -m adapter.hosts.simulated "$@"'
    muse.write_text(f'#!/bin/sh\n[ "$1" = logout ] && exit 9\n{simulated}\n')
    muse.chmod(0o700)
    with running_adapter(tmp_path, muse=str(muse)) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        works(adapter, session_id)
        error = adapter.refused("logout", {})
        assert (error["code"], error["data"]["reason"], error["data"]["retryable"]) == (-32603, "logoutFailed", False)
        adapter.call("session/load", stored(session_id, tmp_path))
        works(adapter, session_id)
        assert adapter.finish() == 0


def test_a_logout_that_nobody_waits_for_leaves_no_process(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    simulated = f'exec {sys.executable} -P -m adapter.hosts.simulated "$@"'
    muse.write_text(f'#!/bin/sh\n[ "$1" = logout ] && touch {tmp_path}/asked && exec sleep 600\n{simulated}\n')
    muse.chmod(0o700)
    with running_adapter(tmp_path, muse=str(muse)) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        logout = adapter.begin("logout", {})
        wait_until((tmp_path / "asked").exists)
        pids = [row.pid for row in descendants(adapter.process.pid)]
        adapter.notify("$/cancel_request", {"requestId": logout})
        assert adapter.response(logout)["error"]["code"] == -32800
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0
        assert_gone(pids)
