"""`additionalDirectories`: the folders a session may work in beside its own, on hosts that take several."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import error_of, stored
from tests.processes import wait_until
from tests.screens import VERSIONS

SEVERAL = ["1.4.2", "1.4.13"]
each_that_can = pytest.mark.parametrize("version", SEVERAL)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])


def folders(home: Path, *names: str) -> list[Path]:
    for name in names:
        (home / name).mkdir()
    return [home / name for name in names]


def asking(cwd: Path, *more: Path | str, **members: str) -> Json:
    return {"cwd": str(cwd), "mcpServers": [], "additionalDirectories": [str(path) for path in more], **members}


def roots(adapter: AdapterProcess, session_id: str) -> list[str]:
    """The folders that the host has for the session."""
    start = len(adapter.text(session_id))
    assert adapter.prompt(session_id, "roots")["stopReason"] == "end_turn"
    return adapter.text(session_id)[start:].splitlines()


@pytest.mark.acp(50)
@each_that_can
def test_a_new_session_has_the_folders_it_was_given(tmp_path: Path, version: str) -> None:
    cwd, one, two = folders(tmp_path, "cwd", "one", "two")
    link = tmp_path / "link"
    link.symlink_to(two)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        offered = adapter.initialize()["agentCapabilities"]["sessionCapabilities"]
        assert offered["additionalDirectories"] == {}
        alone = adapter.call("session/new", asking(cwd))["sessionId"]
        several = adapter.call("session/new", asking(cwd, one, link))["sessionId"]
        assert roots(adapter, alone) == [str(cwd)]
        assert roots(adapter, several) == [str(cwd), str(one), str(two)], "a link is what it leads to"
        assert roots(adapter, several) == [str(cwd), str(one), str(two)]
        assert adapter.finish() == 0


@pytest.mark.acp(50)
@each_way
@each_that_can
def test_an_opened_session_has_exactly_the_folders_of_the_request(tmp_path: Path, version: str, method: str) -> None:
    cwd, one, two = folders(tmp_path, "cwd", "one", "two")
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", asking(cwd, one))["sessionId"]
        assert roots(adapter, session_id) == [str(cwd), str(one)]
        for more in ([two], [], [one, two]):
            adapter.call(method, asking(cwd, *more, sessionId=session_id))
            for _ in range(2):
                assert roots(adapter, session_id) == [str(cwd), *map(str, more)]
        copy = adapter.call("session/fork", asking(cwd, two, sessionId=session_id))["sessionId"]
        assert roots(adapter, copy) == [str(cwd), str(two)]
        assert roots(adapter, session_id) == [str(cwd), str(one), str(two)]
        assert adapter.finish() == 0


@each_that_can
def test_a_folder_reached_by_a_link_goes_with_others(tmp_path: Path, version: str) -> None:
    cwd, one = folders(tmp_path, "cwd", "one")
    link = tmp_path / "link"
    link.symlink_to(cwd)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", asking(link))["sessionId"]
        adapter.prompt(session_id, "hello")
        adapter.call("session/resume", asking(link, one, sessionId=session_id))
        assert roots(adapter, session_id)[1:] == [str(one)]
        assert adapter.finish() == 0


def test_folders_are_kept_when_the_host_dies(tmp_path: Path) -> None:
    cwd, one = folders(tmp_path, "cwd", "one")
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", asking(cwd, one))["sessionId"]
        assert roots(adapter, session_id) == [str(cwd), str(one)]
        wait_until(lambda: len(adapter.children()) == 1)
        (host,) = adapter.children()
        os.kill(host, signal.SIGKILL)
        wait_until(lambda: host not in adapter.children())
        assert roots(adapter, session_id) == [str(cwd), str(one)]
        assert adapter.finish() == 0


@pytest.mark.acp(50)
@each_that_can
def test_one_bad_folder_refuses_the_request_and_nothing_is_made(tmp_path: Path, version: str) -> None:
    cwd, one = folders(tmp_path, "cwd", "one")
    (tmp_path / "file").touch()
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        for bad in ("", "one", ".", "~", str(tmp_path / "none"), str(tmp_path / "file"), f"{one}/../one", str(cwd)):
            code, data = error_of(adapter.refused("session/new", asking(cwd, one, bad)))
            assert (code, data["field"]) == (-32602, "additionalDirectories[1]"), bad
        assert adapter.call("session/list", {}) == {"sessions": []}
        assert adapter.finish() == 0


@pytest.mark.acp(29, 50)
@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in SEVERAL])
def test_a_host_with_one_folder_refuses_more_and_never_drops_them(tmp_path: Path, version: str) -> None:
    cwd, one = folders(tmp_path, "cwd", "one")
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        assert "additionalDirectories" not in adapter.initialize()["agentCapabilities"]["sessionCapabilities"]
        code, data = error_of(adapter.refused("session/new", asking(cwd, one)))
        assert (code, data["field"]) == (-32602, "additionalDirectories")
        session_id = adapter.call("session/new", asking(cwd))["sessionId"]
        adapter.prompt(session_id, "hello")
        for method in ("session/load", "session/resume", "session/fork"):
            code, data = error_of(adapter.refused(method, asking(cwd, one, sessionId=session_id)))
            assert (code, data["field"]) == (-32602, "additionalDirectories")
        adapter.call("session/resume", stored(session_id, cwd))
        assert adapter.finish() == 0
