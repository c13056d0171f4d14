"""Faults of the machine: no thread to be had, no home, a Muse that vanishes, comes back, or is replaced."""

from __future__ import annotations

import logging
import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from adapter.cli.logs import StderrHandler
from adapter.cli.options import GlobalOptions, host_choice
from adapter.hosts.simulated.options import default_data_dir
from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from host_probe import probe_version
from tests.adapter_process import COMMAND, AdapterProcess, Json, running_adapter
from tests.faults.ending import end
from tests.faults.hosts_that_die import Dies
from tests.processes import assert_gone
from tests.scripted_hosts import ROOT, Placed, ScriptedHost, place
from tests.wired import PATIENCE

ENVIRON: Final = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
MOST_RESTARTS: Final = 5

# -- no thread


@contextmanager
def no_threads() -> Iterator[None]:
    """What a process meets whose user may have no more of them."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        yield


# Not by the plugin for tests of this kind: what runs trio for it needs threads.
on_both = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@on_both
def test_a_host_is_started_and_ended_without_a_thread(tmp_path: Path, backend: str) -> None:
    placed = place(tmp_path, ScriptedHost)

    async def start_and_end() -> None:
        host = Host(HostCommand([placed.muse, "serve"], ENVIRON), "1")
        with anyio.fail_after(PATIENCE), no_threads():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.run)
                assert (await host.ready()).server_name == "scripted-host"
                await host.close()

    anyio.run(start_and_end, backend=backend)
    assert_gone(placed.pids())


@on_both
def test_a_version_that_no_thread_can_wait_for_is_not_known(tmp_path: Path, backend: str) -> None:
    placed = place(tmp_path, ScriptedHost)

    async def ask() -> None:
        with anyio.fail_after(PATIENCE), no_threads():
            probe = await probe_version([placed.muse], environ=ENVIRON)
        assert probe.problem in (None, "spawnFailed")

    anyio.run(ask, backend=backend)
    assert_gone(placed.pids())


def test_what_is_logged_while_there_is_no_thread_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    handler, start = StderrHandler(), threading.Thread.start
    line = logging.LogRecord("adapter.tests", logging.WARNING, __file__, 1, "said", (), None)
    refused: list[Any] = []

    def refuse(self: threading.Thread) -> None:
        refused.append(self)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    handler.emit(line)
    handler.emit(line)
    assert len(refused) == 2, "each line tries"
    monkeypatch.setattr(threading.Thread, "start", start)
    handler.emit(line)
    handler.close()


# -- no home


def test_a_user_without_a_home_can_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "MUSE_SIMULATED_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert host_choice(GlobalOptions()).home == Path("/")
    assert default_data_dir() == Path("/.local/share/muse-simulated")


# -- no Muse


def test_nothing_is_kept_in_a_folder_that_this_happens_to_run_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "somewhere")
    assert host_choice(GlobalOptions()).home == Path("/")


def reason(answer: Json) -> Any:
    return answer["error"]["data"]["reason"] if "error" in answer else answer["result"]["stopReason"]


def ask(adapter: AdapterProcess, session_id: str) -> Any:
    return reason(adapter.response(adapter.begin_prompt(session_id, "go")))


def kill_host(adapter: AdapterProcess, placed: Placed) -> None:
    os.kill(placed.pids("serve.pids")[-1], signal.SIGKILL)
    assert_gone(placed.pids("serve.pids"))


def test_a_muse_that_was_away_for_a_while_is_used_when_it_is_back(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", ScriptedHost)
    muse, away = Path(placed.muse), Path(placed.muse).with_name("away")
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        muse.rename(away)
        kill_host(adapter, placed)
        reasons = [ask(adapter, session_id) for _ in range(MOST_RESTARTS + 2)]
        assert set(reasons[1:]) == {"museNotFound"} and reasons[0] in ("museNotFound", "hostDied")
        away.rename(muse)
        assert ask(adapter, session_id) == "end_turn"
        end(adapter, placed)


def test_another_muse_is_not_held_to_how_often_the_last_one_died(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Dies, at="session/start", deaths=100)
    asked = {"cwd": str(tmp_path), "mcpServers": []}
    with running_adapter(tmp_path, muse=placed.muse) as adapter:
        adapter.initialize()
        for _ in range(3):
            assert adapter.refused("session/new", asked)["data"]["reason"] == "hostDied"
        assert adapter.refused("session/new", asked)["data"]["reason"] == "hostRestartLimit"
        place(tmp_path / "host", ScriptedHost)
        assert ask(adapter, adapter.new_session(tmp_path)) == "end_turn"
        end(adapter, placed)


# -- no place to remember anything


def a_folder_for_the_file(cache: Path) -> None:
    (cache / "muse-adapter" / "versions.json").mkdir(parents=True)


def a_file_for_the_folder(cache: Path) -> None:
    cache.mkdir()
    (cache / "muse-adapter").write_text("not a folder\n")


def a_device_for_the_cache(cache: Path) -> None:
    cache.symlink_to(os.devnull)


def a_loop_of_links(cache: Path) -> None:
    cache.mkdir()
    (cache / "muse-adapter").symlink_to(cache / "muse-adapter")


def half_a_file(cache: Path) -> None:
    (cache / "muse-adapter").mkdir(parents=True)
    (cache / "muse-adapter" / "versions.json").write_bytes(b'{"format":2,"entries":[{"identity":{"real_path":"/')


@pytest.mark.parametrize(
    "damage",
    [a_folder_for_the_file, a_file_for_the_folder, a_device_for_the_cache, a_loop_of_links, half_a_file],
)
def test_whatever_stands_where_the_cache_should_be_costs_nothing(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    cache = tmp_path / "cache"
    damage(cache)
    placed = place(tmp_path / "host", ScriptedHost)
    with running_adapter(tmp_path, muse=placed.muse, env={"XDG_CACHE_HOME": str(cache)}) as adapter:
        adapter.initialize()
        assert ask(adapter, adapter.new_session(tmp_path)) == "end_turn"
        end(adapter, placed)


FULL_DISK: Final = """
import logging, resource, sys
from pathlib import Path
from host_probe import VersionCache, identify, parse_version
logging.basicConfig()
resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
identity = identify([sys.executable], {})
VersionCache(Path(sys.argv[1])).put(identity, parse_version("Muse Code 1.2.1", ""))
"""


def test_a_full_disk_leaves_no_half_of_a_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, timeout=PATIENCE, check=True)
    assert b"is not remembered" in done.stderr and b"Traceback" not in done.stderr
    assert list((tmp_path / "cache").iterdir()) == []


# -- what whoever starts us does about signals


def left_with(signals: str) -> list[str]:
    """The adapter's command, started by somebody who does this first."""
    start = "import os, sys; from signal import *; {}; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    return [sys.executable, "-c", start.format(signals), *COMMAND[1:]]


def test_how_a_host_ended_is_known_where_nobody_wants_to_hear_of_children(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Dies, at="turn/start", deaths=2)
    with running_adapter(tmp_path, muse=placed.muse, command=left_with("signal(SIGCHLD, SIG_IGN)")) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        error = adapter.response(adapter.begin_prompt(session_id, "go"))["error"]
        assert "exit 9" in error["data"]["details"]
        assert ask(adapter, session_id) == "end_turn"
        assert b"asyncio" not in adapter.stderr, adapter.stderr.decode()
        end(adapter, placed)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_that_was_blocked_before_stops(tmp_path: Path, signum: signal.Signals) -> None:
    placed = place(tmp_path / "host", ScriptedHost)
    blocked = left_with("pthread_sigmask(SIG_BLOCK, [SIGTERM, SIGINT, SIGHUP])")
    with running_adapter(tmp_path, muse=placed.muse, command=blocked) as adapter:
        adapter.initialize()
        adapter.new_session(tmp_path)
        adapter.process.send_signal(signum)
        assert adapter.wait_exit() == 0
        assert_gone(placed.pids())


# -- nobody to tell

WITHOUT_STDERR: Final = "import os, sys; os.close(2); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
WITH_A_FULL_STDERR: Final = """
import contextlib, os, sys
read, write = os.pipe()
os.set_blocking(write, False)
with contextlib.suppress(BlockingIOError):
    while True:
        os.write(write, b"x" * 4096)
os.set_blocking(write, True)
os.dup2(write, 2)
# Nobody ever reads, and the pipe does not break.
os.set_inheritable(read, True)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize("stderr", [WITHOUT_STDERR, WITH_A_FULL_STDERR], ids=["closed", "full"])
def test_a_log_that_goes_nowhere_holds_nothing_up(tmp_path: Path, stderr: str) -> None:
    placed = place(tmp_path / "host", Dies, at="turn/start", deaths=2)
    command = [sys.executable, "-c", stderr, *COMMAND[1:]]
    with running_adapter(tmp_path, "--log-level", "debug", muse=placed.muse, command=command) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.write(b"no JSON\n" * 5000)
        assert ask(adapter, session_id) == "hostDied"
        assert ask(adapter, session_id) == "end_turn"
        end(adapter, placed)
