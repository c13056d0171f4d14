"""One host process: its pipes, its stderr, and the ladder that ends it; real scripts, on both event loops."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from adapter.msp import launch, sweep
from adapter.msp import process as module
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from adapter.msp.process_mark import guard
from tests.processes import assert_gone, descendants, open_descriptors, running
from tests.wired import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the hosts are shell scripts, the ladder is of signals"),
]

ENVIRON = {"PATH": os.environ["PATH"], "DEMO_TOKEN": "demo-secret-123"}

SHORT = 0.2
"""A grace of the ladder, where the script is known to ignore it."""

LONG = 600.0
"""A grace that no test survives."""


def shell(script: str) -> HostCommand:
    return HostCommand(["/bin/sh", "-c", script], ENVIRON)


@asynccontextmanager
async def spawned(script: str) -> AsyncIterator[HostProcess]:
    """A process that has said `ready`; killed afterwards, whatever the test did to it."""
    process = HostProcess.spawn(shell(script))
    try:
        with anyio.fail_after(PATIENCE):
            assert await process.stdout.receive() == b"ready\n"
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await process.end(0)
        process.close_pipes()
        assert_gone([process.pid])


@pytest.fixture(autouse=True)
def short_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TERM_GRACE", SHORT)
    monkeypatch.setattr(module, "GROUP_GRACE", SHORT)


async def test_it_has_a_group_of_its_own_and_three_pipes() -> None:
    async with spawned("echo ready; exec cat") as process:
        assert os.getpgid(process.pid) == process.pid
        assert process.exit_code is None
        await process.stdin.send("häh\n".encode())
        assert await process.stdout.receive() == "häh\n".encode()


async def test_what_it_says_last_can_be_read_after_its_end() -> None:
    async with spawned("echo ready; cat; echo bye; echo why >&2") as process:
        with anyio.fail_after(PATIENCE):
            await process.end(LONG)
            assert await process.stdout.receive() == b"bye\n"
            assert await process.stdout.receive() == b""
            await process.drain_stderr()
        assert process.stderr_text() == "why"


# -- the ladder


@pytest.mark.parametrize(
    ("script", "grace", "code"),
    [
        ("echo ready; exec cat", LONG, 0),
        ("echo ready; cat; exit 3", LONG, 3),
        ("echo ready; cat; sleep 0.5; exit 4", LONG, 4),
        ("echo ready; exec sleep 600", SHORT, -signal.SIGTERM),
        ("echo ready; exec sleep 600", 0, -signal.SIGTERM),
        ("trap '' TERM; echo ready; sleep 600", SHORT, -signal.SIGKILL),
        ("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", SHORT, 5),
        ("echo ready; kill -STOP $$", SHORT, -signal.SIGKILL),
        ("echo ready; exit 0", LONG, 0),
        ("echo ready; kill -SEGV $$", LONG, -signal.SIGSEGV),
    ],
    ids=[
        "eof",
        "eof with a code",
        "not at once",
        "term",
        "no grace",
        "kill",
        "term with a code",
        "stopped",
        "over",
        "crashed",
    ],
)
async def test_f4_each_step_of_the_ladder(script: str, grace: float, code: int) -> None:
    async with spawned(script) as process:
        with anyio.fail_after(PATIENCE):
            await process.end(grace)
        assert process.exit_code == code
        assert_gone([process.pid])


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600 & echo ready; exec cat",
        "sleep 600 & echo ready; exit 0",
        "(trap '' TERM; exec sleep 600) & echo ready; exec cat",
        "sh -c 'sleep 600; true' & echo ready; exec sleep 600",
        "trap '' TERM; sh -c 'sleep 600; true' & echo ready; sleep 600; true",
    ],
    ids=["polite", "orphaned", "stubborn", "deep", "all stubborn"],
)
@pytest.mark.parametrize("marks", [True, False], ids=["marked", "unmarked"])
async def test_f2_nothing_of_the_group_is_left(monkeypatch: pytest.MonkeyPatch, script: str, marks: bool) -> None:
    if not marks:
        # As where nothing can be read of processes: what is left can then only be reached by its group.
        monkeypatch.setattr(launch, "next_mark", lambda: None)
    async with spawned(script) as process:
        group = [process.pid, *(row.pid for row in descendants(process.pid))]
        with anyio.fail_after(PATIENCE):
            await process.end(SHORT)
        # A killed process is sure to go, but only when it gets a processor.
        assert_gone(group)


async def test_it_is_gone_when_reaped_though_a_grandchild_holds_the_pipes() -> None:
    async with spawned("sleep 600 & echo ready; exit 4") as process:
        with anyio.fail_after(PATIENCE):
            await process.wait()
        assert process.exit_code == 4
        assert running([process.pid]), "the grandchild must be there, or nothing is shown"


async def test_cancelling_the_ladder_skips_to_the_kill() -> None:
    async with spawned("trap '' TERM; echo ready; sleep 600") as process:
        with anyio.fail_after(PATIENCE):
            with anyio.move_on_after(SHORT):
                await process.end(LONG)
            assert process.exit_code == -signal.SIGKILL
        assert_gone([process.pid])


async def test_ending_twice_and_together_is_one_end() -> None:
    async with spawned("echo ready; exec sleep 600") as process:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(process.end, SHORT)
            await process.end(LONG)
        assert process.exit_code == -signal.SIGTERM


# -- what is left behind


@pytest.mark.parametrize("kind", ["missing", "not executable", "a folder", "no program"])
async def test_a_failed_start_leaves_no_descriptor(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "muse"
    if kind == "a folder":
        path.mkdir()
    elif kind != "missing":
        path.write_text("\x7fELF" if kind == "no program" else "#!/bin/sh\n")
        path.chmod(0o755 if kind == "no program" else 0o644)
    guard()
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(OSError):
            HostProcess.spawn(HostCommand([str(path), "serve"], ENVIRON))
    assert open_descriptors() == before


async def test_its_end_is_noticed_without_a_descriptor_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    with anyio.fail_after(PATIENCE):
        async with spawned("echo ready; exit 7") as process:
            await process.wait()
    assert process.exit_code == 7


async def test_many_wait_for_its_end_and_one_of_them_no_longer() -> None:
    with anyio.fail_after(PATIENCE):
        async with spawned("echo ready; exec cat") as process, anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(process.wait)
            with anyio.move_on_after(SHORT) as given_up:
                await process.wait()
            assert given_up.cancelled_caught
            process.stdin.close()
    assert process.exit_code == 0


async def test_ended_processes_leave_no_descriptor_and_no_zombie() -> None:
    async with spawned("echo ready; exec cat"):
        pass
    before, children = open_descriptors(), descendants(os.getpid())
    for _ in range(5):
        async with spawned("echo ready; exec cat") as process:
            await process.end(LONG)
    assert open_descriptors() == before
    assert {row.pid for row in descendants(os.getpid())} <= {row.pid for row in children}


@pytest.mark.skipif(not sweep.can_look(), reason="marks are read where there is /proc")
async def test_it_ends_where_nobody_can_look_at_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_descriptor(path: object) -> list[str]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(module, "STRAY_KILL_SECONDS", SHORT)
    async with spawned("echo ready; exec cat") as process:
        with monkeypatch.context() as without, anyio.fail_after(PATIENCE):
            without.setattr(os, "listdir", no_descriptor)
            await process.end(LONG)
        assert process.exit_code == 0


async def test_it_ends_where_there_is_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise RuntimeError("can't start new thread")

    async with spawned("echo ready; exec cat") as process:
        with monkeypatch.context() as without, anyio.fail_after(PATIENCE):
            without.setattr(anyio.to_thread, "run_sync", refuse)
            await process.end(LONG)
        assert process.exit_code == 0


async def test_a_fault_of_ours_is_not_taken_for_the_lack_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(family: sweep.Family) -> None:
        raise RuntimeError("dictionary changed size during iteration")

    async with spawned("echo ready; exec cat") as process:
        with monkeypatch.context() as broken, anyio.fail_after(PATIENCE):
            broken.setattr(module, "_end_family", fails)
            if sweep.can_look():
                with pytest.raises(RuntimeError, match="changed size"):
                    await process.end(LONG)


async def test_its_end_waits_for_no_other_thread() -> None:
    others = anyio.to_thread.current_default_thread_limiter()
    borrowers = [object() for _ in range(int(others.total_tokens))]
    ended = anyio.Event()

    async def end(process: HostProcess) -> None:
        await process.end(LONG)
        ended.set()

    async with spawned("echo ready; exec cat") as process, anyio.create_task_group() as tasks:
        for borrower in borrowers:
            others.acquire_on_behalf_of_nowait(borrower)
        tasks.start_soon(end, process)
        with anyio.move_on_after(PATIENCE) as bound:
            await ended.wait()
        for borrower in borrowers:
            others.release_on_behalf_of(borrower)
    assert not bound.cancelled_caught


# -- stderr


async def test_c4_much_stderr_is_drained_and_its_end_is_kept_without_secrets() -> None:
    script = "head -c 1000000 /dev/zero | tr '\\0' 'x' >&2; echo \"key $DEMO_TOKEN\" >&2; echo ready; exec cat"
    process = HostProcess.spawn(shell(script))
    try:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.drain_stderr)
                assert await process.stdout.receive() == b"ready\n"
                await process.end(LONG)
        assert process.stderr_text().endswith("key [hidden]")
        assert len(process.stderr_text()) <= 8 * 1024
    finally:
        await process.end(0)
        process.close_pipes()


def test_a_command_is_shown_as_one_line() -> None:
    assert HostCommand(["/opt/muse", "serve", "--model", "m"], {"SECRET": "s"}).display() == "/opt/muse serve --model m"
