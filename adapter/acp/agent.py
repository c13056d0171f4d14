"""From the client's frames to the agent's methods: the method table and the rules that hold for every method.

What has to happen in arrival order happens in `on_request` and `on_notification`: params are checked, a prompt takes
its place in its session, a cancel hits the prompts that came before it. The rest is the returned work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, TypeVar, cast

import anyio

from adapter.acp import errors, params
from adapter.acp.capabilities import AgentCapabilities
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Work

P = TypeVar("P")

Begin = Callable[[Call], Work]


class AgentProtocol(Protocol):
    """What every agent has.

    The awaited value is the result of the request; an `RpcError` refuses it. `call` is the request itself: a method
    that must end in its own way when the client takes the request back sets `call.on_cancel`.
    """

    async def initialize(self, asked: params.Initialize, call: Call, /) -> Params: ...

    async def authenticate(self, asked: params.Authenticate, call: Call, /) -> Params: ...

    async def new_session(self, asked: params.NewSession, call: Call, /) -> Params: ...

    def admit_prompt(self, asked: params.Prompt, call: Call, /) -> Work:
        """Called in arrival order: from here on a cancel of the session includes this prompt. The work is its turn."""

    def cancel(self, asked: params.Cancel, /) -> None:
        """Called in arrival order; unknown and idle sessions are ignored."""


class OptionalMethods(Protocol):
    """What an agent has as far as its capabilities say so."""

    async def load_session(self, asked: params.StoredSession, call: Call, /) -> Params: ...

    async def resume_session(self, asked: params.StoredSession, call: Call, /) -> Params: ...

    async def list_sessions(self, asked: params.ListSessions, call: Call, /) -> Params: ...

    async def close_session(self, asked: params.CloseSession, call: Call, /) -> Params: ...

    async def delete_session(self, asked: params.DeleteSession, call: Call, /) -> Params: ...

    async def set_mode(self, asked: params.SetMode, call: Call, /) -> Params: ...

    async def set_config_option(self, asked: params.SetConfigOption, call: Call, /) -> Params: ...

    async def logout(self, asked: params.Logout, call: Call, /) -> Params: ...


class AgentDispatcher:
    """The handler of the client's peer (`adapter.wire.peer.Handler`).

    `capabilities` decides which optional methods exist; `extensions` adds methods of our own, which check their
    params themselves.
    """

    def __init__(
        self, agent: AgentProtocol, capabilities: AgentCapabilities, extensions: Mapping[str, Begin] | None = None
    ) -> None:
        self._agent = agent
        self._methods = {**_method_table(agent, capabilities), **(extensions or {})}
        self._initialized = False
        self._initializing: anyio.Event | None = None

    def on_notification(self, method: str, params: Params) -> None:
        """`session/cancel`, or nothing: what we do not know is ignored (`fault-cases.md D3`)."""
        if method == "session/cancel":
            self._cancel(params)

    def on_request(self, call: Call) -> Work:
        """The work of one request.

        Requests that come while the first `initialize` is worked on wait for it, so that a client may write both at
        once.

        Raises:
            RpcError: not initialized, no such method, or params that are not as they must be.
        """
        if call.method == "initialize":
            return self._begin_initialize(call)
        if self._initialized:
            return self._begin(call)
        if self._initializing is not None:
            return self._begin_after(self._initializing, call)
        raise errors.not_initialized()

    def _begin(self, call: Call) -> Work:
        if call.method == "session/cancel":
            # A notification by the protocol; a client that sends it as a request wants the same.
            self._cancel(call.params)
            return _nothing()
        begin = self._methods.get(call.method)
        if begin is None:
            raise errors.method_not_found(call.method)
        return begin(call)

    async def _begin_after(self, initializing: anyio.Event, call: Call) -> Params:
        await initializing.wait()
        if not self._initialized:
            raise errors.not_initialized()
        return await self._begin(call)

    def _begin_initialize(self, call: Call) -> Work:
        asked = params.read_initialize(call.params)
        self._initializing = anyio.Event()
        return self._initialize(asked, call, self._initializing)

    async def _initialize(self, asked: params.Initialize, call: Call, done: anyio.Event) -> Params:
        try:
            result = await self._agent.initialize(asked, call)
            self._initialized = True
            return result
        finally:
            if self._initializing is done:
                self._initializing = None
            done.set()

    def _cancel(self, members: Params) -> None:
        cancelled = params.read_cancel(members)
        if cancelled is not None:
            self._agent.cancel(cancelled)


async def _nothing() -> Params:
    return {}


def _method_table(agent: AgentProtocol, ours: AgentCapabilities) -> dict[str, Begin]:
    """The methods that exist; an optional one exactly if its capability says so.

    Raises:
        AttributeError: the agent lacks a method that its capabilities promise.
    """
    table: dict[str, Begin] = {
        "authenticate": _checked(params.read_authenticate, agent.authenticate),
        "session/new": _checked(partial(params.read_new_session, ours=ours), agent.new_session),
        "session/prompt": _checked(partial(params.read_prompt_request, ours=ours), agent.admit_prompt),
    }
    optional = cast("OptionalMethods", agent)
    if ours.load_session:
        table["session/load"] = _checked(partial(params.read_stored_session, ours=ours), optional.load_session)
    if ours.resume_session:
        table["session/resume"] = _checked(partial(params.read_stored_session, ours=ours), optional.resume_session)
    if ours.list_sessions:
        table["session/list"] = _checked(params.read_list_sessions, optional.list_sessions)
    if ours.close_session:
        table["session/close"] = _checked(params.read_close_session, optional.close_session)
    if ours.delete_session:
        table["session/delete"] = _checked(params.read_delete_session, optional.delete_session)
    if ours.modes:
        table["session/set_mode"] = _checked(params.read_set_mode, optional.set_mode)
    if ours.config_options:
        table["session/set_config_option"] = _checked(params.read_set_config_option, optional.set_config_option)
    if ours.logout:
        table["logout"] = _checked(params.read_logout, optional.logout)
    return table


def _checked(read: Callable[[Params], P], run: Callable[[P, Call], Work]) -> Begin:
    def begin(call: Call) -> Work:
        return run(read(call.params), call)

    return begin
