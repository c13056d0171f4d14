"""The agent an editor talks to: what it offers, how its sessions begin, and how it stops."""

from __future__ import annotations

import logging
from typing import Final

from adapter.acp import errors, params
from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities
from adapter.acp.workspace import require_directory
from adapter.bridge.execution_hosts import ExecutionHosts
from adapter.bridge.mcp import session_config
from adapter.bridge.outcomes import client_error
from adapter.bridge.session import Conversation
from adapter.msp.errors import HostGone, MspError
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, Work

log = logging.getLogger("adapter.bridge")

PROTOCOL_VERSION: Final = 1
LOGIN_METHOD: Final = "muse-login"
TERMINAL_LOGIN_METHOD: Final = "muse-login-terminal"

STOP_GRACE: Final = 1.0
"""Seconds running turns have to end when the client has gone; some clients kill us 1.6 s after they closed our stdin
(`acp.md §1`)."""


class MuseAgent:
    """One client's agent (`adapter.acp.agent.AgentProtocol`)."""

    capabilities: Final = AgentCapabilities()

    def __init__(self, version: str, background: Background) -> None:
        self._version = version
        self._background = background
        self._conversations: dict[str, Conversation] = {}

    def connect(self, peer: Peer, hosts: ExecutionHosts) -> None:
        """Whom to speak to on either side; once, before the first request."""
        self._peer = peer
        self._hosts = hosts

    async def initialize(self, params: params.Initialize, call: Call) -> Params:
        """Answered without waiting for any host; the first one starts meanwhile (`acp.md §2`)."""
        log.info("client: %s %s", params.client.client_name, params.client.client_version)
        self._hosts.begin()
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": self.capabilities.wire(),
            "agentInfo": {"name": "muse-adapter", "title": "Muse Code", "version": self._version},
            "authMethods": _auth_methods(params.client),
        }

    async def authenticate(self, params: params.Authenticate, call: Call) -> Params:
        """There is nothing to do but to see whether a host is there: Muse keeps its own login."""
        if params.method_id != LOGIN_METHOD:
            raise errors.invalid_params("methodId", "is not a login this agent can run")
        try:
            await self._hosts.host()
        except HostGone as error:
            raise client_error(error) from None
        return {}

    async def new_session(self, params: params.NewSession, call: Call) -> Params:
        """Start a session in a directory. The client's spelling of the directory is kept."""
        require_directory(params.cwd)
        try:
            host = await self._hosts.host()
            async with host.opening():
                request: Params = {"workspaceRoot": params.cwd}
                config = session_config(params.mcp_servers, (await host.ready()).granted)
                if config:
                    request["config"] = config
                trace = params.trace.wire() if params.trace else None
                result = await host.command("session/start", request, trace=trace)
                session = result.get("session")
                session_id = session.get("sessionId") if isinstance(session, dict) else None
                if not isinstance(session_id, str):
                    raise errors.host_error("malformedResult", "The host did not name the session")
                conversation = Conversation(session_id, params.cwd, host, self._hosts, self._peer, self._background)
                self._conversations[session_id] = conversation
                conversation.listen()
        except (MspError, HostGone) as error:
            raise client_error(error) from None
        return {"sessionId": session_id}

    def admit_prompt(self, params: params.Prompt, call: Call) -> Work:
        """Put a prompt in its session's line."""
        conversation = self._conversations.get(params.session_id)
        if conversation is None:
            raise errors.session_unknown(params.session_id)
        return conversation.admit(params.blocks, params.trace, call)

    def cancel(self, params: params.Cancel) -> None:
        """Stop what a session does; an unknown one does nothing."""
        conversation = self._conversations.get(params.session_id)
        if conversation is not None:
            conversation.cancel()

    def client_gone(self) -> None:
        """The client sends nothing any more: end what runs, so that everything is answered soon."""
        for conversation in self._conversations.values():
            conversation.cancel(STOP_GRACE)


def _auth_methods(client: ClientCapabilities) -> list[Params]:
    methods: list[Params] = [
        {
            "id": LOGIN_METHOD,
            "name": "Muse login",
            "description": "Uses the login of Muse Code; run `muse login` in a terminal if there is none",
        }
    ]
    if client.auth_terminal:
        methods.append(
            {
                "type": "terminal",
                "id": TERMINAL_LOGIN_METHOD,
                "name": "Log in to Muse",
                "description": "Runs `muse login` in a terminal",
                "args": ["login"],
                "env": {},
            }
        )
    return methods
