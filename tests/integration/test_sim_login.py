"""A simulated host that needs a login, and the commands that give and take one (`msp.md §10.2, §12.3, §23.1`)."""

from __future__ import annotations

import json
import os
import select
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.sim_driver import Json, Refused, SimHost, params_of, sim_host


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("META_API_KEY", "MUSE_SIMULATED_LOGIN", "MUSE_SIMULATED_LOGIN_FAILS"):
        monkeypatch.delenv(name, raising=False)


def settings(home: Path, **members: object) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"login": True, **members}))


def muse(home: Path, word: str) -> subprocess.CompletedProcess[str]:
    """`muse login` or `muse logout`."""
    command = [sys.executable, "-m", "adapter.hosts.simulated", "--data-dir", str(home), word]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)


def error(host: SimHost, session: str, prompt: str = "hello") -> Json | None:
    """How a turn failed, None if it did not."""
    found: Json | None = host.turn(session, prompt)[-1]["params"].get("error")
    return found


@pytest.mark.parametrize("version", PROFILES)
def test_without_a_login_turns_fail_and_sessions_open(tmp_path: Path, version: str) -> None:
    settings(tmp_path)
    with sim_host(tmp_path, version) as host:
        host.handshake()
        session = host.start()
        frames = host.turn(session, "hello")
        (ended,) = params_of(frames, "turn/completed")
        assert ended["terminal"] == "failed"
        assert ended["error"]["kind"] == ("modelError" if version in ("1.0.1", "1.1.1") else "authRequired")
        assert not params_of(frames, "item/delta")


def test_a_login_reaches_a_host_that_runs_and_a_logout_too(tmp_path: Path) -> None:
    settings(tmp_path)
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        assert error(host, session)
        assert muse(tmp_path, "login").returncode == 0
        assert stat.S_IMODE((tmp_path / "credentials.json").stat().st_mode) == 0o600
        assert error(host, session) is None
        for _ in range(2):
            assert muse(tmp_path, "logout").returncode == 0
        assert error(host, session)


def test_a_host_that_looks_once_needs_a_restart(tmp_path: Path) -> None:
    settings(tmp_path, loginReadOnce=True)
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        muse(tmp_path, "login")
        assert error(host, session)
    with sim_host(tmp_path) as host:
        host.handshake()
        host.command("session/resume", {"sessionId": session})
        muse(tmp_path, "logout")
        assert error(host, session) is None


def test_a_key_in_the_environment_is_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSE_SIMULATED_LOGIN", "required")
    with sim_host(tmp_path) as host:
        host.handshake()
        assert error(host, host.start())
    monkeypatch.setenv("META_API_KEY", "a key")
    with sim_host(tmp_path) as host:
        host.handshake()
        assert error(host, host.start()) is None


def test_a_login_can_be_needed_to_open_a_session(tmp_path: Path) -> None:
    settings(tmp_path, loginAt="session")
    muse(tmp_path, "login")
    with sim_host(tmp_path, strict=False) as host:
        host.handshake()
        session = host.start()
        muse(tmp_path, "logout")
        for method, params in (("session/start", {}), ("session/resume", {"sessionId": session})):
            command_id = host.command_id()
            with pytest.raises(Refused) as caught:
                host.command(method, params, command_id)
            assert (caught.value.code, caught.value.kind) == (-32603, "authRequired")
            muse(tmp_path, "login")
            assert host.command(method, params, command_id)["session"], "the same command may come again"
            muse(tmp_path, "logout")


def test_a_login_that_expires_is_gone_until_the_next_one(tmp_path: Path) -> None:
    muse(tmp_path, "login")
    with sim_host(tmp_path) as host:
        host.handshake()
        session = host.start()
        frames = host.turn(session, "expire")
        assert len(params_of(frames, "item/delta")) == 2
        assert frames[-1]["params"]["error"]["kind"] == "authRequired"
        assert error(host, session)
        muse(tmp_path, "login")
        assert error(host, session) is None


def test_a_login_that_is_refused_says_so_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSE_SIMULATED_LOGIN_FAILS", "1")
    done = muse(tmp_path, "login")
    assert done.returncode == 1
    assert "refused" in done.stderr
    assert not (tmp_path / "credentials.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_a_login_waits_for_its_user(tmp_path: Path) -> None:
    parent, child = os.openpty()
    command = [sys.executable, "-m", "adapter.hosts.simulated", "--data-dir", str(tmp_path), "login"]
    with subprocess.Popen(command, stdin=child, stdout=child, stderr=child) as process:
        shown, _, _ = select.select([parent], [], [], 20)
        assert shown, "nothing was asked"
        assert b"press Enter" in os.read(parent, 1000)
        assert not (tmp_path / "credentials.json").exists()
        os.write(parent, b"\n")
        assert process.wait(20) == 0
    os.close(parent)
    os.close(child)
    assert (tmp_path / "credentials.json").exists()
