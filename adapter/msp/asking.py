"""Asking a host: each question has its time, each command its id and its answer; and what it says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from adapter.msp import budgets
from adapter.msp.abilities import NOBODY
from adapter.msp.errors import HostClosed, HostGone, MalformedResult, MspError, RequestTimeout
from adapter.msp.event_routing import EventRouting
from adapter.msp.host_command import HostCommand
from adapter.msp.ids import uuid7
from adapter.msp.overheard import Overheard
from adapter.msp.patience import Patience
from adapter.msp.secrets import scrub
from adapter.msp.server_secrets import ServerSecrets
from adapter.wire.envelope import Params, RpcError
from adapter.wire.framing import FrameTooLarge
from adapter.wire.peer import Answer, BadAnswer, Peer, PeerClosed

CHEAP_QUESTION: Final = ("session/list", {"limit": 1, "filter": {"sessionId": {"anyOf": [NOBODY]}}})
"""What every host has to answer, and can at once."""

_TOLD_ON: Final = ("kind", "reason", "availability")
"""Members of an error's `data` that a client gets to see."""


class Asking(EventRouting):
    """A connection to a host as far as it is asked and told things; its owner sets `_peer` and `_overheard`, and runs
    `_look_whether_it_hangs` in a task of its own."""

    def __init__(self, launch: HostCommand) -> None:
        super().__init__()
        self.launch = launch
        self.gone: HostGone | None = None
        """Why it can no longer be used; None while it starts and lives."""
        self._peer: Peer | None = None
        self._patience = Patience()
        self._overheard: Overheard | None = None
        self._asking = 0
        self._asking_long: set[object] = set()
        """What is asked that may take long."""
        self._doubted = anyio.Event()
        self._server_secrets = ServerSecrets()
        self._conclusions: dict[tuple[str, str], Answer] = {}
        """What is waited for, by the notification and the command that it concludes."""
        self._over = anyio.Event()
        self._gone_event = anyio.Event()

    async def query(
        self, method: str, params: Params | None = None, *, trace: Params | None = None, seconds: float | None = None
    ) -> Params:
        """Ask something that changes nothing; `seconds` is how long the answer may take, if not as long as others.

        Raises:
            MspError: the host refused.
            HostGone: no usable answer came; `RequestTimeout`, `MalformedResult` and `HostClosed` tell why.
        """
        timeout = budgets.request_timeout(method, command=False) if seconds is None else seconds
        return await self._call(method, params, trace, timeout)

    async def command(
        self,
        method: str,
        params: Params,
        *,
        command_id: str | None = None,
        trace: Params | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> Params:
        """Send a command under one `commandId`, again if the host was too busy to admit it and it is still `wanted`,
        and return the ack.

        The ack is admission, not outcome (`msp.md §6`).

        Raises:
            MspError, HostGone: as for `query`.
        """
        command_id = command_id or uuid7()
        timeout = budgets.request_timeout(method, command=True)
        attempt = 1
        while True:
            heard = self._times_heard()
            try:
                ack = await self._call(method, {**params, "commandId": command_id}, trace, timeout)
            except MspError as error:
                delay = budgets.retry_delay(error.kind, attempt)
                if delay is None or not wanted():
                    raise
                await anyio.sleep(delay)
                if not wanted():
                    raise
                attempt += 1
            except RequestTimeout:
                if heard == self._times_heard():
                    self._doubted.set()
                raise
            else:
                if ack.get("commandId", command_id) != command_id:
                    raise MalformedResult(method, "the ack names another commandId")
                return ack

    async def carry_out(self, method: str, params: Params, *, conclusion: str, seconds: float) -> Params:
        """Send a command and wait for the notification `conclusion` that names it; its params.

        Raises:
            MspError, HostGone: as for `query`; `RequestTimeout`: it was admitted and not concluded within `seconds`.
        """
        command_id = uuid7()
        concluded = self._conclusions[conclusion, command_id] = Answer()
        try:
            await self.command(method, params, command_id=command_id)
            with self._patience.fail_after(seconds):
                return await concluded.wait()
        except TimeoutError:
            raise RequestTimeout(method, seconds) from None
        finally:
            del self._conclusions[conclusion, command_id]

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is being asked of it and no session is being opened."""
        return not self._asking and not self.is_opening and not self._conclusions

    def notify(self, method: str, params: Params | None = None) -> None:
        """Tell the host something it does not answer; nothing happens if it is gone."""
        if self._peer is not None:
            self._peer.notify(method, params)

    async def _call(self, method: str, params: Params | None, trace: Params | None, timeout: float) -> Params:
        if self.gone is not None:
            raise self.gone
        peer = self._peer
        if peer is None:
            raise HostClosed("the Muse host is not connected")
        self._asking += 1
        asked = object()
        if budgets.takes_long(method):
            self._asking_long.add(asked)
        if params is not None and "config" in params:
            self._server_secrets.learn(params["config"])
        try:
            with self._patience.fail_after(timeout):
                await peer.writable()
                return await peer.request(method, params, trace=trace)
        except TimeoutError:
            raise RequestTimeout(method, timeout) from None
        except RpcError as error:
            raise self._refusal(error) from None
        except BadAnswer as error:
            raise MalformedResult(method, str(error)) from None
        except FrameTooLarge as error:
            raise MspError(-32002, "inputTooLarge", str(error), data={"limitBytes": error.cap}) from None
        except PeerClosed:
            await self._gone_event.wait()
            assert self.gone is not None
            raise self.gone from None
        finally:
            self._asking -= 1
            self._asking_long.discard(asked)

    def _times_heard(self) -> int:
        return self._overheard.times if self._overheard is not None else 0

    async def _look_whether_it_hangs(self) -> None:
        """Have done with a host that let a command wait and says nothing to another question either: what is asked of
        it would wait for nothing each time, and the next one can be asked instead. One that is silent over something
        long it was asked for has its time."""
        while True:
            await self._doubted.wait()
            self._doubted = anyio.Event()
            heard, long = self._times_heard(), set(self._asking_long)
            try:
                await self.query(*CHEAP_QUESTION)
            except RequestTimeout:
                if heard == self._times_heard() and not long & self._asking_long:
                    self._declare_gone(HostClosed("the Muse host said nothing any more and was ended"))
                    return self._over.set()
            except (MspError, HostGone):
                pass

    def _refusal(self, error: RpcError) -> MspError:
        """An error answer with the host's words as they may be told on; what is echoed to the host stays as it is."""
        data = error.data or {}
        told = {name: self.scrub(data[name]) for name in _TOLD_ON if isinstance(data.get(name), str)}
        return MspError.from_error({"code": error.code, "message": self.scrub(error.message), "data": data | told})

    # -- events

    def on_notification(self, method: str, params: Params) -> None:
        """What a command waits for, and an event of a session."""
        if self._conclusions:
            concluded = self._conclusions.get((method, str(params.get("commandId"))))
            if concluded is not None:
                concluded.settle(params)
        super().on_notification(method, params)

    def _declare_gone(self, why: HostGone) -> None:
        if self.gone is None:
            self.gone = why
            for concluded in self._conclusions.values():
                concluded.settle(why)
            self._gone_event.set()

    def scrub(self, text: str) -> str:
        """Words of this host without the secrets it was given."""
        return scrub(text, self.launch.environ, self._server_secrets.values)
