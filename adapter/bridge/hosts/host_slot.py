"""The place of one kind of host: the host that lives there, who uses it, and what follows on its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import anyio

from adapter.bridge.hosts.restarts import Restarts
from adapter.msp.errors import HostStartError
from adapter.msp.host import Host
from host_probe import BinaryIdentity


class Tenant(Protocol):
    """A session that lives on a host."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it would be lost if the host ended now."""


class HostSlot:
    """At most one living host. `start` makes one and starts it; `program` tells which file it is a process of."""

    def __init__(self, start: Callable[[], Host], program: Callable[[], BinaryIdentity | None]) -> None:
        self._start = start
        self._program = program
        self._started: BinaryIdentity | None = None
        self._restarts = Restarts()
        self._changing = anyio.Lock()
        self.current: Host | None = None
        self.leaving: set[Host] = set()
        """Hosts that have been replaced and are not gone yet."""
        self.aside: set[Host] = set()
        """Hosts that take no new sessions, kept for those they have: what they have is nowhere else."""
        self.outdated = False
        """Whether the host is to be replaced as soon as nothing runs on it."""
        self._tenants: dict[Host, set[Tenant]] = {}

    def begin(self) -> Host:
        """The host there is, else the first one."""
        return self.current or self._begin_anew()

    async def living(self, asking: Tenant | None = None) -> Host:
        """A host that has not ended; it may still be on its way to being ready.

        Raises:
            HostStartError: there is none to be had.
        """
        async with self._changing:
            host = self.current
            if host is not None:
                await host.wait_if_ending()
                if host.gone is not None:
                    await self._restart(host)
                elif self.outdated and not self.is_used(host, but_by=asking):
                    await self.replace()
                elif self.outdated and not is_durable(host) and self._tenants.get(host):
                    self.aside.add(host)
                    self.current, self.outdated = None, False
            return self.begin()

    async def replace(self) -> None:
        """End the host; the next one is started when it is gone, so that it finds what this one has stored."""
        host, self.current, self.outdated = self.current, None, False
        if host is not None:
            await self.end(host)

    async def end_if_unused(self, host: Host) -> None:
        """End a host that was kept for its sessions, if it has none any more."""
        if host in self.aside and not self.is_used(host):
            await self.end(host)

    async def end(self, host: Host) -> None:
        """End a host that is not the current one any more."""
        self.aside.discard(host)
        self.leaving.add(host)
        await host.close()
        self.leaving.discard(host)

    def has(self, host: Host) -> bool:
        """Whether this host lives here."""
        return host is self.current or host in self.aside

    async def _restart(self, host: Host) -> None:
        self._tenants.pop(host, None)
        self.outdated = False
        if host.is_closing:
            self._begin_anew()
            return
        if self._program() != self._started:
            # How often another program ended says nothing of this one: it has been repaired, or replaced.
            self._restarts = Restarts()
        delay = self._restarts.delay(anyio.current_time())
        if delay is None:
            seconds = self._restarts.again_in(anyio.current_time())
            sentence = f"Muse ended too often and is not started again for {seconds:.0f} s"
            words = f"; the last time: {host.gone.details}" if host.gone is not None else ""
            raise HostStartError("hostRestartLimit", sentence, words=words)
        await anyio.sleep(delay)
        self._begin_anew()
        # What is not there has not been started.
        self._restarts.count(anyio.current_time())

    def _begin_anew(self) -> Host:
        program = self._program()
        self.current = host = self._start()
        self._started = program
        return host

    # -- who uses it

    def join(self, host: Host, tenant: Tenant) -> None:
        """A session lives on this host from now on."""
        self._tenants.setdefault(host, set()).add(tenant)

    def leave(self, host: Host, tenant: Tenant) -> None:
        """It lives there no more."""
        tenants = self._tenants.get(host, set())
        tenants.discard(tenant)
        if not tenants:
            self._tenants.pop(host, None)

    def is_used(self, host: Host, but_by: Tenant | None = None) -> bool:
        """Whether ending the host would cost anybody else something. A session that is stored nowhere is lost with it,
        whatever it does, and also for who asks."""
        tenants = self._tenants.get(host, set())
        if not is_durable(host) and tenants:
            return True
        return not host.is_quiet or not all(tenant.is_idle for tenant in tenants - {but_by})


def is_durable(host: Host) -> bool:
    """Whether what the host has acknowledged outlives it."""
    return host.handshake is not None and host.handshake.durable
