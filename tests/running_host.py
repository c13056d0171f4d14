"""A host in front of a scripted one, until the end of a block."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from adapter.wire.room import Room
from tests.processes import assert_gone
from tests.scripted_hosts import Json, Placed
from tests.wired import PATIENCE, outcome

START: Json = {"workspaceRoot": "/srv/demo/orchard"}


def command(muse: str) -> HostCommand:
    return HostCommand([muse, "serve"], {"PATH": os.environ["PATH"], "HOME": "/nowhere"})


@asynccontextmanager
async def running(placed: Placed | HostCommand, **options: Any) -> AsyncIterator[Host]:
    """A host that runs until the end of the block, and is gone then."""
    host = Host(placed if isinstance(placed, HostCommand) else command(placed.muse), "1.2", **options)
    over = anyio.Event()

    async def run() -> None:
        await host.run()
        over.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield host
            await host.close()
            await over.wait()
    assert host.gone is not None
    if isinstance(placed, Placed):
        assert_gone(placed.pids())


async def failure(ask: Callable[[], Awaitable[Any]]) -> Exception:
    """What `ask` raises."""
    result = await outcome(ask)
    assert isinstance(result, Exception), result
    return result


def without_listening(seconds: float) -> Room:
    """A throttle that holds up the reading behind each read for so long, however often it is asked again meanwhile."""
    until_then: list[float] = []

    async def throttle() -> None:
        until_then[:] = until_then or [anyio.current_time() + seconds]
        await anyio.sleep_until(until_then[0])
        until_then.clear()

    return Room(lambda: False, throttle)
