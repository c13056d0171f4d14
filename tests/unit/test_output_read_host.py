"""The host that reads: when it is started and with what, whom it serves, and when it ends. Real processes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output.read_host import READ_ONLY_FLAGS, ReadHost
from adapter.msp.budgets import READ_HOST_IDLE
from adapter.msp.errors import HostGone, HostStartError
from tests.output_hosts import PATIENCE, CrashingHost, OutputHost, background, calls, choice_of, methods
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, ScriptedHost, place

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

WARM = 60.0
"""An idle time that no test reaches."""


class Kept:
    """A read host under test and the script it starts."""

    def __init__(self, host: ReadHost, placed: Placed) -> None:
        self.host = host
        self.placed = placed

    @property
    def started(self) -> list[int]:
        """Process ids of the hosts so far, in order."""
        return self.placed.pids("serve.pids")

    async def use(self) -> int:
        """Use it once; gives the process id of the host that was there."""
        async with self.host.use() as host:
            assert host.gone is None
        return self.started[-1]


@asynccontextmanager
async def kept(
    parent: Path,
    script: type[ScriptedHost] = OutputHost,
    idle: float = WARM,
    timeout: float = PATIENCE,
    **settings: Any,
) -> AsyncIterator[Kept]:
    """A read host that has been used by nobody; afterwards it is closed, and nothing of it is left."""
    placed = place(parent / "host", script, **settings)
    with anyio.fail_after(3 * PATIENCE):
        async with background() as tasks:
            host = ReadHost(choice_of(placed, timeout), "1.0", tasks, idle)
            yield Kept(host, placed)
            await host.close()
            await host.close()
            assert_gone(placed.pids())


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.01)


async def test_nothing_is_started_before_the_first_use(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        await anyio.sleep(0.05)
        assert calls(it.placed) == []
        await it.use()
        assert len(it.started) == 1


async def test_it_is_ready_when_it_is_given_and_has_been_told_nothing_but_the_handshake(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        async with it.host.use() as host:
            assert host.handshake is not None
            assert host.handshake.server_version == "1.2.1"
        await it.host.close()
        assert methods(it.placed) == ["initialize", "initialized"]
        (hello,) = it.placed.received("initialize")
        assert "capabilities" not in hello["params"]


@pytest.mark.parametrize(
    ("listed", "given"),
    [
        (["--disable-write", "--disable-shell"], ["--disable-write", "--disable-shell"]),
        (
            ["--model", "--disable-shell", "--disable-write", "--trust-workspace"],
            ["--disable-write", "--disable-shell"],
        ),
        (["--disable-write"], ["--disable-write"]),
        (["--disable-writes", "--no-disable-shell"], []),
        ([], []),
    ],
)
async def test_the_flags_are_those_that_the_help_lists(tmp_path: Path, listed: list[str], given: list[str]) -> None:
    async with kept(tmp_path, flags=listed) as it:
        await it.use()
        assert calls(it.placed) == [["serve", "--help"], ["serve", *given]]
    assert READ_ONLY_FLAGS == ("--disable-write", "--disable-shell")


async def test_the_help_is_asked_for_once(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0) as it:
        await it.use()
        await it.use()
        assert [call == ["serve", "--help"] for call in calls(it.placed)] == [True, False, False]


async def test_the_flags_are_asked_for_again_when_a_host_did_not_start(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        await it.use()
        os.kill(it.started[-1], signal.SIGKILL)
        await until(lambda: it.host._host is not None and it.host._host.gone is not None)
        # The program is replaced by one that has other flags.
        place(it.placed.directory, OutputHost, flags=["--disable-write"])
        with pytest.raises(HostStartError) as caught:
            await it.use()
        assert caught.value.exit_code == 2
        await it.use()
        assert calls(it.placed)[-1] == ["serve", "--disable-write"]


async def test_uses_that_overlap_share_one_host_also_while_it_starts(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0, seconds={"initialize": 0.2}) as it:
        seen = []

        async def use() -> None:
            async with it.host.use() as host:
                seen.append(host)
                await anyio.sleep(0.05)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(use)
        assert len(seen) == 5
        assert len(set(seen)) == len(it.started) == 1


@pytest.mark.parametrize("idle", [0, 0.1])
async def test_a_use_that_ends_leaves_the_host_to_one_that_goes_on(tmp_path: Path, idle: float) -> None:
    async with kept(tmp_path, idle=idle) as it, it.host.use() as host:
        await it.use()
        await anyio.sleep(0.3)
        assert host.gone is None
        await it.use()
        assert len(it.started) == 1


async def test_it_is_kept_warm_for_uses_that_follow(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        assert len({await it.use() for _ in range(3)}) == 1
    assert READ_HOST_IDLE == 30.0


async def test_it_ends_when_it_was_idle_for_long_enough_and_another_follows(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0.2) as it:
        first = await it.use()
        await until(lambda: it.host._host is None)
        await until(lambda: not it.host._leaving)
        assert_gone([first])
        assert await it.use() != first


async def test_a_use_ends_the_idle_time_and_begins_it_anew(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0.4) as it:
        first = await it.use()
        await anyio.sleep(0.25)
        async with it.host.use():
            await anyio.sleep(0.5)
            assert it.host._host is not None
        await anyio.sleep(0.25)
        assert await it.use() == first


async def test_a_use_right_after_another_is_not_ended_by_the_idle_time_of_that_one(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0.1) as it:
        await it.use()
        # Without a pause, so that the idle time has been started and has not begun to run.
        async with it.host.use() as host:
            await anyio.sleep(0.3)
            assert host.gone is None


async def test_with_no_idle_time_each_use_has_a_host_of_its_own(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0) as it:
        pids = [await it.use() for _ in range(3)]
        assert len(set(pids)) == 3
        await until(lambda: not it.host._leaving)
        assert_gone(pids)


async def test_a_dead_host_is_replaced_by_the_next_use(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        async with it.host.use() as host:
            os.kill(it.started[-1], signal.SIGKILL)
            with anyio.fail_after(PATIENCE):
                await host.wait_gone()
        assert len(it.started) == 1, "it is not replaced before it is needed"
        await it.use()
        assert len(it.started) == 2


async def test_a_host_that_does_not_start_says_why_and_the_next_use_tries_again(tmp_path: Path) -> None:
    async with kept(tmp_path, CrashingHost) as it:
        for tries in (1, 2):
            with pytest.raises(HostStartError) as caught:
                await it.use()
            assert "no store here" in caught.value.details
            assert (caught.value.reason, caught.value.exit_code) == ("hostStartFailed", 3)
            assert len(it.started) == tries


async def test_a_handshake_that_takes_too_long_ends_the_start(tmp_path: Path) -> None:
    async with kept(tmp_path, timeout=0.4, silent=["initialize"]) as it:
        with pytest.raises(HostStartError) as caught:
            await it.use()
        assert caught.value.reason == "hostStartTimeout"


async def test_without_a_program_there_is_no_host(tmp_path: Path) -> None:
    async with background() as tasks:
        host = ReadHost(HostChoice({}, tmp_path, str(tmp_path / "nothing")), "1.0", tasks)
        with pytest.raises(HostStartError) as caught:
            async with host.use():
                pass
        assert caught.value.reason == "museNotFound"
        await host.close()


async def test_a_use_that_is_given_up_while_it_starts_leaves_a_host_for_the_next(tmp_path: Path) -> None:
    async with kept(tmp_path, seconds={"initialize": 0.4}) as it:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.use)
            await until(lambda: methods(it.placed) == ["initialize"])
            tasks.cancel_scope.cancel()
        await it.use()
        assert len(it.started) == 1


async def test_closing_during_a_use_ends_the_host(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        async with it.host.use() as host:
            await it.host.close()
            assert host.gone is not None
            with pytest.raises(HostGone):
                await host.query("session/read", {})
        assert_gone(it.started)


async def test_closing_waits_for_hosts_that_are_ending_already(tmp_path: Path) -> None:
    async with kept(tmp_path, idle=0) as it:
        pid = await it.use()
        await it.host.close()
        assert_gone([pid], 0.2)


async def test_closing_what_was_never_used_is_nothing(tmp_path: Path) -> None:
    async with kept(tmp_path) as it:
        await it.host.close()
        assert calls(it.placed) == []
