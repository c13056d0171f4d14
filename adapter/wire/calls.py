"""The peer's requests that are being worked on. Each gets exactly one answer, however its work ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from adapter.wire import envelope
from adapter.wire.envelope import Id, Params, Request, RpcError
from adapter.wire.framing import FrameTooLarge
from adapter.wire.notes import RateLimited
from adapter.wire.options import PeerOptions
from adapter.wire.writer import FrameWriter

MAX_INCOMING_REQUESTS = 1024
"""Requests of the peer that may be open at once; one more is refused, so a flood cannot grow memory."""

MAX_INCOMING_BYTES = 64 * 1024 * 1024
"""What they may have together, but for what is not needed of them any more: a few prompts with pictures, not a
thousand. One alone may always be as long as a message may."""

TOO_LARGE_TOGETHER = "The open requests are too large together; send this one again when others are answered"

SMALL_REQUEST = 16 * 1024
"""Bytes up to which a request is not counted: as many as may be open are far below the bound."""

BARE_MESSAGE_CHARS = 1000
"""What is kept of the message of an error that does not fit a frame."""

Work: TypeAlias = Coroutine[Any, Any, Params]


class Call:
    """A request of the peer that is being worked on.

    `on_cancel` is called instead of cancelling the work when the peer takes the request back; it must make the work
    end soon by itself.
    """

    __slots__ = ("id", "method", "on_cancel", "params", "scope", "size", "trace")

    def __init__(self, request: Request, size: int = 0) -> None:
        self.id = request.id
        self.method = request.method
        self.params = request.params
        self.trace = request.trace
        self.scope = anyio.CancelScope()
        self.size = size
        """Bytes that are kept of it."""
        self.on_cancel: Callable[[], None] | None = None

    def cancel(self) -> None:
        """The peer no longer wants the answer to be worked out."""
        if self.on_cancel is not None:
            self.on_cancel()
        else:
            self.scope.cancel()

    def forget(self) -> None:
        """What it says has been passed on: it takes no room any more, however long its work goes on."""
        self.params, self.size = {}, 0


class OpenCalls:
    """The table of them. `start` gives the work of a call, or its result, or raises what it is refused with."""

    def __init__(
        self, start: Callable[[Call], Work | Params], writer: FrameWriter, options: PeerOptions, faults: RateLimited
    ) -> None:
        self._start = start
        self._writer = writer
        self._options = options
        self._faults = faults
        self._open: dict[Id, Call] = {}
        self._idle = anyio.Event()

    def has(self, call_id: Id) -> bool:
        """Whether a request with this id is open."""
        return call_id in self._open

    @property
    def is_any_open(self) -> bool:
        """Whether a request is being worked on."""
        return bool(self._open)

    def refuse_duplicate(self) -> None:
        """Answer a request under an id that is in use. The id belongs to the first one: an answer that named it could
        be taken for that one's."""
        self._writer.put(envelope.failure_object(None, _duplicate()))

    def accept(self, request: Request, tasks: TaskGroup, size: int = 0) -> None:
        """Begin to work on a request of so many bytes, or refuse it at once."""
        if self.has(request.id):
            return self.refuse_duplicate()
        if len(self._open) >= MAX_INCOMING_REQUESTS:
            return self._answer(request.id, _too_many({"limit": MAX_INCOMING_REQUESTS}))
        if size <= SMALL_REQUEST:
            size = 0
        elif (held := sum(call.size for call in self._open.values())) and held + size > MAX_INCOMING_BYTES:
            # Not their number, as the message has it.
            data = {"details": TOO_LARGE_TOGETHER, "limitBytes": MAX_INCOMING_BYTES}
            return self._answer(request.id, _too_many(data))
        call = Call(request, size)
        try:
            work = self._start(call)
        except Exception as error:
            return self._answer(call.id, self._refusal(call, error))
        if isinstance(work, dict):
            return self._answer(call.id, work)
        self._open[call.id] = call
        tasks.start_soon(self._run, call, work)
        return None

    def cancel(self, call_id: Id) -> None:
        """The peer takes a request back; nothing happens if it is not open."""
        call = self._open.get(call_id)
        if call is not None:
            call.cancel()

    def cut(self) -> None:
        """End all work now."""
        for call in self._open.values():
            call.scope.cancel()

    async def finished(self) -> None:
        """Wait until none is open."""
        while self._open:
            self._idle = anyio.Event()
            await self._idle.wait()

    async def _run(self, call: Call, work: Work) -> None:
        data = {"reason": "cancelled", "details": "The request was cancelled"}
        outcome: Params | RpcError = RpcError(self._options.cancelled_code, "Request cancelled", data)
        try:
            with call.scope:
                outcome = await work
        except Exception as error:
            outcome = self._refusal(call, error)
        finally:
            del self._open[call.id]
            self._answer(call.id, outcome)
            if not self._open:
                self._idle.set()

    def _refusal(self, call: Call, error: Exception) -> RpcError:
        """What a request is refused with when its work ended in `error`."""
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, RpcError):
            return error
        self._faults.failure(error, "%s: %s failed", self._options.name, call.method)
        return _internal_error()

    def _answer(self, request_id: Id, outcome: Params | RpcError) -> None:
        """Queue the one answer; where it cannot be written, one that says so. Never raises."""
        try:
            return self._writer.put(_answer_object(request_id, outcome))
        except FrameTooLarge as error:
            substitute = _bare(outcome) if isinstance(outcome, RpcError) else _too_large(error)
        except TypeError as error:
            self._faults.failure(error, "%s: an answer could not be encoded", self._options.name)
            substitute = _bare(outcome) if isinstance(outcome, RpcError) else _internal_error()
        # With a cap of a few hundred bytes nothing may fit.
        with contextlib.suppress(FrameTooLarge):
            self._writer.put(envelope.failure_object(request_id, substitute))


def _answer_object(request_id: Id, outcome: Params | RpcError) -> dict[str, Any]:
    if isinstance(outcome, RpcError):
        return envelope.failure_object(request_id, outcome)
    return envelope.success_object(request_id, outcome)


def _duplicate() -> RpcError:
    return RpcError(envelope.INVALID_REQUEST, "A request with this id is still open", {"reason": "duplicateId"})


def _too_many(data: dict[str, Any]) -> RpcError:
    return RpcError(envelope.INTERNAL_ERROR, "Too many open requests", {"reason": "tooManyRequests", **data})


def _internal_error() -> RpcError:
    data = {"reason": "internal", "details": "See the log on stderr"}
    return RpcError(envelope.INTERNAL_ERROR, "Internal error", data)


def _too_large(error: FrameTooLarge) -> RpcError:
    data = {"reason": "responseTooLarge", "limitBytes": error.cap}
    return RpcError(envelope.INTERNAL_ERROR, "The answer does not fit a message", data)


def _bare(error: RpcError) -> RpcError:
    return RpcError(error.code, error.message[:BARE_MESSAGE_CHARS])
