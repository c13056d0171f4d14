"""A host that does not take in what it is sent: what waits for it is bounded, and one that speaks first is heard."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from adapter.wire.pipes import READ_CHUNK
from adapter.wire.room import Room
from adapter.wire.writer import ANSWERS_HIGH_WATER
from tests.scripted_hosts import Json, Placed, ScriptedHost, place
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

METHOD_CHARS = 4000


class AsksAndAsks(ScriptedHost):
    """Asks for what nobody knows, again and again, and takes in no answer."""

    many = 0

    def on_marker(self, request: Json) -> None:
        for number in range(self.many):
            self.send({"jsonrpc": "2.0", "id": number, "method": "x" * METHOD_CHARS, "params": {}})
        (self.directory / "asked").touch()
        time.sleep(PATIENCE)


class SpeaksFirst(ScriptedHost):
    """Has much to say before it takes in anything else."""

    def on_marker(self, request: Json) -> None:
        while not (self.directory / "go").exists():
            time.sleep(0.001)
        self.event("session/statusChanged", "ses-1", text="x" * 3_000_000)
        self.answer(request)


@asynccontextmanager
async def running(placed: Placed, **options: Any) -> AsyncIterator[Host]:
    """A host whose events go to a client that takes everything in."""
    command = HostCommand([placed.muse, "serve"], {"PATH": os.environ["PATH"]})
    host = Host(command, "1.2", throttle=Room(lambda: True, checkpoint), close_grace=0.1, **options)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run)
            await host.ready()
            yield host
            tasks.cancel_scope.cancel()


async def test_answers_that_a_host_does_not_take_in_are_bounded(tmp_path: Path) -> None:
    cap = 64 * 1024
    bound = ANSWERS_HIGH_WATER + cap
    placed = place(tmp_path, AsksAndAsks, many=3 * bound // METHOD_CHARS)
    async with running(placed, frame_cap=cap) as host, anyio.create_task_group() as tasks:
        tasks.start_soon(host.query, "marker")
        assert host._peer is not None
        writer = host._peer._writer
        await until(lambda: writer.pending > bound)
        seen = -1
        while seen != writer.pending:
            seen = writer.pending
            await anyio.sleep(0.1)
        assert seen < bound + 2 * READ_CHUNK
        assert not (placed.directory / "asked").exists()
        tasks.cancel_scope.cancel()


async def test_a_host_that_speaks_before_it_takes_in_a_long_command_is_heard(tmp_path: Path) -> None:
    placed = place(tmp_path, SpeaksFirst)
    async with running(placed) as host, anyio.create_task_group() as tasks:
        tasks.start_soon(host.query, "marker")
        await until(lambda: placed.received("marker") != [])
        tasks.start_soon(host.command, "session/start", {"workspaceRoot": "x" * 9_000_000})
        assert host._peer is not None
        writer = host._peer._writer
        await until(lambda: writer.pending > ANSWERS_HIGH_WATER)
        (placed.directory / "go").touch()
