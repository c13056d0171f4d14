"""How a session comes to be open: made, taken from the host's store, or copied from another one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import anyio
from anyio import to_thread

from adapter.acp import errors
from adapter.acp.mcp_servers import McpServer
from adapter.acp.params import ForkSession, NewSession, StoredSession
from adapter.acp.text import one_line
from adapter.acp.trace import TraceContext
from adapter.acp.workspace import require_roots
from adapter.bridge.conversation import Conversation
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.hosts.host_slot import is_durable
from adapter.bridge.hosts.launch_profile import USUAL
from adapter.bridge.hosts.reloading import once_free
from adapter.bridge.outcomes import client_error
from adapter.bridge.sessions import Sessions
from adapter.bridge.stored_output.command_line import output_command
from adapter.bridge.stored_sessions.mcp import session_config, unstartable
from adapter.bridge.stored_sessions.refused_openings import (
    copy_named,
    cut_named,
    has_other_servers,
    lost_named,
    no_copy,
    require_copy,
    require_folder,
    require_several_roots,
)
from adapter.bridge.stored_sessions.roots import Roots
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.msp.errors import HostClosed, HostGone, MspError
from adapter.msp.history import Opened
from adapter.msp.host import Host
from adapter.msp.ids import uuid7
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import Peer


class _Opening:
    """A session on its way to being open; `wanted` unless its request was taken back before the answer."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.wanted = True
        self.outcome: Params | Exception | None = None


class Openings:
    """Opens sessions on the shared hosts and hands them to `sessions`."""

    def __init__(
        self, choice: HostChoice, hosts: ExecutionHosts, peer: Peer, background: Background, sessions: Sessions
    ) -> None:
        self._choice = choice
        self._hosts = hosts
        self._peer = peer
        self._background = background
        self._sessions = sessions

    async def start(self, asked: NewSession) -> Conversation:
        """A new session. The client's spelling of the folder is kept.

        Raises:
            RpcError: the folders or the MCP servers cannot be used, the host did not start it, or too many are open.
        """
        with self._sessions.coming():
            return await self._start(asked)

    async def _start(self, asked: NewSession) -> Conversation:
        roots = require_roots(asked.cwd, asked.additional_directories)

        async def request(host: Host) -> Params:
            asked_for: Params = {"workspaceRoot": asked.cwd}
            if asked.additional_directories:
                await require_several_roots(host)
                asked_for = {"workspaceRoot": roots[0], "workspaceRoots": list(roots)}
            return asked_for | await _config(host, asked.mcp_servers)

        async with self._at_host("session/start", request, asked.trace) as (host, sent, opened):
            session_id = opened.named("session/start")
            conversation = self._conversation(session_id, asked.cwd, host, sent, Roots(roots))
            conversation.started(sent)
            async with self._left_again(conversation):
                await self._check_servers(conversation, asked)
                return await self._enter(conversation, opened)

    async def open_stored(self, asked: StoredSession, *, replay: bool) -> Conversation:
        """Open a session the host has stored, with or without showing what happened in it so far. One that is open on
        this connection already is opened anew.

        Raises:
            RpcError: there is none, it belongs to another folder, it is in use, or too many are open.
        """
        roots = require_roots(asked.cwd, asked.additional_directories)
        session_id = asked.session_id

        if self._sessions.find(session_id) is None:
            self._sessions.require_room()
        with self._sessions.opening(session_id) as known:
            # It is being opened from now on, also while its host has still to let go of it.
            await self._sessions.left(session_id)
            async with lost_named(known), _left_alone(known):
                try:
                    return await self._resume(asked, roots, known, replay=replay)
                except RpcError as error:
                    if not has_other_servers(error):
                        raise
                await self._unload(session_id, known)
                return await self._resume(asked, roots, known, replay=replay)

    async def _resume(
        self,
        asked: StoredSession,
        roots: tuple[str, ...],
        known: Conversation | None,
        *,
        replay: bool,
        patient: bool = False,
    ) -> Conversation:
        async def request(host: Host) -> Params:
            if asked.additional_directories:
                await require_several_roots(host)
            config = await _config(host, asked.mcp_servers)
            return {"sessionId": asked.session_id, "history": "snapshot"} | config

        async with self._at_host("session/resume", request, asked.trace, asked.session_id, patient=patient) as (
            host,
            sent,
            opened,
        ):
            held = await _roots(host, opened, roots)
            conversation = self._conversation(asked.session_id, asked.cwd, host, sent, held)
            conversation.found(self._hosts.profile_of(host), known)
            async with self._left_again(conversation):
                opened.named("session/resume", asked.session_id)
                require_folder(opened, asked.cwd)
                await self._check_servers(conversation, asked)
                return await self._enter(conversation, opened, replay=replay, anew=known is not None)

    async def _unload(self, session_id: str, known: Conversation | None) -> None:
        """Have the host let go of a session that it has loaded with other MCP servers: it keeps those it has (`peers.md
        §7`, trap 36).

        Raises:
            RpcError: it cannot, or something would be lost.
        """
        try:
            host = await self._hosts.host(self._hosts.home(session_id))
            if not await _can(host, "session/leave"):
                problem = "the session is loaded with others, and this Muse host cannot change them; pass the same ones"
                raise errors.invalid_params("mcpServers", problem)
        except HostGone as error:
            raise client_error(error, session_id) from None
        if known is not None and not known.is_idle:
            raise errors.session_busy(session_id, "Its MCP servers can change only when nothing runs in the session")
        await self._sessions.let_go(self._conversation(session_id, "", host, {}, Roots(()))).wait()

    async def fork(self, asked: ForkSession) -> Conversation:
        """A copy of a session, as a new one, opened without showing what happened in it; the session copied from stays
        as it is. Never more of it than was asked for (`peers.md §10.9`).

        Raises:
            RpcError: it cannot be copied so, or not now.
        """
        roots = require_roots(asked.cwd, asked.additional_directories)
        source = asked.session_id
        sent = anyio.Event()

        async def request(host: Host) -> Params:
            if asked.additional_directories:
                await require_several_roots(host)
            if await _config(host, asked.mcp_servers) and not await _can(host, "session/leave"):
                # A copy is loaded without servers, and what is loaded takes none (`peers.md §7`).
                raise errors.invalid_params("mcpServers", "this Muse host gives no MCP servers to a copy of a session")
            read = await host.query("session/read", {"sessionId": source, "excludeItems": True})
            require_folder(Opened.read(read), asked.cwd)
            cut = {"cutPoint": {"lastTurnId": asked.last_turn_id}} if asked.last_turn_id is not None else {}
            sent.set()
            return {"sessionId": source, "excludeItems": True} | cut

        with self._sessions.coming(), self._sessions.opening(source) as known:
            await self._sessions.left(source)
            if known is not None and not known.is_idle:
                raise errors.session_busy(source, "Something still runs in the session; copy it when that has ended")
            async with (
                cut_named(),
                copy_named(sent),
                self._at_host("session/fork", request, asked.trace, source) as (host, _, copied),
            ):
                copy_id = copied.named("session/fork")
                if copy_id == source:
                    raise no_copy("The Muse host did not name the copy")
                self._require_new(copy_id)
                try:
                    return await self._enter_copy(host, copied, copy_id, asked, roots, known)
                except HostClosed:
                    if not is_durable(host):
                        raise
                require_copy(copied, asked)
                # There is a copy now, and the next host has it too, when this one has let go of it.
                copy = StoredSession(copy_id, asked.cwd, asked.mcp_servers, asked.additional_directories, asked.trace)
                return await self._resume(copy, roots, known, replay=False, patient=True)

    async def _enter_copy(
        self,
        host: Host,
        copied: Opened,
        copy_id: str,
        asked: ForkSession,
        roots: tuple[str, ...],
        source: Conversation | None,
    ) -> Conversation:
        config = await _config(host, asked.mcp_servers)
        conversation = self._conversation(copy_id, asked.cwd, host, config, await _roots(host, copied, roots))
        conversation.found(self._hosts.profile_of(host), source)
        self._hosts.settled(copy_id, self._hosts.profile_of(host))
        async with self._left_again(conversation):
            require_copy(copied, asked)
            await self._check_servers(conversation, asked)
            if config:
                await conversation.leave()
            request: Params = {"sessionId": copy_id, "history": "snapshot"} | config
            resumed = Opened.read(await self._opened(host, "session/resume", request, None, uuid7()))
            resumed.named("session/resume", copy_id)
            return await self._enter(conversation, resumed, replay=False)

    async def _check_servers(self, conversation: Conversation, asked: NewSession | StoredSession) -> None:
        """Let the user know of MCP servers that cannot be started; a session does without them."""
        if not asked.mcp_servers:
            return
        for name in await to_thread.run_sync(unstartable, asked.mcp_servers, asked.cwd, self._choice.environ):
            conversation.warn(f"The MCP server {one_line(name, 100)} cannot be started", "Its command is not there")

    async def _enter(
        self, conversation: Conversation, opened: Opened, *, replay: bool | None = None, anew: bool = False
    ) -> Conversation:
        """Let a session that the host has opened be one of this connection; called in `_left_again`. `replay` tells
        whether its past is shown, None that it has none; `anew`: it was open before."""
        conversation.opened(opened)
        if replay:
            await conversation.replay(tasks_go_on=anew)
        elif replay is not None:
            conversation.resume()
        await conversation.options.settled()
        self._sessions.add(conversation)
        return conversation

    @asynccontextmanager
    async def _at_host(
        self,
        method: str,
        request: Callable[[Host], Awaitable[Params]],
        trace: TraceContext | None,
        session_id: str | None = None,
        *,
        patient: bool = False,
    ) -> AsyncIterator[tuple[Host, Params, Opened]]:
        """What a host answers to opening a session: the host, what it was sent, and the answer. It keeps the session's
        events meanwhile; its failures are the client's errors. A host that ends before it answers costs nothing: the
        next one is asked under the same id, until the one that ends no longer holds the session. `patient`: one has
        ended before."""
        command_id = uuid7()
        events = AsyncExitStack()

        async def begin(host: Host) -> tuple[Host, Params, Opened]:
            nonlocal patient
            waits, patient = patient, True
            async with AsyncExitStack() as kept:
                await kept.enter_async_context(host.opening())
                sent = await request(host)
                wire = trace.wire() if trace else None
                result = await self._opened(host, method, sent, wire, command_id, patient=waits)
                events.push_async_exit(kept.pop_all())
                return host, sent, Opened.read(result)

        async with events:
            try:
                yield await self._hosts.attempt(begin, self._hosts.home(session_id) if session_id else USUAL)
            except (MspError, HostGone) as error:
                raise client_error(error, session_id) from None

    async def _opened(
        self,
        host: Host,
        method: str,
        request: Params,
        trace: Params | None,
        command_id: str,
        *,
        patient: bool = False,
    ) -> Params:
        """What the host answers to opening a session. If nobody waits for it any more when it comes, the host lets go
        of the session again."""
        opening = _Opening()
        ask = partial(once_free, host) if patient else host.command
        self._background.start(
            self._open_at, host, opening, partial(ask, method, request, trace=trace, command_id=command_id)
        )
        try:
            await opening.done.wait()
        except BaseException:
            opening.wanted = False
            if opening.done.is_set():
                self._background.start(self._let_go, host, opening.outcome)
            raise
        if isinstance(opening.outcome, Exception):
            raise opening.outcome
        assert opening.outcome is not None
        return opening.outcome

    async def _open_at(self, host: Host, opening: _Opening, command: Callable[[], Awaitable[Params]]) -> None:
        try:
            opening.outcome = await command()
        except (MspError, HostGone) as error:
            opening.outcome = error
        finally:
            if opening.outcome is None:
                opening.outcome = errors.internal_error()
            opening.done.set()
        if not opening.wanted:
            await self._let_go(host, opening.outcome)

    async def _let_go(self, host: Host, outcome: Params | Exception | None) -> None:
        session_id = Opened.read(outcome).session_id if isinstance(outcome, dict) else None
        if session_id is not None and not self._sessions.is_wanted(session_id):
            self._sessions.let_go(self._conversation(session_id, "", host, {}, Roots(())))

    def _conversation(self, session_id: str, cwd: str, host: Host, sent: Params, roots: Roots) -> Conversation:
        terms = self._sessions.terms
        version = host.handshake.server_version if host.handshake is not None else ""
        style = CardStyle(
            session_id,
            cwd,
            terms.output_offered,
            output_command(self._choice, version),
            terminals=terms.client.terminal_output,
            compactions=terms.client.compaction,
            tasks=terms.client.async_tasks,
        )
        config = {member: sent[member] for member in ("config",) if member in sent}
        return Conversation(style, host, self._hosts, self._peer, self._background, config, terms, roots)

    def _require_new(self, session_id: str) -> None:
        """Raises:
        RpcError: what the host calls new is open already, and stays as it is.
        """
        if self._sessions.find(session_id) is not None:
            raise errors.host_error("malformedResult", "The Muse host named a session that is open already")

    @asynccontextmanager
    async def _left_again(self, conversation: Conversation) -> AsyncIterator[None]:
        """If nothing comes of opening a session that was not open, its host does not keep it from others."""
        try:
            yield
        except BaseException:
            if self._sessions.find(conversation.session_id) is None:
                self._sessions.let_go(conversation)
            raise


@asynccontextmanager
async def _left_alone(known: Conversation | None) -> AsyncIterator[None]:
    """While a session is opened anew, its events are for the conversation to come, not for the one there is; that one
    goes on if nothing comes of it, and hears what has come meanwhile."""
    if known is None:
        yield
        return
    # On its way to a host it would listen again where it has arrived.
    await known.arrived()
    async with known.host.opening():
        known.unlisten()
        try:
            yield
        except BaseException:
            known.listen()
            raise


async def _config(host: Host, servers: tuple[McpServer, ...]) -> Params:
    config = session_config(servers, (await host.ready()).granted)
    return {"config": config} if config else {}


async def _can(host: Host, method: str) -> bool:
    return method in (await host.abilities()).methods


async def _roots(host: Host, opened: Opened, roots: tuple[str, ...]) -> Roots:
    """The folders of a session that was there before; the host knows the first one by its own spelling."""
    return Roots((opened.root or roots[0], *roots[1:]), untold=(await host.abilities()).workspace_roots)
