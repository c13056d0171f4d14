"""What a host tells, to whoever listens to the session it is about."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

from adapter.msp.joining import join
from adapter.msp.vocabulary import SERVER_REQUESTS
from adapter.msp.weight import weight
from adapter.wire.envelope import METHOD_NOT_FOUND, Params, RpcError
from adapter.wire.peer import Call

log = logging.getLogger("adapter.msp")

Sink: TypeAlias = Callable[[str, Params], None]

QUESTIONS = SERVER_REQUESTS | {"approval/requested", "userInput/requested"}
"""What the user is asked by; it must reach somebody in every session, or a turn waits for ever."""

MAX_HELD_EVENTS = 10_000
"""Events kept for sessions whose opening has not been answered yet, or that are being loaded."""

MAX_HELD_BYTES = 8 * 1024 * 1024
"""What they may take together."""

MAX_LOSSY_SESSIONS = 1000
"""Sessions remembered as having lost some; if there are more, every one counts as such until all are open."""

MAX_LOSSY_ID_CHARS = 1024
"""Characters of the id of one that is remembered; no real one has so many."""

EVENTS_LOST = "muse-adapter/eventsLost"
"""Told to whoever begins to listen to a session of which more has come than could be kept. No host sends it, nor could:
theirs have ids and cursors."""


class _Held(NamedTuple):
    session_id: str
    method: str
    params: Params
    size: int
    """Bytes it takes, about."""

    @property
    def is_question(self) -> bool:
        return self.method in QUESTIONS


class EventRouting:
    """One connection's events and questions, by session, in arrival order."""

    def __init__(self) -> None:
        self._sinks: dict[str, Sink] = {}
        self._opening = 0
        self._held: deque[_Held] = deque()
        self._held_bytes = 0
        self._lossy: set[str] = set()
        """Sessions of which something could not be kept."""
        self._any_lossy = False
        """Whether there are more of them than are remembered."""
        self._has_others = False
        """Whether some of what is kept is no question."""
        self._unheard: Any = None
        self.on_question: Callable[[str, str, Params], None] | None = None
        """Told of a question in a session nobody listens to: its session, its method, its params (`fault-cases.md
        I2`)."""

    @property
    def is_opening(self) -> bool:
        """Whether a session is being opened."""
        return self._opening > 0

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        """While a session is being opened here, events of sessions nobody listens to yet are kept for `listen`.

        Replay, `session/started` and the first events of a turn may all be on the wire before the answer that names the
        session has been looked at (`msp.md §10.2, §10.3`).
        """
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1
            if not self._opening:
                self._lossy.clear()
                self._any_lossy = False
                for event in self._take_held():
                    self._unclaimed(event.session_id, event.method, event.params)

    def listen(self, session_id: str, sink: Sink) -> None:
        """Hand every event of a session to `sink`, those kept so far first; `EVENTS_LOST` before them, if not all could
        be kept."""
        self._sinks[session_id] = sink
        if self._any_lossy or session_id in self._lossy:
            self._lossy.discard(session_id)
            sink(EVENTS_LOST, {"sessionId": session_id})
        for event in self._take_held():
            if event.session_id == session_id:
                sink(event.method, event.params)
            else:
                self._keep(event)

    def lose(self, session_id: str | None) -> None:
        """Something that the host told of a session, or of any, could not be read."""
        for listening in [session_id] if session_id is not None else list(self._sinks):
            sink = self._sinks.get(listening)
            if sink is not None:
                sink(EVENTS_LOST, {"sessionId": listening})
        if self._opening:
            self._any_lossy = True

    def unlisten(self, session_id: str) -> None:
        """Drop the events of a session from now on."""
        self._sinks.pop(session_id, None)

    def _join(self, method: str, earlier: Params, later: Params) -> bool:
        """Take deltas as one that came together; not while a session is opened, since what it is opened with may have
        some of them."""
        return not self._opening and join(method, earlier, later)

    def on_notification(self, method: str, params: Params) -> None:
        """Route an event to its session, in arrival order."""
        session_id = params.get("sessionId")
        sink = self._sinks.get(session_id) if type(session_id) is str else None
        if sink is not None:
            sink(method, params)
        elif type(session_id) is str and self._opening:
            self._hold(session_id, method, params)
        else:
            self._unclaimed(session_id, method, params)

    def _hold(self, session_id: str, method: str, params: Params) -> None:
        """Keep an event. If it is too much, only questions are kept: everything else can be read afterwards."""
        if session_id in self._lossy and method not in QUESTIONS:
            return
        event = _Held(session_id, method, params, weight(params, MAX_HELD_BYTES))
        if not self._has_room(event) and self._has_others:
            log.warning("a session that is being opened gets more events than can be kept")
            for held in self._take_held():
                if held.is_question:
                    self._keep(held)
                else:
                    self._lose(held.session_id)
        if self._has_room(event) and (event.is_question or session_id not in self._lossy):
            self._keep(event)
        else:
            self._lose(session_id)

    def _lose(self, session_id: str) -> None:
        """Something of a session could not be kept."""
        if len(self._lossy) < MAX_LOSSY_SESSIONS and len(session_id) <= MAX_LOSSY_ID_CHARS:
            self._lossy.add(session_id)
        elif session_id not in self._lossy:
            self._any_lossy = True

    def _has_room(self, event: _Held) -> bool:
        return len(self._held) < MAX_HELD_EVENTS and self._held_bytes + event.size <= MAX_HELD_BYTES

    def _keep(self, event: _Held) -> None:
        self._held.append(event)
        self._held_bytes += event.size
        self._has_others = self._has_others or not event.is_question

    def _take_held(self) -> deque[_Held]:
        held, self._held, self._held_bytes, self._has_others = self._held, deque(), 0, False
        return held

    def _unclaimed(self, session_id: Any, method: str, params: Params) -> None:
        if type(session_id) is str and method in QUESTIONS and self.on_question is not None:
            self.on_question(session_id, method, params)
        elif session_id != self._unheard:
            # Once in a row: a session that was left may go on talking for long.
            self._unheard = session_id
            log.debug("nobody listens to a session's %s", method)

    def on_request(self, call: Call) -> Params:
        """A request of the host is a question to the user: it gets its receipt at once, the answer is a command."""
        if call.method not in SERVER_REQUESTS:
            data = {"kind": "methodNotFound", "retryable": False}
            raise RpcError(METHOD_NOT_FOUND, f"{call.method} is not known to this client", data)
        self.on_notification(call.method, call.params)
        return {}
