"""Faults of group N: starting a host, its environment, and the folders of sessions."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from adapter.bridge.hosts.host_choice import NESTED_MARKERS
from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.hosts_odd_to_launch import FromTheFuture, OddVersion, ShowsItsSurroundings, SlowToStart
from tests.processes import assert_gone, descendants, proc, running, wait_until
from tests.scripted_hosts import Placed, ScriptedHost, place

END_TURN: Final[Json] = {"stopReason": "end_turn"}
NESTED: Final = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
SHORT_PATH: Final = {"PATH": "/usr/bin:/bin"}


def end(adapter: AdapterProcess, *placed: Placed) -> None:
    """The adapter ends well, what it wrote is right, and nothing of it is left."""
    pids = [row.pid for row in descendants(adapter.process.pid)]
    assert adapter.finish() == 0
    assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
    assert_gone([*pids, *(pid for host in placed for pid in host.pids())])


def new_session_error(adapter: AdapterProcess, cwd: Any) -> Json:
    return adapter.refused("session/new", {"cwd": str(cwd) if isinstance(cwd, Path) else cwd, "mcpServers": []})


def script(path: Path, text: str) -> str:
    """An executable of this text."""
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


# -- N1

SURROUNDINGS: Final = {
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "C.UTF-8",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "no_proxy": "localhost",
    "META_API_KEY": "demo-key-123456",
    "SSH_AUTH_SOCK": "/run/demo",
    "ORCHARD_EXTRA": "naïve ✓",
}


def test_n1_host_has_the_whole_environment(tmp_path: Path) -> None:
    host = place(tmp_path / "host", ShowsItsSurroundings)
    with running_adapter(tmp_path, muse=host.muse, env=SURROUNDINGS) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        seen = json.loads((host.directory / "environment").read_text())
        expected = SURROUNDINGS | {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        assert {name: seen.get(name) for name in expected} == expected
        end(adapter, host)
        assert b"demo-key-123456" not in adapter.stderr


def test_n1_host_has_no_descriptor_of_ours(tmp_path: Path) -> None:
    proc()  # in which the host looks
    host = place(tmp_path / "host", ShowsItsSurroundings)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        seen: dict[str, str] = json.loads((host.directory / "descriptors").read_text())
        assert sorted(seen) == ["0", "1", "2"]
        assert all(what.startswith("pipe:") for what in seen.values()) and len(set(seen.values())) == 3
        end(adapter, host)


# -- N7


class RefusesToNest(ShowsItsSurroundings):
    """Starts, and says its version, only where no mark of a nested run is."""

    def main(self) -> None:
        if os.environ.keys() & NESTED:
            sys.exit("cannot run inside another session")
        super().main()


def test_n7_the_marks_of_a_nested_run_do_not_reach_a_host(tmp_path: Path) -> None:
    host = place(tmp_path / "host", RefusesToNest)
    passed = {"CLAUDE_CODE_ENTRYPOINTS": "x", "MUSE_SIMULATED_WITNESS": "y", "EDITOR": "z"}
    with running_adapter(tmp_path, muse=host.muse, env=NESTED | passed) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        seen = json.loads((host.directory / "environment").read_text())
        assert not seen.keys() & NESTED
        assert {name: seen.get(name) for name in passed} == passed, "everything else does"
        assert host.pids("version.pids"), "nor do they reach a probe"
        end(adapter, host)


def test_n7_the_marks_are_listed_for_users() -> None:
    document = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    listed = document.split("whose mark")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", listed, re.M)) == set(NESTED) == NESTED_MARKERS


# -- N2


@pytest.mark.parametrize("place_of_it", [".local/bin", ".muse/bin", "bin"])
def test_n2_short_path_and_a_usual_place(tmp_path: Path, place_of_it: str) -> None:
    host = place(tmp_path / place_of_it, ScriptedHost)
    with running_adapter(tmp_path, muse=None, env=SHORT_PATH) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        end(adapter, host)


@pytest.mark.parametrize("how", ["option", "variable"])
def test_n2_short_path_and_an_override(tmp_path: Path, how: str) -> None:
    host = place(tmp_path / "some where", ScriptedHost)
    env = SHORT_PATH | ({"MUSE_EXECUTABLE": host.muse} if how == "variable" else {})
    with running_adapter(tmp_path, muse=host.muse if how == "option" else None, env=env) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        end(adapter, host)


@pytest.mark.parametrize(
    "env",
    [SHORT_PATH, {"PATH": ":".join(f"/srv/demo/a-rather-long-folder-name/{n}/bin" for n in range(60))}],
    ids=["short", "long"],
)
def test_n2_nothing_there_lists_what_was_tried(tmp_path: Path, env: dict[str, str]) -> None:
    with running_adapter(tmp_path, muse=None, env=env) as adapter:
        adapter.initialize()
        error = new_session_error(adapter, tmp_path)
        assert error["data"]["reason"] == "museNotFound"
        details = error["data"]["details"]
        assert f"{env['PATH'].partition(':')[0]}/muse" in details
        assert "--muse" in details and "MUSE_EXECUTABLE" in details and "simulated" in details
        end(adapter)


@pytest.mark.parametrize("spec", ["/srv/demo/none/muse", "no-such-muse", "simulated:9.9.9", "recorded:", "recorded:/x"])
def test_n2_what_was_asked_for_is_not_there(tmp_path: Path, spec: str) -> None:
    with running_adapter(tmp_path, muse=spec) as adapter:
        adapter.initialize()
        for _ in range(2):
            assert new_session_error(adapter, tmp_path)["data"]["reason"] in {"museNotFound", "hostStartFailed"}
        end(adapter)


# -- N3, N4


@pytest.mark.acp(42)
def test_n3_folder_that_cannot_be_used(tmp_path: Path) -> None:
    file, link, loop = tmp_path / "file", tmp_path / "link", tmp_path / "loop"
    file.touch()
    link.symlink_to(tmp_path / "gone")
    loop.symlink_to(loop)
    reasons = {
        tmp_path / "none": "does not exist",
        file: "is not a directory",
        file / "below": "does not exist",
        link: "does not exist",
        loop: "cannot be used",
    }
    if os.geteuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0)
        reasons[closed] = "no permission"
    host = place(tmp_path / "host", ScriptedHost)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        for folder, reason in reasons.items():
            error = new_session_error(adapter, folder)
            assert error["code"] == -32602
            assert str(folder) in error["data"]["details"] and reason in error["data"]["details"]
        assert not host.received("session/start")
        adapter.new_session(tmp_path)
        end(adapter, host)


@pytest.mark.acp(43)
def test_n3_the_folder_of_the_adapter_itself_is_gone(tmp_path: Path) -> None:
    host = place(tmp_path / "host", ScriptedHost)
    home = tmp_path / "home"
    home.mkdir()
    with running_adapter(home, muse=host.muse) as adapter:
        home.rmdir()
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        end(adapter, host)


@pytest.mark.acp(42)
def test_n4_relative_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "orchard").mkdir()
    host = place(tmp_path / "host", ScriptedHost)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        for cwd in (".", "orchard", "./orchard", "", "~", "~/orchard", "..", None, 1, [str(tmp_path)]):
            error = new_session_error(adapter, cwd)
            assert (error["code"], error["data"]["field"]) == (-32602, "cwd")
        assert adapter.refused("session/new", {"mcpServers": []})["code"] == -32602
        adapter.new_session(tmp_path)
        assert len(host.received("session/start")) == 1
        end(adapter, host)


# -- N5


@pytest.mark.parametrize("spelling", ["link", "link/", "link/../link", "real"])
def test_n5_symlinked_folder_keeps_its_spelling(tmp_path: Path, spelling: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cwd = f"{tmp_path}/{spelling}"
    host = place(tmp_path / "host", ScriptedHost)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.call("session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
        assert [frame["params"]["workspaceRoot"] for frame in host.received("session/start")] == [cwd]
        assert adapter.prompt(session_id, "hello") == END_TURN
        end(adapter, host)


def test_n5_an_edit_in_a_symlinked_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(link), "edit") == END_TURN
        cards = [update for update in adapter.updates() if update.get("locations")]
        assert {place["path"] for card in cards for place in card["locations"]} == {f"{link}/src/main.rs"}
        end(adapter)


# -- N8


@pytest.mark.parametrize(
    ("settings", "known"),
    [
        ({"says": "Welcome to Muse!\n\nMuse Code 1.4.0 (1.4.0-R3057.1)\n"}, True),
        ({"complains": "Muse Code 1.4.0\n"}, True),
        ({"says": "1.4.0-R3057.1 (x)\n"}, True),
        ({"says": "Muse Code 1.4.0\n", "leaves_child": True}, True),
        ({"code": 1}, False),
        ({"says": "no idea\n"}, False),
        ({"bytes": 4_000_000}, False),
    ],
    ids=["banner", "stderr", "build", "child", "exit 1", "words", "flood"],
)
def test_n8_odd_version_is_no_stop(tmp_path: Path, settings: dict[str, Any], known: bool) -> None:
    host = place(tmp_path / "host", OddVersion, **settings)
    with running_adapter(tmp_path, "--log-level", "info", muse=host.muse) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        note = b"is 1.4.0" if known else b"is not known"
        found = b"1.4.0" if known else note
        wait_until(lambda: found in adapter.stderr)
        assert adapter.stderr.count(b"is not known") == (not known)
        end(adapter, host)


def test_n8_doubt_about_the_version_is_told_once(tmp_path: Path) -> None:
    host = place(tmp_path / "host", OddVersion, code=1)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        for _ in range(3):
            adapter.new_session(tmp_path)
            wait_until(lambda: len(host.pids("version.pids")) == len(host.pids("serve.pids")))
            wait_until(lambda: b"is not known" in adapter.stderr)
            os.kill(host.pids("serve.pids")[-1], signal.SIGKILL)
            wait_until(lambda: not adapter.children())
        assert len(host.pids("version.pids")) == 3
        end(adapter, host)
        assert adapter.stderr.count(b"is not known") == 1


def test_n8_hanging_version_delays_nothing(tmp_path: Path) -> None:
    host = place(tmp_path / "host", OddVersion, hangs=True, leaves_child=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        wait_until(lambda: bool(host.pids("child.pids")))
        assert running(host.pids("version.pids")), "it has been waited for"
        end(adapter, host)


def test_n8_hanging_version_costs_the_offer_and_not_the_start(tmp_path: Path) -> None:
    host = place(tmp_path / "host", OddVersion, says="Muse Code 1.2.1 (1.2.1-R2847.1)\n", hangs=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        assert "muse/output" not in str(adapter.frames[0]["result"])
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        end(adapter, host)


# -- N9


def test_n9_newer_host_works_with_one_note(tmp_path: Path) -> None:
    host = place(tmp_path / "host", FromTheFuture)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        for _ in range(2):
            session_id = adapter.new_session(tmp_path)
            assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.text() == "from the future" * 2
        end(adapter, host)
        lines = adapter.stderr.splitlines()
        assert len(lines) == 1 and b"99.1.0" in lines[0], lines


@pytest.mark.parametrize(("level", "told"), [("warning", 0), ("info", 1)])
def test_n9_a_schema_that_is_not_known_is_no_warning(tmp_path: Path, level: str, told: int) -> None:
    host = place(tmp_path / "host", ScriptedHost, fingerprint="sha256:0")
    with running_adapter(tmp_path, "--log-level", level, muse=host.muse) as adapter:
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello") == END_TURN
        end(adapter, host)
        assert adapter.stderr.count(b"the schema of host version 1.4.13 is not known") == told
        assert b"WARNING" not in adapter.stderr


# -- N10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\nexec sleep 600\n", "hostStartTimeout"),
        ("#!/bin/sh\nsleep 600\n", "hostStartTimeout"),
        ("#!/bin/sh\ntrap '' TERM\nsleep 600 & wait; sleep 600\n", "hostStartTimeout"),
        ("#!/bin/sh\nexec cat\n", "hostStartFailed"),
        ("#!/bin/sh\nexec true\n", "hostStartFailed"),
        ("#!/bin/sh\nexec false\n", "hostStartFailed"),
        ("#!/bin/sh\nsleep 600 & exit 3\n", "hostStartFailed"),
        ("#!/srv/demo/no-such-interpreter\n", "hostStartFailed"),
        ("\x7fELF", "hostStartFailed"),
    ],
    ids=["sleep", "wrapper", "stubborn", "echo", "exits", "fails", "leaves a child", "no interpreter", "no program"],
)
def test_n10_host_never_becomes_ready(tmp_path: Path, text: str, reason: str) -> None:
    muse = script(tmp_path / "muse", text)
    with running_adapter(tmp_path, "--startup-timeout", "1", muse=muse) as adapter:
        adapter.initialize()
        started = {row.pid for row in descendants(adapter.process.pid)}
        for _ in range(2):
            error = new_session_error(adapter, tmp_path)
            assert error["data"]["reason"] == reason
            assert muse in error["data"]["details"]
            started |= {row.pid for row in descendants(adapter.process.pid)}
        assert_gone(started)
        wait_until(lambda: not descendants(adapter.process.pid))
        end(adapter)


# -- N11


@pytest.mark.acp(25, 68, 78)
def test_n11_initialize_waits_for_no_host(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    host = place(tmp_path / "host", SlowToStart, gate=str(gate))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        waiting = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        taken_back = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        adapter.notify("$/cancel_request", {"requestId": taken_back})
        assert adapter.response(taken_back)["error"]["code"] == -32800
        assert new_session_error(adapter, ".")["code"] == -32602
        assert not any(frame.get("id") == waiting for frame in adapter.frames)
        gate.unlink()
        session_id = adapter.response(waiting)["result"]["sessionId"]
        assert adapter.prompt(session_id, "hello") == END_TURN
        assert len(host.received("session/start")) == 1
        end(adapter, host)


def test_n11_input_ends_before_the_host_is_there(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    host = place(tmp_path / "host", SlowToStart, gate=str(gate))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        waiting = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        adapter.close_input()
        assert "error" in adapter.response(waiting)
        end(adapter, host)
