"""The hosts that run turns: which program they are, when one is started, and what is done when one has died.

Sessions with the same launch profile share one host. The first is started in the background as soon as a client is
there, so that it is ready when a session is asked for; nobody else ever waits for it. A host that died is replaced
when a session needs one, not before and not in a loop.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import anyio

from adapter.bridge.hosts.host_choice import HostChoice, remembered_abilities, resolve_muse, serve_command
from adapter.bridge.hosts.host_slot import HostSlot, Tenant, is_durable
from adapter.bridge.hosts.launch_profile import USUAL, LaunchProfile
from adapter.bridge.hosts.login import Login
from adapter.hosts.select import stand_in_flags
from adapter.msp.abilities import ASKED, Abilities
from adapter.msp.errors import HostClosed, HostGone, HostStartError
from adapter.msp.host import Host
from adapter.msp.launch import Launched
from adapter.msp.process_mark import with_mark
from adapter.msp.secrets import scrub
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.room import Room
from host_probe import (
    BinaryIdentity,
    VersionCache,
    identify,
    is_newer_than_known,
    known_fingerprint,
    parse_server_version,
    probe_version,
    serve_flags,
)

log = logging.getLogger("adapter.bridge")

__all__ = ["ExecutionHosts", "LaunchProfile"]

Result = TypeVar("Result")

REMEMBERED_HOMES: Final = 1000

ASIDE_SECONDS: Final = 10.0
"""How long a host is kept that only served sessions it has no more."""


class ExecutionHosts:
    """At most one living host a launch profile, shared by its sessions. `background` owns what it starts."""

    def __init__(
        self,
        choice: HostChoice,
        client_version: str,
        background: Background,
        throttle: Room,
        cache: VersionCache | None = None,
    ) -> None:
        self._choice = choice
        self._client_version = client_version
        self._background = background
        self._throttle = throttle
        self._cache = cache
        self._slots: dict[LaunchProfile, HostSlot] = {}
        self._homes: OrderedDict[str, LaunchProfile] = OrderedDict()
        """Sessions that were last loaded on another kind of host than the usual one."""
        self._flags: frozenset[str] | None = None
        self._asking_flags = anyio.Lock()
        self._noted = False
        self._version_doubted = False
        self._closed = False
        self._launched: Launched | None = None
        self.on_question: Callable[[Host, str, str, Params], None] | None = None
        """Told of questions in sessions nobody listens to: their host, session, method and params."""
        self.login = Login(choice.environ, self.renew)
        """What the hosts have told of their login."""

    def begin(self, launched: Launched | None = None) -> None:
        """Start a host in the background, or go on with its process if there is one. Never fails: who needs the host
        learns what is wrong."""
        self._launched = launched
        try:
            self._slot(USUAL).begin()
        except HostStartError as error:
            log.warning("%s", error.details)

    async def host(self, profile: LaunchProfile = USUAL, asking: Tenant | None = None) -> Host:
        """A host of this profile that is ready. `asking` is the session it is for, if that lives on one already.

        Raises:
            HostGone: there is none to be had; `HostStartError` tells why.
        """
        if self._closed:
            raise HostClosed("the adapter stops")
        if not await self.offers(profile):
            details = f"this version of Muse cannot be started with {' and '.join(profile.flags)}"
            raise HostStartError("modeUnavailable", details)
        host = await self._slot(profile).living(asking)
        await host.ready()
        self._note(host)
        return host

    async def attempt(self, work: Callable[[Host], Awaitable[Result]], profile: LaunchProfile = USUAL) -> Result:
        """What `work` comes to with a host, or with the next one if the first ends before it has answered.

        A command that `work` sends must have the same `commandId` both times: a durable host takes it in once
        (`msp.md §6, §23.4`).

        Raises:
            MspError, HostGone: what `work` raised, or there is no host.
        """
        host = await self.host(profile)
        try:
            return await work(host)
        except HostClosed:
            if self._closed or not is_durable(host):
                raise
        return await work(await self.host(profile))

    def settled(self, session_id: str, profile: LaunchProfile) -> None:
        """A session has been loaded on a host of this kind."""
        self._homes.pop(session_id, None)
        if profile != USUAL:
            self._homes[session_id] = profile
            if len(self._homes) > REMEMBERED_HOMES:
                self._homes.popitem(last=False)

    def home(self, session_id: str) -> LaunchProfile:
        """The kind of host on which a session has to be opened: where it was loaded last, if that host still lives. Not
        every version lets go of a session that is closed (`msp.md §10.7`)."""
        profile = self._homes.get(session_id, USUAL)
        slot = self._slots.get(profile)
        lives = slot is not None and slot.current is not None and slot.current.gone is None
        return profile if lives else USUAL

    def profile_of(self, host: Host) -> LaunchProfile:
        """What kind of host this is."""
        return next((profile for profile, slot in self._slots.items() if slot.has(host)), USUAL)

    async def offers(self, profile: LaunchProfile) -> bool:
        """Whether this version of Muse can be started so. Asks it once.

        Raises:
            HostStartError: there is no Muse.
        """
        return not profile.flags or set(profile.flags) <= await self._serve_flags()

    async def known_abilities(self, wait: float) -> Abilities:
        """What the hosts can do, as far as it is known from earlier or is told within `wait` seconds."""
        try:
            known = self._remembered_abilities()
            if known is None:
                known = Abilities()
                with anyio.move_on_after(wait):
                    known = await (await self.host()).abilities()
        except HostGone:
            return Abilities()
        return known

    def _remembered_abilities(self) -> Abilities | None:
        """What the program is known to be able to do; None if that is not known, or there is none."""
        try:
            known = remembered_abilities(self._choice, self._cache)
        except HostStartError:
            return None
        return None if known is None else Abilities(known.methods & ASKED, known.workspace_roots, known.list_filter)

    def renew(self) -> None:
        """Replace every host as soon as nothing runs on it: it may hold a login that no longer counts."""
        for slot in self._slots.values():
            slot.outdated = slot.current is not None

    async def end_all(self) -> None:
        """End every host there is; who needs one gets another."""
        async with anyio.create_task_group() as tasks:
            for slot in self._slots.values():
                tasks.start_soon(slot.replace)
                for host in tuple(slot.aside):
                    tasks.start_soon(slot.end, host)

    async def close(self) -> None:
        """End all hosts and wait until they are gone; there are no others afterwards."""
        self._closed = True
        async with anyio.create_task_group() as tasks:
            for slot in self._slots.values():
                for host in {*slot.leaving, *slot.aside, slot.current}:
                    if host is not None:
                        tasks.start_soon(host.close)

    # -- who uses them

    def join(self, host: Host, tenant: Tenant) -> None:
        """A session lives on this host from now on."""
        for slot in self._slots.values():
            if slot.has(host):
                slot.join(host, tenant)

    def leave(self, host: Host, tenant: Tenant) -> None:
        """It lives there no more."""
        for slot in self._slots.values():
            slot.leave(host, tenant)
            if host in slot.aside:
                self._background.start(self._end_in_a_while, slot, host)

    def is_used(self, host: Host, but_by: Tenant) -> bool:
        """Whether ending this host would cost another session something."""
        return any(slot.is_used(host, but_by) for slot in self._slots.values() if slot.has(host))

    def is_outdated(self, host: Host) -> bool:
        """Whether the host is to be replaced."""
        return any(slot.outdated for slot in self._slots.values() if slot.current is host)

    async def end(self, host: Host) -> None:
        """End this host, which gives back everything it holds; its sessions are resumed when they are used again."""
        for slot in self._slots.values():
            if slot.current is host:
                await slot.replace()

    async def _end_in_a_while(self, slot: HostSlot, host: Host) -> None:
        """A session that leaves may come back at once, as when opening it anew does not succeed."""
        await anyio.sleep(ASIDE_SECONDS)
        await slot.end_if_unused(host)

    # -- one host

    def _slot(self, profile: LaunchProfile) -> HostSlot:
        if profile not in self._slots:
            self._slots[profile] = HostSlot(partial(self._started, profile), self._program)
        return self._slots[profile]

    def _program(self) -> BinaryIdentity | None:
        try:
            return identify(resolve_muse(self._choice), self._choice.environ)
        except HostStartError:
            return None

    def _started(self, profile: LaunchProfile) -> Host:
        launched, self._launched = self._launched, None
        if launched is not None:
            command = launched.command
            muse = command.argv[:-1]
        else:
            muse = resolve_muse(self._choice)
            command = serve_command(muse, self._choice, profile.flags)
        known = self._remembered_abilities()
        host = Host(
            command,
            self._client_version,
            startup_timeout=self._choice.startup_timeout,
            close_grace=self._choice.close_grace,
            throttle=self._throttle,
            frame_cap=self._choice.frame_cap,
            probes=True,
            abilities=known,
        )
        if self.on_question is not None:
            host.on_question = partial(self.on_question, host)
        self._background.start(host.run, launched)
        self._background.start(self._note_version, muse)
        if known is None:
            self._background.start(self._note_abilities, muse, host)
        return host

    async def _serve_flags(self) -> frozenset[str]:
        async with self._asking_flags:
            if self._flags is None and self._choice.muse:
                self._flags = stand_in_flags(self._choice.muse)
            if self._flags is None:
                muse = resolve_muse(self._choice)
                identity = identify(muse, self._choice.environ) if self._cache is not None else None
                if self._cache is not None and identity is not None:
                    self._flags = self._cache.flags(identity)
                if self._flags is None:
                    # Once, also if it does not answer: each question may take seconds.
                    self._flags = await serve_flags(muse, with_mark(self._choice.environ))
                    if self._cache is not None and identity is not None:
                        self._cache.put_flags(identity, self._flags)
            return self._flags

    def _note(self, host: Host) -> None:
        handshake = host.handshake
        if self._noted or handshake is None:
            return
        self._noted = True
        log.info("the host is %s %s", handshake.server_name, handshake.server_version)
        if handshake.sandbox_problem:
            log.warning("the host cannot sandbox tools: %s", handshake.sandbox_problem)
        if is_newer_than_known(parse_server_version(handshake.server_version)):
            log.warning("host version %s is newer than any this adapter knows; going on", handshake.server_version)
        elif known_fingerprint(handshake.fingerprint) is None:
            log.info("the schema of host version %s is not known", handshake.server_version)

    async def _note_version(self, muse: Sequence[str]) -> None:
        probe = await probe_version(muse, environ=with_mark(self._choice.environ), cache=self._cache)
        if probe.problem is None:
            log.info("%s is %s", muse[0], scrub(probe.version.raw, self._choice.environ))
        elif not self._version_doubted:
            self._version_doubted = True
            details = scrub(probe.details or probe.problem, self._choice.environ)
            log.warning("the version of %s is not known: %s", muse[0], details)

    async def _note_abilities(self, muse: Sequence[str], host: Host) -> None:
        """Remember what the host can do for the next start, if the program is still the one that was asked."""
        identity = identify(muse, self._choice.environ) if self._cache is not None else None
        if self._cache is None or identity is None:
            return
        try:
            abilities = await host.abilities()
        except HostGone:
            return
        if host.has_told_abilities and identify(muse, self._choice.environ) == identity:
            self._cache.put_abilities(identity, abilities)
