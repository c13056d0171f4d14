"""From the client's frames to the agent's methods: the method table and the rules that hold for every method.

What has to happen in arrival order happens in `on_request` and `on_notification`: params are checked, a prompt takes
its place in its session, a cancel hits the prompts that came before it. The rest is the returned work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

import anyio
import msgspec

from adapter.acp import errors, params
from adapter.acp.capabilities import AgentCapabilities
from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Work

Begin = Callable[[Call], Work]


class AgentProtocol(Protocol):
    """What every agent has. What it has beyond that, as far as its capabilities say so, `_METHODS` lists.

    The awaited value is the result of the request; an `RpcError` refuses it. `call` is the request itself: a method
    that must end in its own way when the client takes the request back sets `call.on_cancel`.
    """

    capabilities: AgentCapabilities
    """What it advertises; settled when `initialize` returns."""

    async def initialize(self, asked: params.Initialize, call: Call, /) -> Params: ...

    async def authenticate(self, asked: params.Authenticate, call: Call, /) -> Params: ...

    async def new_session(self, asked: params.NewSession, call: Call, /) -> Params: ...

    def admit_prompt(self, asked: params.Prompt, call: Call, /) -> Work:
        """Called in arrival order: from here on a cancel of the session includes this prompt. The work is its turn."""

    def cancel(self, asked: params.Cancel, /) -> None:
        """Called in arrival order; unknown and idle sessions are ignored."""


class AgentDispatcher:
    """The handler of the client's peer (`adapter.wire.peer.Handler`).

    The agent's capabilities decide which optional methods exist; `extensions` adds methods of our own, which check
    their params themselves. `initialized`: the client has had its first answer already.
    """

    def __init__(
        self, agent: AgentProtocol, extensions: Mapping[str, Begin] | None = None, *, initialized: bool = False
    ) -> None:
        self._agent = agent
        self._extensions = extensions or {}
        self._initialized = initialized
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
        extension = self._extensions.get(call.method)
        if extension is not None:
            return extension(call)
        ours = self._agent.capabilities
        method = _METHODS.get(call.method)
        if method is None or not (method.capability is None or getattr(ours, method.capability)):
            raise errors.method_not_found(call.method)
        run = getattr(self._agent, method.run)
        return cast("Work", run(method.read(call.params, ours), call))

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


class _Method(msgspec.Struct, frozen=True):
    """How a method is read and run: the reader of its params, the agent's method, and the capability it belongs to."""

    read: Callable[[Params, AgentCapabilities], Any]
    run: str
    capability: str | None = None


def _plain(read: Callable[[Params], Any]) -> Callable[[Params, AgentCapabilities], Any]:
    """A reader of params that do not depend on what was advertised."""
    return lambda members, _ours: read(members)


_METHODS: Final[dict[str, _Method]] = {
    "authenticate": _Method(_plain(params.read_authenticate), "authenticate"),
    "session/new": _Method(params.read_new_session, "new_session"),
    "session/prompt": _Method(params.read_prompt_request, "admit_prompt"),
    "session/load": _Method(params.read_stored_session, "load_session", "load_session"),
    "session/resume": _Method(params.read_stored_session, "resume_session", "resume_session"),
    "session/fork": _Method(params.read_fork_session, "fork_session", "fork_session"),
    "session/list": _Method(_plain(params.read_list_sessions), "list_sessions", "list_sessions"),
    "session/close": _Method(_plain(params.read_close_session), "close_session", "close_session"),
    "session/delete": _Method(_plain(params.read_delete_session), "delete_session", "delete_session"),
    "session/set_mode": _Method(_plain(params.read_set_mode), "set_mode", "modes"),
    "session/set_config_option": _Method(_plain(params.read_set_config_option), "set_config_option", "config_options"),
    "logout": _Method(_plain(params.read_logout), "logout", "logout"),
}
