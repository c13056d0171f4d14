"""Hosts that a session can be loaded on, and its attachment to them, without a process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel

from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL, LaunchProfile
from adapter.msp.abilities import NOBODY, Abilities
from adapter.msp.errors import HostClosed, HostGone, MspError
from adapter.msp.event_routing import Sink
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from tests.wired import PATIENCE

Json = dict[str, Any]

NO_METHOD = MspError(-32601, "methodNotFound", "there is no such method")


class Lodging:
    """What an attachment needs of a host. `refusals` are raised by a method, one a time, before it answers."""

    def __init__(self, *methods: str, durable: bool = True) -> None:
        self.gone: HostGone | None = None
        self.is_closing = False
        self.loads = True
        self.names = ""
        """The session that it names instead of the one it is asked for."""
        self.handshake = Handshake("m", "1", "", frozenset(), durable, None)
        self.sent: list[tuple[str, Json]] = []
        self.refusals: dict[str, list[Exception]] = {}
        self.sinks: dict[str, Sink] = {}
        self._methods = frozenset(methods)
        self._gone = anyio.Event()

    def methods(self) -> list[str]:
        return [method for method, _ in self.sent]

    async def abilities(self) -> Abilities:
        return Abilities(self._methods)

    async def query(self, method: str, params: Json, **more: Any) -> Json:
        return await self.command(method, params)

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        if params["sessionId"] == NOBODY:
            raise MspError(-32020, "sessionNotFound", "there is none") if self.loads else NO_METHOD
        self.sent.append((method, {**params, **{name: value for name, value in more.items() if value is not None}}))
        await anyio.lowlevel.checkpoint()
        if self.gone is not None:
            raise self.gone
        if self.refusals.get(method):
            raise self.refusals[method].pop(0)
        session = {"sessionId": self.names or params["sessionId"], "status": "idle"}
        return {"session": session, "viewCursor": "v9", "approvals": [], "events": [], "nextCursor": None}

    async def carry_out(self, method: str, params: Json, *, conclusion: str, seconds: float) -> Json:
        return await self.command(method, params)

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        yield

    def listen(self, session_id: str, sink: Sink) -> None:
        self.sinks[session_id] = sink

    def unlisten(self, session_id: str) -> None:
        self.sinks.pop(session_id, None)

    async def wait_if_ending(self) -> None:
        """Its end is known as soon as it is noticed."""

    async def wait_gone(self) -> None:
        await self._gone.wait()

    def die(self) -> None:
        self.gone = HostClosed("it died")
        self._gone.set()


class House:
    """The hosts there are; `used` by others, `outdated` as it is set."""

    def __init__(self, **hosts: Lodging) -> None:
        self.kinds = {USUAL: hosts.get("usual"), RESTRICTED: hosts.get("restricted")}
        self.used = self.outdated = False
        self.asked: list[LaunchProfile] = []
        self.ended: list[Lodging] = []

    async def host(self, profile: LaunchProfile, asking: Any = None) -> Lodging:
        self.asked.append(profile)
        await anyio.lowlevel.checkpoint()
        host = self.kinds[profile]
        if host is None:
            raise HostClosed("there is none")
        return host

    def is_used(self, host: Lodging, but_by: Any) -> bool:
        return self.used

    def is_outdated(self, host: Lodging) -> bool:
        return self.outdated

    async def end(self, host: Lodging) -> None:
        self.ended.append(host)
        host.is_closing = True
        host.die()

    def join(self, host: Lodging, tenant: Any) -> None:
        """Who is there does not matter here."""

    def leave(self, host: Lodging, tenant: Any) -> None:
        """Nor who is not."""

    def settled(self, session_id: str, profile: LaunchProfile) -> None:
        """Nor of which kind it is."""


class Lodged:
    """A session at home in `here`."""

    def __init__(self, here: Lodging, house: House, background: Background) -> None:
        self.here, self.house = here, house
        self.gone: list[HostGone] = []
        self.session = Session(cast(Host, here), "ses-1", lambda change: None, background)
        hosts = cast(ExecutionHosts, house)
        config: Json = {"config": {"mcpServers": {}}}
        self.attachment = Attachment(self.session, hosts, background, config, self.session.receive, self.gone.append)
        self.attachment.listen()

    @property
    def host(self) -> Any:
        return self.session.host

    def tell(self, method: str, **params: Any) -> None:
        sink: Callable[..., None] = self.host.sinks["ses-1"]
        sink(method, {"sessionId": "ses-1", **params})


@asynccontextmanager
async def lodged(here: Lodging, **hosts: Lodging) -> AsyncIterator[Lodged]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Lodged(here, House(**{"usual": here, **hosts}), Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


def at(cursor: str) -> Json:
    return {"viewCursor": cursor, "sourceRange": {}}
