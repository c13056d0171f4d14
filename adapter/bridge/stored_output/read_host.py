"""The host that reads: a process of its own, without write and shell, started by the first read and kept warm for a
while.

It is never an execution host and never becomes one: it holds no session, and only reads are asked of it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import anyio

from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse, serve_command
from adapter.msp.budgets import READ_HOST_IDLE
from adapter.msp.errors import HostStartError
from adapter.msp.host import Host
from adapter.msp.process_mark import with_mark
from adapter.wire.background import Background
from host_probe import serve_flags

log = logging.getLogger("adapter.output")

READ_ONLY_FLAGS: Final = ("--disable-write", "--disable-shell")


class ReadHost:
    """At most one reading host at a time, shared by all reads that overlap.

    `idle_seconds` is how long it is kept after the last of them; with 0 it serves no read that begins later.
    """

    def __init__(
        self, choice: HostChoice, client_version: str, background: Background, idle_seconds: float = READ_HOST_IDLE
    ) -> None:
        self._choice = choice
        self._client_version = client_version
        self._background = background
        self._idle_seconds = idle_seconds
        self._flags: Sequence[str] | None = None
        self._host: Host | None = None
        self._set_aside: set[Host] = set()
        self._leaving: set[Host] = set()
        self._readers: Counter[Host] = Counter()
        self._starting = anyio.Lock()
        self._users = 0
        self._idle = anyio.CancelScope()

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Host]:
        """A host that is ready, for as long as the context lasts. The caller bounds the wait for it.

        Raises:
            HostGone: it did not start; `HostStartError` tells why.
        """
        self._users += 1
        self._idle.cancel()
        try:
            host = await self._ready_host()
            self._readers[host] += 1
            try:
                yield host
            finally:
                self._readers[host] -= 1
                self._end_if_unread(host)
        finally:
            self._users -= 1
            if not self._users:
                self._unused()

    def replace(self, host: Host) -> None:
        """Give it to no read that begins from now on: it did not answer in time, and may never again. Others that read
        from it already go on; it ends with the last of them."""
        if host is self._host:
            self._host = None
            self._set_aside.add(host)
            self._end_if_unread(host)

    async def close(self) -> None:
        """End the host, if there is one, and wait until none is left."""
        self._idle.cancel()
        self._let_go()
        for host in list(self._set_aside):
            self._leave(host)
        async with anyio.create_task_group() as tasks:
            for host in self._leaving:
                tasks.start_soon(host.close)

    async def _ready_host(self) -> Host:
        async with self._starting:
            if self._host is not None and self._host.gone is not None:
                self._let_go()
            if self._host is None:
                self._host = await self._started()
            host = self._host
        try:
            await host.ready()
        except HostStartError:
            # The program may have been replaced by one that knows other flags.
            self._flags = None
            raise
        return host

    async def _started(self) -> Host:
        muse = resolve_muse(self._choice)
        if self._flags is None:
            known = await serve_flags(muse, with_mark(self._choice.environ))
            self._flags = [flag for flag in READ_ONLY_FLAGS if flag in known]
        host = Host(
            serve_command(muse, self._choice, self._flags),
            self._client_version,
            capabilities={},
            startup_timeout=self._choice.startup_timeout,
            close_grace=self._choice.close_grace,
            frame_cap=self._choice.frame_cap,
        )
        self._background.start(host.run)
        return host

    def _unused(self) -> None:
        if self._idle_seconds > 0:
            self._idle = anyio.CancelScope()
            self._background.start(self._retire, self._idle)
        else:
            self._let_go()

    async def _retire(self, idle: anyio.CancelScope) -> None:
        """Let the host go after the idle time, unless it is used again."""
        with idle:
            await anyio.sleep(self._idle_seconds)
        if not idle.cancel_called:
            self._let_go()

    def _let_go(self) -> None:
        """Give the host to no read that begins from now on, and end it."""
        host, self._host = self._host, None
        if host is not None:
            self._leave(host)

    def _end_if_unread(self, host: Host) -> None:
        if not self._readers[host]:
            del self._readers[host]
            if host in self._set_aside:
                self._leave(host)

    def _leave(self, host: Host) -> None:
        self._set_aside.discard(host)
        self._leaving.add(host)
        self._background.start(self._end, host)

    async def _end(self, host: Host) -> None:
        await host.close()
        self._leaving.discard(host)
