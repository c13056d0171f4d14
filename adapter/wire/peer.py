"""One JSON-RPC connection: one reader, one writer, correlation in both directions, and a drain at the end.

The same class serves the client's side (ACP), the host's side (MSP) and the simulated host. Frames are handled in
arrival order by plain functions; only the work of a request runs in a task of its own, so nothing that is slow delays
the next frame.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeAlias

import anyio
import msgspec
from anyio.abc import TaskGroup

from adapter.wire import envelope
from adapter.wire.envelope import Id, Params, RpcError
from adapter.wire.framing import FrameDecoder, FrameTooLarge, Oversize
from adapter.wire.notes import RateLimited
from adapter.wire.outbox import Mergeable, Outbox

log = logging.getLogger("adapter.wire")

OUTBOX_HIGH_WATER = 1024 * 1024
"""Bytes waiting to be written above which reading pauses: what a slow client makes us hold at most, beyond one read's
worth."""

MAX_INCOMING_REQUESTS = 1024
"""Requests of the peer that may be open at once; one more is refused, so a flood cannot grow memory."""

DRAIN_SECONDS = 5.0
"""How long after end of input open requests may still be answered and the last bytes may take to leave
(`fault-cases.md E6`)."""

CANCEL_METHOD = "$/cancel_request"

Work: TypeAlias = Coroutine[Any, Any, Params]


class ByteSource(Protocol):
    """Where a peer reads from."""

    async def receive(self) -> bytes:
        """What has arrived; empty at end of input."""


class ByteSink(Protocol):
    """Where a peer writes to."""

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""


class PeerClosed(Exception):
    """The connection ended before the answer came, or was already over."""


class BadAnswer(Exception):
    """The peer answered a request with something that is no response."""


class Call:
    """A request of the peer that is being worked on.

    `on_cancel` is called instead of cancelling the work when the peer takes the request back; it must make the work
    end soon by itself.
    """

    __slots__ = ("id", "method", "on_cancel", "params", "scope", "trace")

    def __init__(self, request: envelope.Request) -> None:
        self.id = request.id
        self.method = request.method
        self.params = request.params
        self.trace = request.trace
        self.scope = anyio.CancelScope()
        self.on_cancel: Callable[[], None] | None = None

    def cancel(self) -> None:
        """The peer no longer wants the answer to be worked out."""
        if self.on_cancel is not None:
            self.on_cancel()
        else:
            self.scope.cancel()


class Handler(Protocol):
    """What the owner of a peer decides."""

    def on_notification(self, method: str, params: Params) -> None:
        """Called in arrival order; must not block."""

    def on_request(self, call: Call) -> Work:
        """Called in arrival order; what has to happen in that order happens here, the rest in the returned work.

        Raises:
            RpcError: refused, here or in the work.
        """


class PeerOptions(msgspec.Struct, frozen=True):
    """What differs between the two sides."""

    name: str
    inbound_cap: int
    outbound_cap: int
    logger: logging.Logger = log
    answers_garbage: bool = True
    """Whether a line that is no frame is answered with an error: an agent does, the client of a host has nobody to
    tell."""
    cancel_method: str | None = None
    """The notification that takes a request back, both ways; None where the protocol has none."""
    cancelled_code: int = -32800
    drain_seconds: float = DRAIN_SECONDS


class _Waiter:
    __slots__ = ("answer", "event")

    def __init__(self) -> None:
        self.event = anyio.Event()
        self.answer: Params | Exception | None = None

    def settle(self, answer: Params | Exception) -> None:
        if self.answer is None:
            self.answer = answer
            self.event.set()


class Peer:
    """One connection. `run` it, and use `request` and `notify` from other tasks while it runs."""

    def __init__(self, source: ByteSource, sink: ByteSink, handler: Handler, options: PeerOptions) -> None:
        self._source = source
        self._sink = sink
        self._handler = handler
        self._options = options
        self._outbox = Outbox(options.outbound_cap)
        self._wake = anyio.Event()
        self._relaxed: anyio.Event | None = None
        self._waiters: dict[Id, _Waiter] = {}
        self._calls: dict[Id, Call] = {}
        self._next_id = 0
        self._tasks: TaskGroup | None = None
        self._read_scope = anyio.CancelScope()
        self._writing = False
        self._idle = anyio.Event()
        self._garbage = RateLimited(options.logger)
        self.ended: str | None = None
        """Why the connection is over: `eof`, `broken` (nobody reads what we write), `failed` or `closed`; None while
        it lives."""
        self.throttle: Callable[[], Awaitable[None]] = self.writable
        """Awaited between reads; the host side waits here for the client's outbox."""

    # -- the life of the connection

    async def run(self, at_end_of_input: Callable[[], None] | None = None) -> None:
        """Serve until the peer closes its end, then drain: open requests are answered, the last byte is on the pipe,
        then this returns.

        `at_end_of_input` is called once, when no more input can come; it makes long work end. Work that does not end
        within `drain_seconds` is cancelled and answered with the cancelled code.
        """
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(self._write_loop)
                await self._read_loop()
                self._fail_waiters()
                if at_end_of_input is not None:
                    at_end_of_input()
                await self._drain()
                tasks.cancel_scope.cancel()
        finally:
            self.ended = self.ended or "closed"
            self._tasks = None
            self._fail_waiters()

    def stop_reading(self) -> None:
        """End as if the peer had closed its end."""
        self._end("closed")

    async def _read_loop(self) -> None:
        decoder = FrameDecoder(self._options.inbound_cap)
        with self._read_scope:
            while self.ended is None:
                try:
                    data = await self._source.receive()
                except OSError as error:
                    self._options.logger.warning("%s: reading failed: %s", self._options.name, error)
                    data = b""
                for line in decoder.feed(data) if data else decoder.end():
                    self._handle(line)
                if not data:
                    self._end("eof")
                await self.throttle()

    def _end(self, why: str) -> None:
        if self.ended is None:
            self.ended = why
            self._read_scope.cancel()

    async def _drain(self) -> None:
        """Let open requests finish and the outbox empty, each within the same bound; afterwards cut what is left."""
        if self.ended != "broken":
            with anyio.move_on_after(self._options.drain_seconds):
                await self._calls_finished()
        for call in list(self._calls.values()):
            call.scope.cancel()
        with anyio.move_on_after(self._options.drain_seconds):
            await self._calls_finished()
            await self.flushed()

    async def _calls_finished(self) -> None:
        while self._calls:
            self._idle = anyio.Event()
            await self._idle.wait()

    # -- reading

    def _handle(self, line: bytes | Oversize) -> None:
        frame = envelope.read_line(line)
        try:
            if isinstance(frame, envelope.Notification):
                if frame.method == self._options.cancel_method:
                    self._cancel_call(frame.params)
                else:
                    self._handler.on_notification(frame.method, frame.params)
            elif isinstance(frame, envelope.Success):
                self._settle(frame.id, frame.result)
            elif isinstance(frame, envelope.Request):
                self._accept(frame)
            elif isinstance(frame, envelope.Failure):
                self._settle(frame.id, frame.error)
            elif isinstance(frame, envelope.BadResponse):
                self._garbage.warning("%s: ignored a response with %s", self._options.name, frame.problem)
                self._settle(frame.id, BadAnswer(frame.problem))
            else:
                self._refuse(frame)
        except Exception:
            # One frame's fault must not end the connection; what it was is in the log, without its content.
            self._options.logger.exception("%s: handling a frame failed", self._options.name)

    def _refuse(self, reject: envelope.Reject) -> None:
        self._garbage.warning("%s: %s", self._options.name, reject.message)
        if self._options.answers_garbage or reject.id is not None:
            self._send(envelope.failure_object(reject.id, reject.error()))

    def _settle(self, request_id: Id | None, answer: Params | Exception) -> None:
        waiter = self._waiters.pop(request_id, None) if request_id is not None else None
        if waiter is not None:
            waiter.settle(answer)
        elif request_id is None and isinstance(answer, RpcError):
            self._garbage.warning(
                "%s: the other side could not read a line of ours: %s", self._options.name, answer.message
            )
        elif not isinstance(answer, BadAnswer):
            self._options.logger.debug("%s: ignored a response to nobody", self._options.name)

    def _cancel_call(self, params: Params) -> None:
        call_id = envelope.usable_id(params.get("requestId"))
        call = self._calls.get(call_id) if call_id is not None else None
        if call is not None:
            call.cancel()

    def _accept(self, request: envelope.Request) -> None:
        if request.id in self._calls:
            # The id belongs to the first request: an answer that named it could be taken for that one's.
            error = RpcError(
                envelope.INVALID_REQUEST, "A request with this id is still open", {"reason": "duplicateId"}
            )
            return self._send(envelope.failure_object(None, error))
        if self._tasks is None:
            return None
        if len(self._calls) >= MAX_INCOMING_REQUESTS:
            data = {"reason": "tooManyRequests", "limit": MAX_INCOMING_REQUESTS}
            return self._answer_error(request.id, RpcError(envelope.INTERNAL_ERROR, "Too many open requests", data))
        call = Call(request)
        try:
            work = self._handler.on_request(call)
        except RpcError as error:
            return self._answer_error(request.id, error)
        except Exception:
            self._options.logger.exception("%s: %s failed", self._options.name, request.method)
            return self._answer_error(request.id, _internal_error())
        self._calls[request.id] = call
        self._tasks.start_soon(self._work, call, work)
        return None

    async def _work(self, call: Call, work: Work) -> None:
        outcome: Params | RpcError = RpcError(
            self._options.cancelled_code, "The request was cancelled", {"reason": "cancelled"}
        )
        try:
            with call.scope:
                outcome = await work
        except RpcError as error:
            outcome = error
        except Exception:
            self._options.logger.exception("%s: %s failed", self._options.name, call.method)
            outcome = _internal_error()
        finally:
            work.close()
            del self._calls[call.id]
            if isinstance(outcome, RpcError):
                self._answer_error(call.id, outcome)
            else:
                self._answer(call.id, outcome)
            if not self._calls:
                self._idle.set()

    # -- writing

    def _answer(self, request_id: Id, result: Params) -> None:
        try:
            self._outbox.put(envelope.success_object(request_id, result))
        except FrameTooLarge as error:
            data = {"reason": "responseTooLarge", "limitBytes": error.cap}
            return self._answer_error(
                request_id, RpcError(envelope.INTERNAL_ERROR, "The answer does not fit a message", data)
            )
        except TypeError:
            self._options.logger.exception("%s: an answer could not be encoded", self._options.name)
            return self._answer_error(request_id, _internal_error())
        self._wake.set()
        return None

    def _answer_error(self, request_id: Id, error: RpcError) -> None:
        try:
            self._outbox.put(envelope.failure_object(request_id, error))
        except (FrameTooLarge, TypeError):
            self._outbox.put(envelope.failure_object(request_id, RpcError(error.code, error.message[:1000])))
        self._wake.set()

    def _send(self, frame: dict[str, Any]) -> None:
        if self.ended == "broken":
            return
        self._outbox.put(frame)
        self._wake.set()

    def notify(self, method: str, params: Params | None = None, **members: Any) -> None:
        """Queue a notification; `members` stand beside `method` (`emittedAtMs`).

        Raises:
            FrameTooLarge, TypeError: it cannot be written; nothing was queued.
        """
        frame = envelope.notification_object(method, params)
        if members:
            frame.update(members)
        self._send(frame)

    def notify_mergeable(self, frame: Mergeable) -> None:
        """Queue a notification that later ones may be merged into while it waits."""
        if self.ended == "broken":
            return
        self._outbox.put_mergeable(frame)
        self._wake.set()

    async def request(self, method: str, params: Params | None = None, *, trace: Any = None) -> Params:
        """Call the peer and wait for its result.

        Cancelling the wait takes the request back where the protocol can; its late answer is ignored.

        Raises:
            RpcError: the peer refused.
            BadAnswer: the peer's answer was no response.
            PeerClosed: the connection ended first.
            FrameTooLarge, TypeError: the request cannot be written; nothing was sent.
        """
        if self.ended is not None:
            raise PeerClosed(self._options.name)
        request_id = self._next_id
        self._next_id += 1
        self._send(envelope.request_object(request_id, method, params, trace))
        waiter = self._waiters[request_id] = _Waiter()
        try:
            await waiter.event.wait()
        finally:
            if self._waiters.pop(request_id, None) is not None and self._options.cancel_method is not None:
                self._send(envelope.notification_object(self._options.cancel_method, {"requestId": request_id}))
        answer = waiter.answer
        if isinstance(answer, Exception):
            raise answer
        assert answer is not None
        return answer

    def _fail_waiters(self) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.settle(PeerClosed(self._options.name))

    async def writable(self) -> None:
        """Wait until the outbox is below its high-water mark."""
        while self._outbox.size > OUTBOX_HIGH_WATER and self.ended != "broken":
            await self._relax()

    async def flushed(self) -> None:
        """Wait until everything queued has been written."""
        while (self._outbox.size or self._writing) and self.ended != "broken":
            await self._relax()

    async def _relax(self) -> None:
        if self._relaxed is None:
            self._relaxed = anyio.Event()
        await self._relaxed.wait()

    async def _write_loop(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            data = self._outbox.take()
            self._writing = True
            try:
                await self._sink.send(data)
            except OSError as error:
                self._options.logger.info("%s: nobody reads what is written: %s", self._options.name, error)
                return self._end("broken")
            finally:
                self._writing = False
                if self._relaxed is not None:
                    self._relaxed.set()
                    self._relaxed = None


def _internal_error() -> RpcError:
    return RpcError(
        envelope.INTERNAL_ERROR, "Internal error", {"reason": "internal", "details": "See the log on stderr"}
    )
