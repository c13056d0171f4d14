"""One JSON-RPC connection: one reader, one writer, correlation in both directions, and a drain at the end.

The same class serves the client's side (ACP), the host's side (MSP) and the simulated host. Frames are handled in
arrival order by plain functions; only the work of a request runs in a task of its own, so nothing that is slow delays
the next frame.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from adapter.wire import envelope
from adapter.wire.calls import MAX_INCOMING_REQUESTS, Call, OpenCalls, Work
from adapter.wire.envelope import Id, Params, RpcError
from adapter.wire.framing import FrameDecoder, Line, Oversize
from adapter.wire.notes import RateLimited
from adapter.wire.options import CANCEL_METHOD, DRAIN_SECONDS, LAST_SHARE, PeerOptions
from adapter.wire.outbox import Mergeable
from adapter.wire.room import Room
from adapter.wire.writer import ANSWERS_HIGH_WATER, OUTBOX_HIGH_WATER, ByteSink, FrameWriter

__all__ = [
    "ANSWERS_HIGH_WATER",
    "CANCEL_METHOD",
    "DRAIN_SECONDS",
    "MAX_INCOMING_REQUESTS",
    "OUTBOX_HIGH_WATER",
    "Answer",
    "BadAnswer",
    "ByteSink",
    "ByteSource",
    "Call",
    "Handler",
    "Peer",
    "PeerClosed",
    "PeerOptions",
    "Work",
]


class ByteSource(Protocol):
    """Where a peer reads from."""

    async def receive(self) -> bytes:
        """What has arrived; empty at end of input."""


class Handler(Protocol):
    """What the owner of a peer decides."""

    def on_notification(self, method: str, params: Params) -> None:
        """Called in arrival order; must not block."""

    def on_request(self, call: Call) -> Work | Params:
        """Called in arrival order; what has to happen in that order happens here, the rest in the returned work. Where
        there is none, the result is returned.

        Raises:
            RpcError: refused, here or in the work.
        """


class PeerClosed(Exception):
    """The connection ended before the answer came, or was already over."""


class BadAnswer(Exception):
    """The peer answered a request with something that is no response."""


class Answer:
    """The answer to a request that has been sent."""

    __slots__ = ("_event", "value")

    def __init__(self) -> None:
        self._event = anyio.Event()
        self.value: Params | Exception | None = None
        """The result or what was raised; None until one of them is there."""

    def settle(self, value: Params | Exception) -> None:
        self.value = value
        self._event.set()

    async def wait(self) -> Params:
        """The result, when it is there.

        Raises:
            RpcError, BadAnswer, PeerClosed: as for `Peer.request`.
        """
        await self._event.wait()
        if isinstance(self.value, Exception):
            raise self.value
        assert self.value is not None
        return self.value


class Peer:
    """One connection. `run` it once, and use `request` and `notify` from other tasks meanwhile.

    What is asked or said before `run` waits for it; afterwards a request raises `PeerClosed` and a notification is
    dropped.
    """

    def __init__(self, source: ByteSource, sink: ByteSink, handler: Handler, options: PeerOptions) -> None:
        self._source = source
        self._handler = handler
        self._options = options
        # What the peer does wrong must not use up the room for notes about what we do wrong.
        self._garbage = RateLimited(options.logger)
        self._faults = RateLimited(options.logger)
        self._writer = FrameWriter(sink, options, self._faults)
        self._calls = OpenCalls(handler.on_request, self._writer, options, self._faults)
        self._waiters: dict[Id, Answer] = {}
        self._next_id = 1
        self._read_scope: anyio.CancelScope | None = None
        self._grace_scope: anyio.CancelScope | None = None
        self.ended: str | None = None
        """Why the connection is over: `eof`, `broken` (nobody reads what we wrote), `unread` (nobody would read it),
        `failed` (reading went wrong) or `closed` (we ended it); None while it lives."""
        self.unfinished = False
        """Whether the drain ended before everything was answered and written: the peer did not read, or not in time."""
        self.throttle = self.room_for_answers()
        """What there has to be for another read; the host side looks at the client's outbox as well."""

    # -- the life of the connection

    async def run(self, at_end_of_input: Callable[[], None] | None = None) -> None:
        """Serve until the peer closes its end, then drain: open requests are answered, the last byte is on the pipe,
        then this returns.

        `at_end_of_input` is called once, when no more input can come; it makes long work end. Work that does not end
        in time is cancelled and answered with the cancelled code; the drain takes `drain_seconds` at most.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write)
                await self._read(tasks)
                self._fail_waiters()
                if at_end_of_input is not None:
                    self._tell(at_end_of_input)
                await self._drain()
                tasks.cancel_scope.cancel()
        finally:
            self.ended = self.ended or "closed"
            self._fail_waiters()

    def stop_reading(self) -> None:
        """End as if the peer had closed its end."""
        self._end("closed")

    def stop_writing(self) -> None:
        """End as if a write had failed: nobody reads any more."""
        self._writer.stop()
        self._end_unread("unread", "its end was closed")

    def _end_unread(self, why: str, shown: object) -> None:
        self._options.logger.info("%s: nobody reads what is written: %s", self._options.name, shown)
        self._end(why)
        if self._grace_scope is not None:
            self._grace_scope.cancel()

    def _end(self, why: str) -> None:
        if self.ended is None:
            self.ended = why
            if self._read_scope is not None:
                self._read_scope.cancel()

    async def _read(self, tasks: TaskGroup) -> None:
        with anyio.CancelScope() as self._read_scope:
            try:
                await self._read_lines(tasks)
            except Exception as error:
                self._options.logger.warning("%s: reading failed: %r", self._options.name, error)
                self._end("failed")

    async def _read_lines(self, tasks: TaskGroup) -> None:
        decoder = FrameDecoder(self._options.inbound_cap)
        while self.ended is None:
            data = await self._source.receive()
            self._handle_all(decoder.feed(data) if data else decoder.end(), tasks)
            if not data:
                return self._end("eof")
            if self._is_endless(decoder.dropped):
                self._options.logger.warning("%s: %d bytes without an end of line", self._options.name, decoder.dropped)
                return self._end("failed")
            if self._calls.is_any_open:
                # What has been asked is begun before there is a look at the room for its answers.
                await checkpoint()
            if not self.throttle.is_there():
                await self.throttle.wait()

    def _is_endless(self, dropped: int) -> bool:
        """Whether a line of which so much was thrown away is not expected to end any more."""
        bound = self._options.endless_line
        return bound is not None and dropped > self._options.inbound_cap + bound

    async def _write(self) -> None:
        try:
            await self._writer.run()
        except Exception as error:
            self._end_unread("broken", repr(error))

    def _tell(self, at_end_of_input: Callable[[], None]) -> None:
        try:
            at_end_of_input()
        except Exception as error:
            self._faults.failure(error, "%s: ending the work failed", self._options.name)

    async def _drain(self) -> None:
        """Let open requests finish, cut those that do not, and let the outbox empty: all of it within one bound."""
        seconds = self._options.drain_seconds
        end = anyio.current_time() + seconds
        if not self._writer.over:
            with anyio.CancelScope(deadline=end - seconds * LAST_SHARE) as self._grace_scope:
                await self._calls.finished()
        self._calls.cut()
        with anyio.CancelScope(deadline=end) as rest:
            await self._calls.finished()
            await self.flushed()
        self.unfinished = rest.cancelled_caught or self._writer.lost
        if rest.cancelled_caught and seconds:
            self._options.logger.warning("%s: did not read everything before the end", self._options.name)

    # -- reading

    def _handle_all(self, lines: list[Line | Oversize], tasks: TaskGroup) -> None:
        join = self._options.join
        # Taken out one by one, so that a long line is gone when its frame is worked on.
        lines.reverse()
        before: tuple[Line | Oversize, envelope.Frame] | None = None
        while lines:
            line = lines.pop()
            frame = envelope.read_line(line)
            if before is not None:
                if join is not None and _join(join, before[1], frame):
                    continue
                self._handle(*before, tasks)
            before = line, frame
        if before is not None:
            self._handle(*before, tasks)

    def _handle(self, line: Line | Oversize, frame: envelope.Frame, tasks: TaskGroup) -> None:
        try:
            if isinstance(frame, envelope.Notification):
                if frame.is_unread:
                    self._tell_unreadable(line)
                if frame.method == self._options.cancel_method:
                    self._cancel_call(frame.params)
                else:
                    self._handler.on_notification(frame.method, frame.params)
            elif isinstance(frame, envelope.Success):
                self._settle(frame.id, frame.result)
            elif isinstance(frame, envelope.Request):
                assert not isinstance(line, Oversize), "which is refused"
                self._calls.accept(frame, tasks, len(line))
            elif isinstance(frame, envelope.Failure):
                self._settle(frame.id, frame.error)
            elif isinstance(frame, envelope.BadResponse):
                self._garbage.warning("%s: ignored a response with %s", self._options.name, frame.problem)
                self._settle(frame.id, BadAnswer(frame.problem))
            else:
                if frame.id is None and frame.reason in envelope.UNREADABLE:
                    self._tell_unreadable(line)
                self._refuse(frame)
        except Exception as error:
            # One frame's fault must not end the connection; what it was is in the log, without its content.
            self._faults.failure(error, "%s: handling a frame failed", self._options.name)

    def _tell_unreadable(self, line: Line | Oversize) -> None:
        if self._options.on_unreadable is not None:
            self._options.on_unreadable(line.prefix if isinstance(line, Oversize) else bytes(line))

    def _refuse(self, reject: envelope.Reject) -> None:
        if reject.is_bare and reject.id in self._waiters:
            return self._settle(reject.id, BadAnswer("neither result nor error"))
        self._garbage.warning("%s: %s", self._options.name, reject.message)
        if reject.id is not None and self._calls.has(reject.id):
            # The id belongs to the request that is open, whatever else is wrong with this one.
            self._calls.refuse_duplicate()
        elif self._options.answers_garbage or reject.id is not None:
            self._writer.put(envelope.failure_object(reject.id, self._options.refusal(reject)))
        return None

    def _settle(self, request_id: Id | None, answer: Params | Exception) -> None:
        waiter = self._waiters.pop(request_id, None) if request_id is not None else None
        if waiter is not None:
            waiter.settle(answer)
        elif request_id is None and isinstance(answer, RpcError):
            # Its words may repeat the line.
            self._garbage.warning(
                "%s: the other side could not read a line of ours (error %d)", self._options.name, answer.code
            )
        elif not isinstance(answer, BadAnswer):
            self._options.logger.debug("%s: ignored a response to nobody", self._options.name)

    def _cancel_call(self, params: Params) -> None:
        call_id = envelope.usable_id(params.get("requestId"))
        if call_id is not None:
            self._calls.cancel(call_id)

    # -- writing

    def notify(self, method: str, params: Params | None = None, **members: Any) -> None:
        """Queue a notification; `members` stand beside `method` (`emittedAtMs`).

        Raises:
            FrameTooLarge, TypeError: it cannot be written; nothing was queued.
        """
        frame = envelope.notification_object(method, params)
        if members:
            frame.update(members)
        self._writer.put(frame)

    def notify_mergeable(self, frame: Mergeable) -> None:
        """Queue a notification that later ones may be merged into while it waits.

        Raises:
            FrameTooLarge, TypeError: it is long and cannot be written; nothing was queued.
        """
        self._writer.put_mergeable(frame)

    async def request(self, method: str, params: Params | None = None, *, trace: Any = None) -> Params:
        """Call the peer and wait for its result, for as long as the connection lives.

        Cancelling the wait takes the request back where the protocol can; its late answer is ignored.

        Raises:
            RpcError: the peer refused.
            BadAnswer: the peer's answer was no response.
            PeerClosed: the connection ended first.
            FrameTooLarge, TypeError: the request cannot be written; nothing was sent.
        """
        request_id, answer = self._ask(method, params, trace)
        try:
            return await answer.wait()
        finally:
            if self._waiters.pop(request_id, None) is not None and self._options.cancel_method is not None:
                self.notify(self._options.cancel_method, {"requestId": request_id})

    def ask(self, method: str, params: Params | None = None) -> Answer:
        """Queue a request now, in front of everything that is queued later, for an answer to be waited for or not.

        Raises:
            PeerClosed, FrameTooLarge, TypeError: it cannot be written; nothing was sent.
        """
        return self._ask(method, params, None)[1]

    def _ask(self, method: str, params: Params | None, trace: Any) -> tuple[Id, Answer]:
        if self.ended is not None or self._writer.over:
            raise PeerClosed(self._options.name)
        request_id = self._next_id
        self._next_id += 1
        self._writer.put(envelope.request_object(request_id, method, params, trace))
        answer = self._waiters[request_id] = Answer()
        return request_id, answer

    def _fail_waiters(self) -> None:
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.settle(PeerClosed(self._options.name))

    async def writable(self) -> None:
        """Wait until what is not written yet is below `OUTBOX_HIGH_WATER`, or the connection no longer writes."""
        await self._writer.writable()

    @property
    def room(self) -> Room:
        """The same as something to look at."""
        return Room(self._writer.has_room, self._writer.writable)

    def room_for_answers(self, beside: int = 0) -> Room:
        """There is some while what is not written yet, `beside` so many bytes, is below `ANSWERS_HIGH_WATER`, or when
        the connection no longer writes."""
        mark = ANSWERS_HIGH_WATER + beside
        return Room(partial(self._writer.has_room, mark), partial(self._writer.writable, mark))

    async def flushed(self) -> None:
        """Wait until everything queued has been written, or the connection no longer writes."""
        await self._writer.flushed()


def _join(join: Callable[[str, Params, Params], bool], earlier: envelope.Frame, later: envelope.Frame) -> bool:
    return (
        type(earlier) is envelope.Notification
        and type(later) is envelope.Notification
        and earlier.method == later.method
        and join(earlier.method, earlier.params, later.params)
    )
