"""What is ended when the process that started it is killed, and by whom; real processes, really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.processes import GONE_SECONDS, assert_gone, descendants, is_guardian, running, table, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="marks are read where there is /proc")

ROOT = Path(__file__).resolve().parents[2]

SURVIVAL_SECONDS = 5.0
"""Nothing may live longer after its adapter was killed."""

PROGRAM = """
import os, sys, threading
import anyio
from pathlib import Path
from adapter.msp import guardian, process_mark, sweep
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from host_probe.brief_run import run_briefly
exec(sys.argv[1])

async def main():
    async with anyio.create_task_group() as tasks:
        await obey(tasks)

async def obey(tasks):
    process = None
    while line := await anyio.to_thread.run_sync(sys.stdin.readline):
        word, _, script = line.strip().partition(" ")
        command = ["/bin/sh", "-c", script]
        if word == "start":
            process = HostProcess.spawn(HostCommand(command, os.environ))
            said = await process.stdout.receive()
            print(said.decode().strip(), flush=True)
        elif word == "ask":
            tasks.start_soon(run_briefly, command, process_mark.with_mark(os.environ), 600)
            print("asked", flush=True)
        elif word == "tell":
            for began in range(int(script)):
                process_mark.guard().started(10**7, began)
                process_mark.guard().ended(10**7)
            print("told", flush=True)
        else:
            await process.end(0)
            process.close_pipes()
            print("ended", flush=True)

anyio.run(main)
"""
"""An adapter in small: starts hosts as it is told, asks a program, tells its guardian much, ends the last host, and
lets the others go when its input ends."""


class Starter:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pids: list[int] = []

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def start(self, script: str) -> list[int]:
        """Start a host whose first line names processes of it; their pids and its own are gone to be in the end."""
        before = {row.pid for row in table() if row.parent == self.process.pid}
        said = [int(word) for word in self.ask(f"start {script}").split()]
        host = {row.pid for row in table() if row.parent == self.process.pid and not is_guardian(row.pid)} - before
        self.pids += [*host, *said]
        return said

    def guardian(self) -> int:
        [pid] = [row.pid for row in table() if row.parent == self.process.pid and row.runs and is_guardian(row.pid)]
        return pid

    def kill(self, kill: Callable[[int, int], None] = os.kill) -> float:
        """Kill it; how long what it started lived on."""
        assert running(self.pids), "something must be there, or nothing is shown"
        kill(self.process.pid, signal.SIGKILL)
        began = time.monotonic()
        self.process.wait()
        assert_gone(self.pids)
        return time.monotonic() - began


def is_sleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"


@contextmanager
def starter(prepare: str = "", wrap: tuple[str, ...] = ()) -> Iterator[Starter]:
    process = subprocess.Popen(
        [*wrap, sys.executable, "-c", PROGRAM, prepare],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    made = Starter(process)
    try:
        yield made
    finally:
        process.kill()
        with process:
            pass
        for pid in made.pids:
            if running([pid]):
                os.kill(pid, signal.SIGKILL)


BARE_GROUP = (
    f'{sys.executable} -c \'import subprocess as s; print(s.Popen(["sleep", "600"], env={{}}, process_group=0).pid)\''
)
"""Prints what it starts in a group of its own, and in no session of its own, with nothing in its environment."""

STUBBORN = "trap '' TERM HUP; "

HOSTS = {
    "polite": "echo $$; exec cat",
    "deaf to the end of input": "echo $$; exec sleep 600",
    "stubborn": STUBBORN + "echo $$; sleep 600; true",
    "stopped": "echo $$; kill -STOP $$",
    "with a child": "sleep 600 & echo $!; exec cat",
    "with a stubborn child": "(trap '' TERM; exec sleep 600) & echo $!; exec cat",
    "with one in a session of its own": "setsid sleep 600 & echo $!; exec cat",
    "with a stubborn one in a session of its own": "(trap '' TERM; exec setsid sleep 600) & echo $!; exec cat",
    "with one that forgets where it comes from": "setsid sh -c 'env -i sleep 600; true' & echo $!; exec sleep 600",
    "that forgets where it comes from": "exec env -i sh -c 'echo $$; exec sleep 600'",
    "with a forgetful one in its group": "env -i sleep 600 & echo $!; exec cat",
    "with a forgetful one in its session": f"{BARE_GROUP}; exec cat",
    "that has ended before": "setsid sleep 600 & echo $!; exit 3",
    "behind a wrapper": "trap '' TERM; sh -c 'trap \"\" TERM; setsid sleep 600 & echo $$ $!; sleep 600; true'; true",
}


def test_f2_nothing_outlives_a_killed_adapter() -> None:
    with starter() as other, starter() as adapter:
        others = other.start(HOSTS["with one in a session of its own"])
        for script in HOSTS.values():
            adapter.start(script)
        guardian = adapter.guardian()
        # With its group: what is in that is no way out either.
        assert adapter.kill(os.killpg) < SURVIVAL_SECONDS
        assert_gone([guardian])
        assert len(running(others)) == 1, "what another adapter has started is left alone"


def test_a_host_has_a_moment_to_record_what_it_did(tmp_path: Path) -> None:
    with starter() as adapter:
        adapter.start(f"echo $$; cat; sleep 0.5; echo done > {tmp_path}/record")
        adapter.kill()
    assert (tmp_path / "record").read_text() == "done\n"


def test_the_guardian_ends_too_and_nothing_is_left_of_it() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        guardian = adapter.guardian()
        adapter.kill()
        assert_gone([guardian])


def test_the_guardian_holds_nothing_that_belongs_to_somebody_else() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        guardian = Path(f"/proc/{adapter.guardian()}")
        held = {fd.name: str(fd.readlink()) for fd in (guardian / "fd").iterdir()}
        assert held.pop("0").startswith("pipe:")
        assert held == {"1": "/dev/null", "2": "/dev/null"}
        assert str((guardian / "cwd").readlink()) == "/"
        variables = (guardian / "environ").read_bytes()
        assert variables and b"MUSE" not in variables


def test_the_guardian_is_not_asked_away() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        guardian = adapter.guardian()
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(guardian, signum)
        adapter.start(HOSTS["polite"])
        assert adapter.guardian() == guardian


def test_a_guardian_that_was_killed_is_replaced_with_the_next_host() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        first = adapter.guardian()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not running([first]))
        adapter.start(HOSTS["polite"])
        assert adapter.guardian() != first
        assert not any(row.pid == first for row in table()), "it is reaped"


@pytest.mark.parametrize("shell", ["/bin/sh", "/nowhere/sh"], ids=["shell", "Python"])
def test_f2_it_remembers_those_that_run_of_many_that_it_was_told_of(shell: str) -> None:
    with starter(f"guardian.SHELL = '{shell}'") as adapter:
        adapter.start(HOSTS["polite"])
        adapter.start(HOSTS["that forgets where it comes from"])
        assert adapter.ask("tell 2000") == "told\n"
        assert adapter.kill() < SURVIVAL_SECONDS


def test_f2_what_is_asked_briefly_is_known_too() -> None:
    with starter() as adapter:
        assert adapter.ask("ask exec env -i sleep 600") == "asked\n"
        wait_until(lambda: any(is_sleep(row.pid) for row in descendants(adapter.process.pid)))
        adapter.pids += [row.pid for row in descendants(adapter.process.pid)]
        assert adapter.kill() < SURVIVAL_SECONDS


def test_f2_no_word_is_lost_on_a_guardian_that_does_not_listen() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        guardian = adapter.guardian()
        os.kill(guardian, signal.SIGSTOP)
        assert adapter.ask("tell 20000") == "told\n", "the pipe is full now"
        adapter.start(HOSTS["that forgets where it comes from"])
        os.kill(guardian, signal.SIGCONT)
        wait_until(lambda: any(row.pid == guardian and row.state == "S" for row in table()))
        adapter.start(HOSTS["polite"])
        assert adapter.kill() < SURVIVAL_SECONDS


def test_a_killed_guardian_is_replaced_with_the_end_of_a_host_as_well() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["that forgets where it comes from"])
        adapter.start(HOSTS["polite"])
        first = adapter.guardian()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not running([first]))
        assert adapter.ask("end") == "ended\n"
        assert adapter.guardian() != first
        assert adapter.kill() < SURVIVAL_SECONDS


def test_a_killed_guardian_is_not_replaced_when_the_last_host_has_ended() -> None:
    with starter() as adapter:
        adapter.start(HOSTS["polite"])
        first = adapter.guardian()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: not running([first]))
        assert adapter.ask("end") == "ended\n"
        assert not any(row.parent == adapter.process.pid and row.runs for row in table())
        adapter.start(HOSTS["polite"])
        assert adapter.guardian() != first
        assert adapter.kill() < SURVIVAL_SECONDS


def test_a_stopped_guardian_is_no_way_out_of_an_orderly_end() -> None:
    with starter() as adapter:
        adapter.start("echo $$")
        guardian = adapter.guardian()
        os.kill(guardian, signal.SIGSTOP)
        assert adapter.process.stdin is not None
        adapter.process.stdin.close()
        assert adapter.process.wait(GONE_SECONDS) == 0
        assert not any(row.pid == guardian for row in table())


@pytest.fixture
def host_with_an_adapter(tmp_path: Path) -> str:
    """A host that runs an adapter, whose host has started something that only the mark of that adapter shows."""
    (tmp_path / "inner.py").write_text(PROGRAM)
    inner = '(trap "" TERM; setsid sleep 600 & echo $!); exec cat'
    return (
        f"(echo '\\''start {inner}'\\''; exec sleep 600) | PYTHONPATH={ROOT} {sys.executable} {tmp_path}/inner.py ''"
    ).replace("'\\''", "'")


def test_f2_an_adapter_below_a_host_leaves_nothing_when_that_is_ended(host_with_an_adapter: str) -> None:
    with starter() as adapter:
        [stray] = adapter.start(host_with_an_adapter)
        assert stray not in {row.pid for row in descendants(adapter.process.pid)}
        assert running([stray])
        assert adapter.ask("end") == "ended\n"
        assert not running([stray])


def test_f2_an_adapter_below_a_host_leaves_nothing_when_all_is_killed(host_with_an_adapter: str) -> None:
    with starter() as adapter:
        [stray] = adapter.start(host_with_an_adapter)
        assert running([stray])
        assert adapter.kill() < SURVIVAL_SECONDS


def test_without_a_shell_it_waits_as_python() -> None:
    with starter("guardian.SHELL = '/nowhere/sh'; guardian.NAME = 'none'") as adapter:
        [host] = adapter.start(HOSTS["stubborn"])
        others = [row.pid for row in table() if row.parent == adapter.process.pid and row.pid != host]
        assert [Path(f"/proc/{pid}/comm").read_text() for pid in others] == [
            Path(f"/proc/{adapter.process.pid}/comm").read_text()
        ]
        assert adapter.kill() < SURVIVAL_SECONDS
        assert_gone(others)


def test_without_proc_it_ends_the_groups() -> None:
    with starter("process_mark.can_look = lambda: False") as adapter:
        [ended] = adapter.start(HOSTS["with a stubborn child"])
        assert adapter.ask("end") == "ended\n"
        assert_gone([ended])
        adapter.start(HOSTS["with a stubborn child"])
        assert adapter.kill() < SURVIVAL_SECONDS


def test_without_any_guardian_hosts_run_all_the_same() -> None:
    with starter("guardian.SHELL = '/nowhere/sh'; guardian.sys.executable = '/nowhere/python'") as adapter:
        [host] = adapter.start(HOSTS["polite"])
        assert [row.pid for row in table() if row.parent == adapter.process.pid] == [host]
        assert adapter.ask("end") == "ended\n"
        assert_gone([host])


# -- in order


def test_f2_what_a_host_left_in_a_session_of_its_own_is_ended_with_it() -> None:
    with starter() as adapter:
        pids = adapter.start("setsid sleep 600 & echo $!; exec cat")
        pids += adapter.start("(trap '' TERM; exec setsid sleep 600) & echo $!; exec cat")
        assert adapter.ask("end") == "ended\n"
        assert not running(pids[1:])
        assert running(pids[:1]), "that is another host's"


@pytest.mark.parametrize(
    "script",
    ["setsid env -i sleep 600 & echo $!; exec cat", f"{BARE_GROUP}; exec cat", f"{BARE_GROUP}; exec sleep 600"],
    ids=["elsewhere", "in its session", "in its session, deaf"],
)
def test_f2_what_has_cleared_its_environment_is_ended_with_its_host(script: str) -> None:
    with starter() as adapter:
        [bare] = adapter.start(script)
        assert running([bare])
        assert adapter.ask("end") == "ended\n"
        assert not running([bare])


def test_f2_what_has_cleared_its_environment_in_the_session_of_a_dead_host_is_ended() -> None:
    with starter() as adapter:
        [bare] = adapter.start(f"{BARE_GROUP}; exit 3")
        assert running([bare])
        assert adapter.ask("end") == "ended\n"
        assert not running([bare])


def test_what_is_still_there_at_an_orderly_end_is_ended_by_it() -> None:
    with starter() as adapter:
        [stray] = adapter.start("setsid sleep 600 & echo $!; exit 0")
        guardian = adapter.guardian()
        assert adapter.process.stdin is not None
        adapter.process.stdin.close()
        assert adapter.process.wait(GONE_SECONDS) == 0
        assert not running([stray])
        assert not any(row.pid == guardian for row in table()), "it is reaped as well"


def test_f5_the_guardian_of_a_first_process_is_nobody() -> None:
    """All that the first process of a container has started ends with it."""
    if subprocess.run(["unshare", "-Urpf", "--mount-proc", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no container can be made here")
    with starter(wrap=("unshare", "-Urpf", "--mount-proc", "--kill-child")) as adapter:
        assert adapter.ask(f"start {HOSTS['stubborn']}")
        [first] = [row.pid for row in table() if row.parent == adapter.process.pid]
        below = [row.pid for row in table() if row.parent == first]
        assert len(below) == 1 and not is_guardian(below[0])
        os.kill(first, signal.SIGKILL)
        assert_gone(below)
