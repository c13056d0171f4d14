"""How a session comes to be open: made, taken from the host's store, or copied from another one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from adapter.acp import errors
from adapter.acp.mcp_servers import McpServer
from adapter.acp.params import NewSession, StoredSession
from adapter.acp.workspace import require_directory, same_directory, unusable_directory
from adapter.bridge.card_style import CardStyle
from adapter.bridge.conversation import Conversation
from adapter.bridge.execution_hosts import ExecutionHosts
from adapter.bridge.host_choice import HostChoice
from adapter.bridge.mcp import session_config
from adapter.bridge.outcomes import client_error
from adapter.bridge.sessions import Sessions
from adapter.bridge.stored_output.command_line import output_command
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Peer

_AT_REST: Final = frozenset({"idle", "notLoaded"})
"""Statuses of a session in which no turn runs (`msp.md §10.1`)."""


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
            RpcError: the folder cannot be used, or the host did not start it.
        """
        require_directory(asked.cwd)
        async with self._host() as host:
            config = await _config(host, asked.mcp_servers)
            request: Params = {"workspaceRoot": asked.cwd} | config
            trace = asked.trace.wire() if asked.trace else None
            session = _session(await self._opened(host, "session/start", request, trace))
            session_id = session.get("sessionId")
            if not isinstance(session_id, str):
                raise errors.host_error("malformedResult", "The host did not name the session")
            conversation = self._conversation(session_id, asked.cwd, host, config)
            async with self._left_again(conversation):
                conversation.opened(session)
                await conversation.options.settled()
            self._sessions.add(conversation)
            return conversation

    async def open_stored(self, asked: StoredSession, *, replay: bool) -> Conversation:
        """Open a session the host has stored, with or without showing what happened in it so far. One that is open on
        this connection already is opened anew. Without, nothing is shown until `Conversation.go_on`.

        Raises:
            RpcError: there is none, it belongs to another folder, or it is in use.
        """
        require_directory(asked.cwd)
        session_id = asked.session_id
        with self._sessions.opening(session_id) as known:
            async with self._host(session_id) as host, _left_alone(known):
                config = await _config(host, asked.mcp_servers)
                request: Params = {"sessionId": session_id, "excludeItems": True} | config
                trace = asked.trace.wire() if asked.trace else None
                session = _session(await self._opened(host, "session/resume", request, trace))
                conversation = self._conversation(session_id, asked.cwd, host, config)
                async with self._left_again(conversation):
                    root = session.get("workspaceRoot")
                    if isinstance(root, str) and not same_directory(root, asked.cwd):
                        raise unusable_directory(asked.cwd, "is not the folder of this session")
                    conversation.opened(session)
                    if replay:
                        at_rest = session.get("status") in _AT_REST
                        await conversation.replay(at_rest=at_rest, tasks_go_on=known is not None)
                        conversation.show_facts()
                    else:
                        conversation.hold()
                    await conversation.options.settled()
                self._sessions.add(conversation)
                return conversation

    async def _opened(self, host: Host, method: str, request: Params, trace: Params | None) -> Params:
        """What the host answers to opening a session. If nobody waits for it any more when it comes, the host lets go
        of the session again."""
        opening = _Opening()
        self._background.start(self._open_at, host, method, request, trace, opening)
        try:
            await opening.done.wait()
        except BaseException:
            opening.wanted = False
            if opening.done.is_set():
                self._background.start(self._leave_opened, host, opening.outcome)
            raise
        if isinstance(opening.outcome, Exception):
            raise opening.outcome
        assert opening.outcome is not None
        return opening.outcome

    async def _open_at(self, host: Host, method: str, request: Params, trace: Params | None, opening: _Opening) -> None:
        try:
            opening.outcome = await host.command(method, request, trace=trace)
        except (MspError, HostGone) as error:
            opening.outcome = error
        finally:
            opening.outcome = opening.outcome or errors.internal_error()
            opening.done.set()
        if not opening.wanted:
            await self._leave_opened(host, opening.outcome)

    async def _leave_opened(self, host: Host, outcome: Params | Exception | None) -> None:
        session_id = _session(outcome).get("sessionId") if isinstance(outcome, dict) else None
        if isinstance(session_id, str) and self._sessions.find(session_id) is None:
            await self._conversation(session_id, "", host, {}).leave()

    def _conversation(self, session_id: str, cwd: str, host: Host, config: Params) -> Conversation:
        terms = self._sessions.terms
        version = host.handshake.server_version if host.handshake is not None else ""
        style = CardStyle(session_id, cwd, terms.output_offered, output_command(self._choice, version))
        return Conversation(style, host, self._hosts, self._peer, self._background, config, terms)

    @asynccontextmanager
    async def _left_again(self, conversation: Conversation) -> AsyncIterator[None]:
        """If nothing comes of opening a session that was not open, its host does not keep it from others."""
        try:
            yield
        except BaseException:
            if self._sessions.find(conversation.session_id) is None:
                self._background.start(conversation.leave)
            raise

    @asynccontextmanager
    async def _host(self, session_id: str | None = None) -> AsyncIterator[Host]:
        """A ready host that keeps the events of the session that is being opened; its failures as the client's
        errors."""
        try:
            host = await self._hosts.host()
            async with host.opening():
                yield host
        except (MspError, HostGone) as error:
            raise client_error(error, session_id) from None


@asynccontextmanager
async def _left_alone(known: Conversation | None) -> AsyncIterator[None]:
    """While a session is opened anew, its events are for the conversation to come, not for the one there is; that one
    goes on if nothing comes of it."""
    if known is not None:
        known.unlisten()
    try:
        yield
    except BaseException:
        if known is not None:
            known.listen()
        raise


async def _config(host: Host, servers: tuple[McpServer, ...]) -> Params:
    config = session_config(servers, (await host.ready()).granted)
    return {"config": config} if config else {}


def _session(result: Params) -> dict[str, Any]:
    session = result.get("session")
    return session if isinstance(session, dict) else {}
