"""The hosts that run turns: which program they are, when one is started, and what is done when one has died.

Sessions share one host. The first is started in the background as soon as a client is there, so that it is ready when
a session is asked for; nobody else ever waits for it. A host that died is replaced when the next session needs one,
not before and not in a loop.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from adapter.bridge.host_choice import HostChoice, resolve_muse
from adapter.msp.host import Host, HostStartError
from adapter.msp.process import HostCommand
from adapter.msp.secrets import scrub
from adapter.wire.background import Background
from host_probe import VersionCache, is_newer_than_known, known_fingerprint, parse_server_version, probe_version

log = logging.getLogger("adapter.bridge")


class ExecutionHosts:
    """At most one living host, shared by all sessions. `background` owns what it starts."""

    def __init__(
        self,
        choice: HostChoice,
        client_version: str,
        background: Background,
        throttle: Callable[[], Awaitable[None]],
        cache: VersionCache | None = None,
    ) -> None:
        self._choice = choice
        self._client_version = client_version
        self._background = background
        self._throttle = throttle
        self._cache = cache
        self._host: Host | None = None
        self._noted = False
        self._version_doubted = False

    def begin(self) -> None:
        """Start a host in the background. Never fails: who needs the host learns what is wrong."""
        try:
            self._living_host()
        except HostStartError as error:
            log.warning("%s", error.details)

    async def host(self) -> Host:
        """A host that is ready.

        Raises:
            HostGone: there is none to be had; `HostStartError` tells why.
        """
        if self._host is not None:
            await self._host.wait_if_ending()
        host = self._living_host()
        handshake = await host.ready()
        if not self._noted:
            self._noted = True
            log.info("the host is %s %s", handshake.server_name, handshake.server_version)
            if handshake.sandbox_problem:
                log.warning("the host cannot sandbox tools: %s", handshake.sandbox_problem)
            if is_newer_than_known(parse_server_version(handshake.server_version)):
                log.warning("host version %s is newer than any this adapter knows; going on", handshake.server_version)
            elif known_fingerprint(handshake.fingerprint) is None:
                log.info("the schema of host version %s is not known", handshake.server_version)
        return host

    async def close(self) -> None:
        """End the host, if one was started, and wait until it is gone."""
        if self._host is not None:
            await self._host.close()

    def _living_host(self) -> Host:
        host = self._host
        if host is None or host.gone is not None:
            muse = resolve_muse(self._choice)
            launch = HostCommand(argv=[*muse, "serve"], environ=self._choice.environ)
            self._host = host = Host(
                launch,
                self._client_version,
                startup_timeout=self._choice.startup_timeout,
                close_grace=self._choice.close_grace,
                throttle=self._throttle,
                frame_cap=self._choice.frame_cap,
            )
            self._background.start(host.run)
            self._background.start(self._note_version, muse)
        return host

    async def _note_version(self, muse: Sequence[str]) -> None:
        probe = await probe_version(muse, environ=self._choice.environ, cache=self._cache)
        if probe.problem is None:
            log.info("%s is %s", muse[0], scrub(probe.version.raw, self._choice.environ))
        elif not self._version_doubted:
            self._version_doubted = True
            details = scrub(probe.details or probe.problem, self._choice.environ)
            log.warning("the version of %s is not known: %s", muse[0], details)
