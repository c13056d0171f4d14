"""The gate that a session's events pass on their way in, so that each is acted on when it may be shown."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from anyio.lowlevel import checkpoint

from adapter.msp.event_routing import EVENTS_LOST, QUESTIONS, Sink
from adapter.msp.weight import weight
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

ROUNDS: Final = 5
"""Rounds of the scheduler that the end of a turn waits: enough for what the host has written together with it."""

WAITING_BYTES: Final = 8 * 1024 * 1024
"""What may wait before whoever holds it is asked to come to an end."""

MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""What may wait at all; what is dropped then is read back."""

_KEPT: Final = QUESTIONS | {"turn/completed"}
"""What is waited for by name."""


class EventGate:
    """Hands events to `receive`, in order and at once, unless something holds them back.

    It is held while a session is opened, since nothing may be shown of it before the client has its answer, and from
    the end of a turn to the answer of its prompt, so that nothing of the next turn comes before that (`acp.md §25`,
    point 67). Neither takes long, and if too much comes meanwhile, `on_full` is told once, which makes it end where it
    can; if more comes all the same, it is dropped, to be read back (`EVENTS_LOST`).

    The end of a turn waits until everything that came with it is there, since the notice of a gap may come after the
    event behind the gap (`msp.md §11.4`), and what is missing belongs before the answer. A gap is handed on in its
    place among what waits, not where its notice came.

    What was lost is read back many events at a time, behind the gate; so who tells of them asks `is_held` before each,
    and is asked to `tell_on` before anything else passes.
    """

    def __init__(self, receive: Sink, background: Background, tell_on: Callable[[], None] = lambda: None) -> None:
        self._receive = receive
        self._tell_on = tell_on
        self._background = background
        self._listening_on = False
        self.on_full: Callable[[], None] = lambda: None
        self._waiting: deque[tuple[str, Params]] = deque()
        self._waiting_bytes = 0
        """Of what has been put there since it was empty."""
        self._sheds = False
        """Whether something has been dropped since it was empty."""
        self._holds = 0
        self._handing = False

    def receive(self, method: str, params: Params) -> None:
        """Take in an event."""
        if method == "view/gap" and self._waiting:
            self._waiting.insert(self._place_of_gap(params.get("after")), (method, params))
        elif self._holds or self._waiting:
            self._wait(method, params)
        elif method == "turn/completed":
            self._waiting.append((method, params))
            self._listening_on = True
            self.hold()
            self._background.start(self._listen_on)
        else:
            self._receive(method, params)

    def _wait(self, method: str, params: Params) -> None:
        if self._sheds and (method not in _KEPT or self._waiting_bytes > MOST_WAITING_BYTES):
            return
        before = self._waiting_bytes
        self._waiting.append((method, params))
        self._waiting_bytes += weight(params, WAITING_BYTES)
        if before <= WAITING_BYTES < self._waiting_bytes:
            self.on_full()
        if self._waiting_bytes > MOST_WAITING_BYTES and not self._sheds:
            self._shed()

    def _shed(self) -> None:
        log.warning("more of a session waits than can be kept, and is read back")
        self._sheds = True
        kept = [event for event in self._waiting if event[0] in _KEPT]
        self._waiting = deque([(EVENTS_LOST, {}), *kept])
        self._waiting_bytes = sum(weight(params, WAITING_BYTES) for _, params in kept)

    async def _listen_on(self) -> None:
        for _ in range(ROUNDS):
            await checkpoint()
        self.listen_no_longer()

    def listen_no_longer(self) -> None:
        """Nothing more will come with the end of a turn that waits for it."""
        if self._listening_on:
            self._listening_on = False
            self.release()

    def _place_of_gap(self, after: Any) -> int:
        """Behind the event that the gap begins after, or a gap that was told before; else before all that waits."""
        for at in range(len(self._waiting) - 1, -1, -1):
            method, params = self._waiting[at]
            if method == "view/gap" or (isinstance(after, str) and params.get("viewCursor") == after):
                return at + 1
        return 0

    def has_end(self, turn_id: str) -> bool:
        """Whether the end of this turn waits here."""
        return any(method == "turn/completed" and params.get("turnId") == turn_id for method, params in self._waiting)

    @property
    def is_held(self) -> bool:
        """Whether nothing may pass now."""
        return self._holds > 0

    def hold(self) -> None:
        """Keep what comes from now on; as often as it is held, it has to be released."""
        self._holds += 1

    def drop_streamed(self, cursor: str) -> None:
        """Drop the deltas among what waits, up to the event at `cursor`: what they brought is known. If that event is
        not among them, they all come after it."""
        known = next((at for at, (_, params) in enumerate(self._waiting) if params.get("viewCursor") == cursor), -1)
        kept = [event for at, event in enumerate(self._waiting) if at > known or event[0] != "item/delta"]
        self._waiting = deque(kept)

    def release(self) -> None:
        """Let what waits pass, unless something else still holds it, or one of the events holds the rest."""
        self._holds -= 1
        if self._handing:
            return
        self._handing = True
        try:
            self._hand_on("gap", self._tell_on)
            while self._waiting and not self._holds:
                method, params = self._waiting.popleft()
                self._hand_on(method, partial(self._receive, method, params))
        finally:
            self._handing = False
            if not self._waiting:
                self._waiting_bytes = 0
                self._sheds = False

    def _hand_on(self, what: str, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            log.exception("a session's %s could not be handled", what)
