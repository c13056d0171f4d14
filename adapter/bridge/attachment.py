"""Where a session is loaded: on one host at a time, and after that one's death on the next."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from adapter.bridge.execution_hosts import ExecutionHosts
from adapter.msp.errors import HostGone
from adapter.msp.host import Host, Sink
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params


class Attachment:
    """The tie between a session and its host. `receive` takes in the events, `on_gone` is told when the host has died;
    neither may block."""

    def __init__(
        self,
        session: Session,
        hosts: ExecutionHosts,
        background: Background,
        config: Params,
        receive: Sink,
        on_gone: Callable[[HostGone], None],
    ) -> None:
        self._session = session
        self._hosts = hosts
        self._background = background
        self._config = config
        """What a host is told of the client's MCP servers when it opens the session, each host anew."""
        self._receive = receive
        self._on_gone = on_gone
        self._watching = anyio.CancelScope()

    def listen(self) -> None:
        """Take in the session's events from now on, those that were kept for it first."""
        self._session.host.listen(self._session.session_id, self._receive)
        self._watching = anyio.CancelScope()
        self._background.start(self._watch, self._session.host, self._watching)

    def unlisten(self) -> None:
        """Take in nothing more, and leave nothing behind that waits for the host."""
        self._session.host.unlisten(self._session.session_id)
        self._watching.cancel()

    async def reach(self) -> None:
        """Make sure the session is loaded on a living host: after a death, it is resumed on the next one
        (`fault-cases.md L9`).

        Raises:
            MspError, HostGone: no host has it.
        """
        await self._session.host.wait_if_ending()
        if self._session.host.gone is None:
            return
        host = await self._hosts.host()
        async with host.opening():
            request: Params = {"sessionId": self._session.session_id, "excludeItems": True}
            await host.command("session/resume", request | self._config)
            self._session.move_to(host)
            self.listen()

    async def _watch(self, host: Host, watching: anyio.CancelScope) -> None:
        with watching:
            await host.wait_gone()
        if not watching.cancel_called:
            assert host.gone is not None
            self._on_gone(host.gone)
