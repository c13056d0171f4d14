"""A session whose mode is changed goes to a host of another kind, and no other session loses anything by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import AdapterProcess, running_adapter
from tests.processes import wait_until

RESTRICTED = ("--disable-write", "--disable-shell")


def kinds(adapter: AdapterProcess) -> list[bool]:
    """The hosts that serve, each as whether it is a restricted one."""
    found = []
    for pid in adapter.children():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        if "serve" in words and "--help" not in words:
            found.append(all(flag in words for flag in RESTRICTED))
    return sorted(found)


def set_mode(adapter: AdapterProcess, session_id: str, mode: str) -> None:
    adapter.call("session/set_mode", {"sessionId": session_id, "modeId": mode})


def says(adapter: AdapterProcess, session_id: str, text: str) -> str:
    """What is answered to a prompt that must not fail."""
    before = len(adapter.text(session_id))
    assert adapter.prompt(session_id, text)["stopReason"] == "end_turn"
    return adapter.text(session_id)[before:]


@pytest.mark.acp(98)
@pytest.mark.parametrize("version", PROFILES)
def test_a_session_goes_to_the_other_host_and_comes_back(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        says(adapter, session_id, "hello there")
        set_mode(adapter, session_id, "readOnly")
        assert kinds(adapter) == [False], "nothing happens before the next prompt"
        assert "hello there" in says(adapter, session_id, "recall")
        stays = version == "1.4.13"
        wait_until(lambda: kinds(adapter) == ([False, True] if stays else [True]))
        set_mode(adapter, session_id, "default")
        assert "hello there" in says(adapter, session_id, "recall")
        wait_until(lambda: kinds(adapter) == ([False, True] if stays else [False]))
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_other_sessions_lose_nothing(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        one, other = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        says(adapter, one, "the first")
        says(adapter, other, "the second")
        working = adapter.begin_prompt(other, "slow 2")
        adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))
        set_mode(adapter, one, "readOnly")
        prompt = adapter.response(adapter.begin_prompt(one, "recall"))
        if version == "1.2.1":
            assert prompt["error"]["data"]["reason"] == "hostBusy"
            assert (prompt["error"]["code"], prompt["error"]["data"]["retryable"]) == (-32600, True)
        else:
            assert prompt["result"]["stopReason"] == "end_turn"
        assert adapter.response(working)["result"]["stopReason"] == "end_turn", "what ran was left alone"
        assert "the first" in says(adapter, one, "recall")
        assert "the second" in says(adapter, other, "recall")
        wait_until(lambda: kinds(adapter) == [False, True])
        assert adapter.finish() == 0


def test_a_session_that_is_at_work_itself_is_not_moved(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        working = adapter.begin_prompt(session_id, "slow 1")
        adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))
        set_mode(adapter, session_id, "readOnly")
        assert adapter.response(working)["result"]["stopReason"] == "end_turn"
        assert kinds(adapter) == [False]
        says(adapter, session_id, "hello")
        wait_until(lambda: kinds(adapter) == [True])
        assert adapter.finish() == 0
