"""Commands that are over when a notification says so; real processes, on both event loops."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from adapter.msp.errors import HostClosed, MspError, RequestTimeout
from adapter.msp.host import Host
from adapter.wire.envelope import Params
from tests.hosts_that_answer import Answers, Concludes
from tests.running_host import failure, running, without_listening
from tests.scripted_hosts import place
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio


async def leave(host: Host, seconds: float = PATIENCE) -> Params:
    params: Params = {"sessionId": "ses-1", "stop": True}
    return await host.carry_out("session/leave", params, conclusion="session/leaveCompleted", seconds=seconds)


@pytest.mark.parametrize("early", [False, True], ids=["after the ack", "before the ack"])
async def test_a_command_is_over_when_its_own_conclusion_has_come(tmp_path: Path, early: bool) -> None:
    placed = place(tmp_path, Concludes, early=early)
    seen: list[str] = []
    async with running(placed) as host:
        await host.ready()
        host.listen("ses-1", lambda method, params: seen.append(params["outcome"]))
        concluded = await leave(host)
        [asked] = placed.received("session/leave")
        assert (concluded["commandId"], concluded["outcome"]) == (asked["params"]["commandId"], "released")
        assert seen == ["failed", "released"], "the session hears of it as well"
        assert host.is_quiet


async def test_a_conclusion_that_does_not_come_is_waited_for_within_bounds(tmp_path: Path) -> None:
    async with running(place(tmp_path, Concludes, forgets=True)) as host:
        await host.ready()
        error = await failure(partial(leave, host, 0.1))
        assert isinstance(error, RequestTimeout) and (error.method, error.seconds) == ("session/leave", 0.1)
        assert host.is_quiet


async def test_time_in_which_nobody_listens_does_not_count(tmp_path: Path) -> None:
    async with running(place(tmp_path, Concludes, pause=0.8), throttle=without_listening(0.6)) as host:
        await host.ready()
        assert (await leave(host, 0.3))["outcome"] == "released"


async def test_a_host_that_dies_meanwhile_ends_the_wait(tmp_path: Path) -> None:
    async with running(place(tmp_path, Concludes, dies=True)) as host:
        await host.ready()
        error = await failure(partial(leave, host))
        assert isinstance(error, HostClosed)


async def test_a_refused_command_is_not_waited_for(tmp_path: Path) -> None:
    async with running(place(tmp_path, Answers, at="session/leave", error="sessionBusy")) as host:
        await host.ready()
        error = await failure(partial(leave, host))
        assert isinstance(error, MspError) and error.kind == "sessionBusy"
        assert host.is_quiet


async def test_a_host_is_quiet_when_nothing_is_asked_or_opened(tmp_path: Path) -> None:
    async with running(place(tmp_path, Answers, at="session/list", silent=True)) as host:
        await host.ready()
        quiet = [host.is_quiet]
        async with host.opening():
            quiet.append(host.is_quiet)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.query, "session/list", {})
            await until(lambda: not host.is_quiet)
            await host.query("marker")
        quiet.append(host.is_quiet)
    assert quiet == [True, False, True]
