"""The sessions of one connection: which are open, which are on their way, and how each ends."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio

from adapter.acp import errors
from adapter.bridge.conversation import Conversation
from adapter.bridge.stored_output.errors import session_refused
from adapter.bridge.terms import Terms
from adapter.msp.session import LEAVE_SECONDS, UNSUBSCRIBE_SECONDS
from adapter.wire.background import Background

MOST_OPEN: Final = 2000
"""Sessions that may be open at once. Each takes about 40 KiB here, and more at its host; a client that has so many has
forgotten to close them."""

REMEMBERED_CLOSED: Final = 1000
"""Closed sessions remembered to tell a client that it closed one from one that never was."""

REMEMBERED_CHANGES: Final = 32
"""Openings and closings of one session that are remembered, so that no list has it on two of its pages."""

OPENING: Final = "The session is being opened; try again when that is over"

ANSWER_SECONDS: Final = 1.0
"""How long the answer to a close waits for the host to let go of the session; it is let go of afterwards too."""

LEFT_SECONDS: Final = UNSUBSCRIBE_SECONDS + LEAVE_SECONDS
"""How long a session that is not open any more is waited for until its host has let go of it."""


class Sessions:
    """Sessions by their id, which is the same on both sides.

    Attributes:
        terms: settled at `initialize`.
        moment: counts what has been opened and closed so far.
    """

    def __init__(self, background: Background, on_end: Callable[[str], None]) -> None:
        self.terms = Terms()
        self.moment = 0
        self._background = background
        self._on_end = on_end
        self._open: dict[str, Conversation] = {}
        self._opening: set[str] = set()
        self._coming = 0
        """New sessions that are on their way and have no id yet."""
        self._closing: set[str] = set()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._changes: dict[str, tuple[tuple[int, bool], ...]] = {}
        """When each of the open and the closed ones was opened and closed, and which of the two it was. Not changed in
        place, since a list of sessions is looked through on another thread."""
        self._leaving: dict[str, anyio.Event] = {}
        """Sessions that are not open any more, and that their host has not let go of."""

    def get(self, session_id: str) -> Conversation:
        """An open session.

        Raises:
            RpcError: -32600; it is being opened. -32002; it is closed, or was never here.
        """
        if session_id in self._opening:
            raise errors.session_busy(session_id, OPENING)
        conversation = self._open.get(session_id)
        if conversation is not None:
            return conversation
        raise errors.session_closed(session_id) if session_id in self._closed else errors.session_unknown(session_id)

    def require_room(self) -> None:
        """Check that one more may be opened.

        Raises:
            RpcError: -32600; there are too many.
        """
        if len(self._open) + len(self._opening) + self._coming >= MOST_OPEN:
            raise errors.too_many_sessions(MOST_OPEN)

    @contextmanager
    def coming(self) -> Iterator[None]:
        """Keep room for a session that is being made.

        Raises:
            RpcError: -32600; there are too many.
        """
        self.require_room()
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    def find(self, session_id: str) -> Conversation | None:
        """The session if it is open, also while it is being opened anew."""
        return self._open.get(session_id)

    def is_wanted(self, session_id: str) -> bool:
        """Whether the session is open or being opened."""
        return session_id in self._open or session_id in self._opening

    def all_open(self) -> list[Conversation]:
        """Every open session, in the order in which they were opened."""
        return list(self._open.values())

    def has_closed(self, session_id: str) -> bool:
        """Whether this session was open here, and is no longer."""
        return session_id in self._closed

    def was_open(self, session_id: str, moment: int) -> bool:
        """Whether this session was open at a moment, as far as is remembered. May be called on another thread."""
        before = [opened for at, opened in self._changes.get(session_id, ()) if at <= moment]
        return bool(before) and before[-1]

    def _change(self, session_id: str, *, opened: bool) -> None:
        self.moment += 1
        changes = (*self._changes.get(session_id, ()), (self.moment, opened))
        self._changes[session_id] = changes[-REMEMBERED_CHANGES:]

    def workspace_for_reading(self, session_id: str) -> str:
        """The folder of an open session (`adapter.bridge.stored_output.reader.OpenSessions`).

        Raises:
            RpcError: check 4 of a read.
        """
        if session_id in self._opening:
            raise session_refused("sessionBusy", session_id)
        conversation = self._open.get(session_id)
        if conversation is None:
            raise session_refused("sessionClosed" if session_id in self._closed else "sessionUnknown", session_id)
        return conversation.workspace

    @contextmanager
    def opening(self, session_id: str) -> Iterator[Conversation | None]:
        """Nothing else is done with a session while it is being opened; gives what is open of it already.

        Raises:
            RpcError: -32600; it does something that does not go together with being opened.
        """
        known = self._open.get(session_id)
        what = self._occupation(session_id)
        if what is not None:
            raise errors.session_busy(session_id, f"The session {what}; try again when that is over")
        self._opening.add(session_id)
        try:
            yield known
        finally:
            self._opening.discard(session_id)

    def _occupation(self, session_id: str) -> str | None:
        """What a session does that does not go together with opening it; None if nothing."""
        known = self._open.get(session_id)
        if session_id in self._opening:
            return "is being opened"
        if session_id in self._closing:
            return "is being closed"
        return "has a prompt running" if known is not None and known.is_busy else None

    def add(self, conversation: Conversation) -> None:
        """The session is open from now on; it takes the place of what was open of it."""
        session_id = conversation.session_id
        replaced = self._open.pop(session_id, None)
        if replaced is not None:
            replaced.give_way()
            self._on_end(session_id)
        else:
            self._change(session_id, opened=True)
        self._open[session_id] = conversation
        self._closed.pop(session_id, None)
        conversation.listen()

    def close(self, session_id: str, *, leave: bool = True) -> Coroutine[Any, Any, None]:
        """Stop what a session does, answer it, and forget the session here; `leave`: there is a host that has it. It is
        not open any more when this returns, and closed when the returned work has been waited for.

        Raises:
            RpcError: -32002; it is not open.
        """
        conversation = self.get(session_id)
        del self._open[session_id]
        self._change(session_id, opened=False)
        self._closed[session_id] = None
        if len(self._closed) > REMEMBERED_CLOSED:
            forgotten, _ = self._closed.popitem(last=False)
            del self._changes[forgotten]
        self._on_end(session_id)
        self._closing.add(session_id)
        closed = anyio.Event()
        self._background.start(self._finish_closing, conversation, closed, leave)
        return closed.wait()

    async def _finish_closing(self, conversation: Conversation, closed: anyio.Event, leave: bool) -> None:
        """The rest of a close, also when the client no longer waits for it."""
        session_id = conversation.session_id
        try:
            await conversation.close()
            if not leave:
                return
            left = self.let_go(conversation)
            with anyio.move_on_after(ANSWER_SECONDS):
                await left.wait()
        finally:
            self._closing.discard(session_id)
            closed.set()

    def let_go(self, conversation: Conversation) -> anyio.Event:
        """Have its host let go of a session, in the background: the one that is loading it, if one is. The event is set
        when that is over; `left` waits for it."""
        left = self._leaving[conversation.session_id] = anyio.Event()
        self._background.start(self._leave, conversation, left)
        return left

    async def _leave(self, conversation: Conversation, left: anyio.Event) -> None:
        try:
            await conversation.arrived()
            if self._leaving.get(conversation.session_id) is left:
                await conversation.leave()
        finally:
            if self._leaving.get(conversation.session_id) is left:
                del self._leaving[conversation.session_id]
            left.set()

    async def left(self, session_id: str) -> None:
        """Wait until the host has let go of a session that is not open any more: it would do so to the session opened
        anew."""
        if session_id in self._leaving and session_id not in self._closing:
            with anyio.move_on_after(LEFT_SECONDS):
                return await self._leaving[session_id].wait()
            # What has not begun by now does not begin: it would be done to what is opened next.
            self._leaving.pop(session_id, None)
        return None
