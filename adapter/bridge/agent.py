"""The agent an editor talks to: what it offers, and how it stops."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any, Final, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from adapter.acp import errors, params
from adapter.bridge.consent.stray_questions import StrayQuestions
from adapter.bridge.conversation import Conversation
from adapter.bridge.extensions import STEER
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.hosts.login_methods import LOGIN_METHOD
from adapter.bridge.hosts.logout import run_logout
from adapter.bridge.offer import ON_EVERY_HOST, Settled, capabilities_on, initialize_result
from adapter.bridge.outcomes import client_error
from adapter.bridge.sessions import Sessions
from adapter.bridge.stored_output.negotiation import negotiate
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.reader import OutputReader
from adapter.bridge.stored_sessions.deletion import Deletions
from adapter.bridge.stored_sessions.listing import Listing
from adapter.bridge.stored_sessions.opening import Openings
from adapter.bridge.terms import Terms
from adapter.bridge.tool_cards import tasks
from adapter.bridge.turns import steering
from adapter.msp.errors import HostGone
from adapter.msp.launch import Launched
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, Work
from host_probe import VersionAsked, VersionCache, hear_version

log = logging.getLogger("adapter.bridge")

ABILITIES_WAIT: Final = 0.5
"""Seconds that `initialize` waits for what the host can do, if that is not known from an earlier start; it has to be
answered soon."""

STOP_GRACE: Final = 1.0
"""Seconds running turns have to end when the client has gone; some clients kill us 1.6 s after they closed our stdin
(`acp.md §1`)."""

NOT_YET_OPEN: Final = "The session was not open yet when the prompt came; it is now, try again"

Asked = TypeVar("Asked")


def needs_login(
    run: Callable[[MuseAgent, Asked, Call], Awaitable[Params]],
) -> Callable[[MuseAgent, Asked, Call], Coroutine[Any, Any, Params]]:
    """A method that is refused while it is known that there is no login."""

    @wraps(run)
    async def checked(self: MuseAgent, asked: Asked, call: Call) -> Params:
        with self.login_needed(run.__name__):
            return await run(self, asked, call)

    return checked


class MuseAgent:
    """One client's agent (`adapter.acp.agent.AgentProtocol`)."""

    def __init__(
        self,
        version: str,
        choice: HostChoice,
        cache: VersionCache | None,
        background: Background,
        settled: Settled | None = None,
        launched: Launched | None = None,
        asked_version: VersionAsked | None = None,
    ) -> None:
        """`settled`: the client has been answered so. `launched`: its first host, already started. `asked_version`: it
        has been asked for its version."""
        self.capabilities = ON_EVERY_HOST
        self._version = version
        self._choice = choice
        self._cache = cache
        self._background = background
        self._settled = settled
        self._launched = launched
        self._asked_version = asked_version

    def connect(self, peer: Peer) -> None:
        """Whom to speak to; once, before the first request."""
        choice, background = self._choice, self._background
        self._peer = peer
        self._hosts = ExecutionHosts(choice, self._version, background, peer.room, self._cache)
        self._sessions = Sessions(background, lambda session_id: self.reader.end_session(session_id))
        self._hosts.on_question = StrayQuestions(self._sessions.all_open, self._sessions.has_closed, background).receive
        self._openings = Openings(choice, self._hosts, peer, background, self._sessions)
        self._listing = Listing(self._hosts, self._sessions)
        self._deletions = Deletions(self._hosts, self._sessions, background)
        self._read_host = ReadHost(choice, self._version, background, choice.read_host_idle)
        self.reader = OutputReader(
            self._read_host, choice.startup_timeout, self._sessions, background, peer.writable, self._is_busy
        )
        if self._settled is not None:
            self._settle(self._settled)
        if self._launched is not None:
            self._hosts.begin(self._launched)

    def login_needed(self, method: str) -> AbstractContextManager[None]:
        """Around what needs a login (`adapter.bridge.hosts.login.Login.needed`)."""
        return self._hosts.login.needed(method)

    def _is_busy(self) -> bool:
        """Whether any session has a prompt to answer."""
        return any(conversation.is_busy for conversation in self._sessions.all_open())

    async def initialize(self, asked: params.Initialize, call: Call) -> Params:
        """Answered without waiting for any host; the first one starts meanwhile (`acp.md §2`)."""
        self._hosts.begin()
        if self._settled is None:
            begun, self._asked_version = self._asked_version, None
            output = await negotiate(asked.client.stored_output, self._choice, self._cache, begun)
            capabilities = capabilities_on(await self._hosts.known_abilities(ABILITIES_WAIT))
            # Another `initialize` may have been answered meanwhile: what holds for the connection is settled once.
            if self._settled is None:
                self._settle(Settled(asked.client, output, capabilities))
        assert self._settled is not None
        return initialize_result(self._settled, asked.client, self._choice.muse, self._version)

    def _settle(self, settled: Settled) -> None:
        client, output = settled.client, settled.output
        self._settled = settled
        self.capabilities = settled.capabilities
        self.reader.negotiation = output
        self._sessions.terms = Terms(
            client=client,
            output_offered=output.offered,
            allow_all=self._choice.allow_all,
            frame_cap=self._choice.frame_cap,
        )
        log.info("client: %s %s", client.client_name, client.client_version)
        if output.asked and not output.offered:
            log.info("stored output is not offered: %s", output.reason)

    def begin_steering(self, call: Call) -> Work:
        """`_muse/steer` and `_session/steering`: add words to the turn that runs.

        Raises:
            RpcError: -32601; it was not negotiated. -32602, -32002, -32600; what was asked, no such session or turn.
        """
        client = self._sessions.terms.client
        if not (client.steering if call.method == STEER else client.session_steering):
            raise errors.method_not_found(call.method)
        asked = steering.read_asked(call, self.capabilities)
        return steering.in_form(call.method, self._sessions.get(asked.session_id).steering.begin(asked))

    def begin_task(self, call: Call) -> Work:
        """`_muse/task`: stop work that outlives turns.

        Raises:
            RpcError: -32601; it was not negotiated. -32602, -32002; what was asked, or no such session.
        """
        if not self._sessions.terms.client.async_tasks:
            raise errors.method_not_found(call.method)
        asked = tasks.read_request(call.params)
        return self._sessions.get(asked.session_id).tasks.cancel(asked.target)

    async def authenticate(self, asked: params.Authenticate, call: Call) -> Params:
        """Muse keeps its own login, and only a host can tell whether it is good: the next one is asked anew."""
        if asked.method_id != LOGIN_METHOD:
            raise errors.invalid_params("methodId", "is not a login this agent can run")
        self._hosts.login.try_anew()
        try:
            await self._hosts.host()
        except HostGone as error:
            raise client_error(error) from None
        return {}

    async def logout(self, asked: params.Logout, call: Call) -> Params:
        """Close every session, have Muse forget its login, and end the hosts that know it."""
        async with anyio.create_task_group() as tasks:
            for conversation in self._sessions.all_open():
                tasks.start_soon(self._sessions.close, conversation.session_id)
        await run_logout(self._choice)
        login = self._hosts.login
        login.log_out()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hosts.end_all)
            tasks.start_soon(self._read_host.close)
        # A key in the environment is a login that only who started us can take away.
        return {"_meta": {"muse/authStatus": {"configured": True, "source": "environment"}}} if login.has_key else {}

    @needs_login
    async def new_session(self, asked: params.NewSession, call: Call) -> Params:
        """Start a session in a folder."""
        conversation = await self._openings.start(asked)
        return {"sessionId": conversation.session_id} | self._opened(conversation)

    @needs_login
    async def load_session(self, asked: params.StoredSession, call: Call) -> Params:
        """Open a stored session and show all of it, then answer."""
        return self._opened(await self._openings.open_stored(asked, replay=True))

    @needs_login
    async def resume_session(self, asked: params.StoredSession, call: Call) -> Params:
        """Open a stored session and show nothing of it before the answer; what can be read of it is told afterwards."""
        return self._opened(await self._openings.open_stored(asked, replay=False))

    @needs_login
    async def fork_session(self, asked: params.ForkSession, call: Call) -> Params:
        """Open a copy of a session, as with resuming it."""
        conversation = await self._openings.fork(asked)
        copied = {"sourceSessionId": asked.session_id, "explicitBoundary": asked.last_turn_id is not None}
        members = {"sessionId": conversation.session_id, "_meta": {params.FORK: copied}}
        return members | self._opened(conversation)

    def _opened(self, conversation: Conversation) -> Params:
        """What every answer to opening a session tells. The session goes on when that has been sent."""
        # It begins then, since nothing is waited for until then.
        self._background.start(conversation.go_on)
        return conversation.options.result()

    @needs_login
    async def list_sessions(self, asked: params.ListSessions, call: Call) -> Params:
        """A page of the sessions that can be opened."""
        return await self._listing.page(asked)

    def close_session(self, asked: params.CloseSession, call: Call) -> Work:
        """End a session on this connection; it stays stored. Whatever is asked for behind it finds it closing."""
        is_open = self._sessions.find(asked.session_id) is not None
        return self._closed(asked.session_id, self._sessions.close(asked.session_id) if is_open else None)

    async def _closed(self, session_id: str, closing: Awaitable[None] | None) -> Params:
        if closing is None:
            # What was asked for just before may still have to begin, and be to open it.
            await checkpoint()
            closing = self._sessions.close(session_id)
        await closing
        return {}

    async def delete_session(self, asked: params.DeleteSession, call: Call) -> Params:
        """Take a session away for good; one that is not there is no error."""
        await self._deletions.delete(asked.session_id)
        return {}

    async def set_mode(self, asked: params.SetMode, call: Call) -> Params:
        """Choose what Muse may do in a session, in the older form."""
        return await self._sessions.get(asked.session_id).options.set_mode(asked.mode_id)

    async def set_config_option(self, asked: params.SetConfigOption, call: Call) -> Params:
        """Choose a value of one of a session's options; the answer has all of them."""
        return await self._sessions.get(asked.session_id).options.set_option(asked.config_id, asked.value)

    def admit_prompt(self, asked: params.Prompt, call: Call) -> Work:
        """Put a prompt in its session's line.

        Raises:
            RpcError: -32600; the session is being opened anew. -32602; the prompt is too large for the host.
        """
        if self._sessions.find(asked.session_id) is None:
            return self._absent(asked.session_id)
        return self._sessions.get(asked.session_id).admit(asked.blocks, asked.trace, call)

    async def _absent(self, session_id: str) -> Params:
        """The answer to a prompt whose session is not open. What was asked for just before it may still have to begin,
        and be to open that session; or it may have done so since.

        Raises:
            RpcError: -32600; the session is being opened, or has been opened. -32002; it is not there.
        """
        await checkpoint()
        self._sessions.get(session_id)
        raise errors.session_busy(session_id, NOT_YET_OPEN)

    def cancel(self, asked: params.Cancel) -> None:
        """Stop what a session does; an unknown one does nothing."""
        for conversation in self._sessions.all_open():
            if conversation.session_id == asked.session_id:
                conversation.cancel()

    def client_gone(self) -> None:
        """The client sends nothing any more: end what runs, so that everything is answered soon."""
        self.reader.stop()
        for conversation in self._sessions.all_open():
            conversation.cancel(STOP_GRACE)

    async def close(self) -> None:
        """End every host and wait until they are gone."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hosts.close)
            tasks.start_soon(self.reader.close)
            if self._asked_version is not None:
                tasks.start_soon(partial(hear_version, self._asked_version, timeout=0))
