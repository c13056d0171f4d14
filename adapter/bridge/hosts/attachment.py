"""Where a session is loaded: on one host at a time; after that one's death on the next, and on one of another kind when
that is wanted."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio

from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.host_slot import is_durable
from adapter.bridge.hosts.launch_profile import USUAL, LaunchProfile
from adapter.bridge.hosts.reloading import load_again, loads_sessions
from adapter.bridge.tool_cards.cards import outlives_turn
from adapter.msp.errors import HostClosed, HostGone, MspError, SessionUnreachable
from adapter.msp.event_routing import Sink
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")


class _Loading:
    """A session on its way to a host."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.error: Exception | None = HostClosed("the adapter stops")
        """What came of it; None if it is there."""


class Attachment:
    """The tie between a session and its host. `receive` takes in the events, `on_gone` is told once of each host that
    has died; neither may block. `is_busy` says whether anything is being done for the client."""

    def __init__(
        self,
        session: Session,
        hosts: ExecutionHosts,
        background: Background,
        config: Params,
        receive: Sink,
        on_gone: Callable[[HostGone], None],
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._session = session
        self._hosts = hosts
        self._background = background
        self._config = config
        """What a host is told of the client's MCP servers when it opens the session, each host anew."""
        self._receive = receive
        self._on_gone = on_gone
        self._is_busy = is_busy
        self._start: Params | None = None
        self._profile = self._wanted = USUAL
        self._moving = anyio.Lock()
        self._loading: _Loading | None = None
        self._watching = anyio.CancelScope()
        self._returning = anyio.CancelScope()
        self._is_over = False
        self._mourned: Host | None = None
        self._missed: SessionUnreachable | None = None
        """What came of loading the session again the last time, if no host has it."""
        self._returned_unasked = False
        self._is_adrift = False
        """Whether its host was asked to let go of it and no other one has loaded it since. It may have it, and tell
        nothing of it any more."""
        session.return_to_host = self._return

    def started(self, request: Params) -> None:
        """The session is new, and this is what it was started with."""
        self._start = request
        self._session.is_whole = True

    def listen(self) -> None:
        """Take in the session's events from now on, those that were kept for it first."""
        if self._is_over:
            return
        host = self._session.host
        host.listen(self._session.session_id, self._receive)
        self._hosts.join(host, self)
        self._watching.cancel()
        self._watching = anyio.CancelScope()
        self._background.start(self._watch, host, self._watching)

    def unlisten(self) -> None:
        """Take in nothing more, and leave nothing behind that waits for the host."""
        self._session.host.unlisten(self._session.session_id)
        self._hosts.leave(self._session.host, self)
        self._watching.cancel()

    def end(self) -> None:
        """The session is closed: it goes to no host any more, also where it is on its way to one."""
        self._is_over = True
        self._returning.cancel()
        self.unlisten()

    def give_way(self) -> None:
        """The session has been opened anew: what comes of it is for another one, which listens to it already."""
        self._is_over = True
        self._returning.cancel()
        self._watching.cancel()
        self._hosts.leave(self._session.host, self)

    async def arrived(self) -> None:
        """Wait until no host is loading the session."""
        if self._loading is not None:
            await self._loading.done.wait()

    @property
    def is_idle(self) -> bool:
        """Whether nothing of the session would be lost if its host ended now."""
        is_moving = self._moving.locked() or self._loading is not None
        return not (self._is_busy() or is_moving or self._session.is_unfinished or self._tasks_run)

    @property
    def lost(self) -> SessionUnreachable | None:
        """Why the session is nowhere any more, as far as is known; None if it is somewhere."""
        return _lost_with(self._session.host) or self._missed

    @property
    def _tasks_run(self) -> bool:
        return any(outlives_turn(item) for item in self._session.fold.items.open_items())

    # -- where it should be

    def found_on(self, profile: LaunchProfile) -> None:
        """The session has been opened on a host of this kind, because it was there."""
        self._profile = profile

    def want(self, profile: LaunchProfile) -> None:
        """Let the session run on a host of this kind from its next prompt on."""
        self._wanted = profile

    @property
    def is_to_move(self) -> bool:
        """Whether the session is on another kind of host than the wanted one."""
        return self._wanted != self._profile

    async def reach(self) -> None:
        """Make sure the session is loaded on a living host of the wanted kind: after a death, it is resumed on the next
        one (`fault-cases.md L9`).

        Raises:
            SessionUnreachable: it is lost, or cannot be moved now.
            MspError, HostGone: no host has it, or it has been closed.
        """
        self._returned_unasked = False
        await self._settle()

    async def _return(self, missed: HostGone | MspError) -> None:
        """A command did not find the session where it should be."""
        await self._settle(reload=isinstance(missed, MspError))

    async def _settle(self, *, reload: bool = False) -> None:
        async with self._moving:
            await self.arrived()
            self._require_open()
            here, wanted = self._session.host, self._wanted
            await here.wait_if_ending()
            if here.gone is not None:
                self._mourn(here)
                lost = _lost_with(here)
                if lost is not None:
                    raise lost
                host = await self._hosts.host(wanted, self)
            elif wanted != self._profile:
                host = await self._moved_out(here, wanted)
            elif self._hosts.is_outdated(here) and is_durable(here):
                host = await self._hosts.host(wanted, self)
            else:
                host = here
            if host is not here or reload or self._is_adrift:
                self._require_open()
                try:
                    await self._load_on(host, wanted)
                except MspError as error:
                    if error.kind != "sessionInUse" or host is here or here.gone is not None:
                        raise
                    # Not another program: the host that it was on has it, and takes its prompts.
                    details = "The Muse host has not let go of the session, so that it cannot move; try again later"
                    raise SessionUnreachable("hostBusy", details) from None
                self._require_open()

    def _require_open(self) -> None:
        """Raises:
        HostClosed: the session is closed, and goes to no host any more.
        """
        if self._is_over:
            raise HostClosed("the session has been closed")

    async def _moved_out(self, here: Host, wanted: LaunchProfile) -> Host:
        """Have the host let go of the session, and give the one that it goes to."""
        if not is_durable(here):
            raise SessionUnreachable("modeUnavailable", "This Muse host stores no sessions, so that none can move")
        leaves = "session/leave" in (await here.abilities()).methods
        self._check_alone(here, leaves)
        host = await self._hosts.host(wanted)
        if not await loads_sessions(host):
            raise SessionUnreachable(
                "modeUnavailable", "This Muse host loads no stored sessions, so that none can move"
            )
        self._check_alone(here, leaves)
        if leaves:
            self.unlisten()
            self._is_adrift = True
            await self._session.leave()
        else:
            await self._hosts.end(here)
            self._mourn(here)
        return host

    def _check_alone(self, here: Host, leaves: bool) -> None:
        """A host that lets go of a session stops what runs in it. One that cannot let go of it has to end, which must
        cost no other one anything."""
        if self._session.is_unfinished or self._tasks_run:
            raise SessionUnreachable("hostBusy", "Something still runs in this session; stop it, or wait for its end")
        if not leaves and self._hosts.is_used(here, self):
            details = "This version of Muse must end to change this, and another session is at work; try again later"
            raise SessionUnreachable("hostBusy", details)

    async def _load_on(self, host: Host, profile: LaunchProfile) -> None:
        """Load the session on `host`, to the end also if nobody waits for it any more: the host cannot be kept from it,
        and who lets go of the session has to know where it is.

        Raises:
            MspError, HostGone: as for `load_again`.
        """
        loading = self._loading = _Loading()
        self._background.start(self._load, host, profile, loading)
        await loading.done.wait()
        if loading.error is not None:
            raise loading.error

    async def _load(self, host: Host, profile: LaunchProfile, loading: _Loading) -> None:
        self.unlisten()
        try:
            async with host.opening():
                await load_again(self._session, host, self._config, self._start, lambda: not self._is_over)
                self.listen()
            self._missed, self._is_adrift = None, False
            self._profile = profile
            self._hosts.settled(self._session.session_id, profile)
            loading.error = None
        except Exception as error:
            loading.error = error
            if isinstance(error, SessionUnreachable):
                self._missed = error
            if self._session.host.gone is None:
                # The next command finds out whether the session is there.
                self.listen()
        finally:
            self._loading = None
            loading.done.set()

    # -- the end of a host

    async def _watch(self, host: Host, watching: anyio.CancelScope) -> None:
        with watching:
            await host.wait_gone()
        if watching.cancel_called:
            return
        waits = bool(self._session.fold.open_questions) or self._tasks_run
        self._mourn(host)
        if waits and is_durable(host) and not host.is_closing and not self._returned_unasked:
            # Once until it is used again: a session that ends its hosts must not go on doing so by itself.
            self._returned_unasked, self._returning = True, anyio.CancelScope()
            await self._return_unasked()

    async def _return_unasked(self) -> None:
        """Go back to what waits for the user, or runs without a prompt."""
        try:
            with self._returning:
                await self._settle()
        except (MspError, HostGone) as error:
            log.warning("a session could not be resumed after its host had ended: %s", error)

    def _mourn(self, host: Host) -> None:
        if self._mourned is not host and host.gone is not None:
            self._mourned = host
            self._on_gone(_lost_with(host) or host.gone)


def _lost_with(host: Host) -> SessionUnreachable | None:
    """Why the sessions of this host are lost, if they are."""
    if host.gone is None or is_durable(host):
        return None
    return SessionUnreachable("sessionLost", f"Muse had not stored this session, and {host.gone}")
