"""Questions that nobody is asked: each is answered at its host as not allowed (`msp.md §15.3, §16`)."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any, Final, NamedTuple

from adapter.bridge.consent import permission
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.msp.weight import weight
from adapter.wire.background import Background
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

MOST_WAITING: Final = 10_000
"""Refusals that wait for the one before them; a host that asks more, and takes none, does not wait for answers."""

WAITING_BYTES: Final = 8 * 1024 * 1024
"""What they may take together."""


class _Refusal(NamedTuple):
    host: Host
    session_id: str
    told: Params
    """Of the question what its refusal needs."""
    reason: str
    size: int


class Refusals:
    """Sent one after the other: a host that is slow to take them is not sent thousands at once."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._waiting: deque[_Refusal] = deque()
        self._bytes = 0
        self._at_work = False

    def refuse(self, host: Host, session_id: str, params: Params, reason: str) -> bool:
        """Answer a question as not allowed; `reason` is for the model. False if too much waits already: then it has no
        answer."""
        told = _told(params)
        size = weight(told, WAITING_BYTES)
        if len(self._waiting) >= MOST_WAITING or self._bytes + size > WAITING_BYTES:
            return False
        self._waiting.append(_Refusal(host, session_id, told, reason, size))
        self._bytes += size
        if not self._at_work:
            self._at_work = True
            self._background.start(self._work)
        return True

    async def _work(self) -> None:
        try:
            while self._waiting:
                next_one = self._waiting.popleft()
                self._bytes -= next_one.size
                if next_one.host.gone is None:
                    await self._send(next_one)
        finally:
            self._at_work = False

    async def _send(self, refusal: _Refusal) -> None:
        session = Session(refusal.host, refusal.session_id, lambda change: None, self._background)
        told = refusal.told
        approval_id, input_id, turn_id = told["approvalId"], told["userInputId"], told["turnId"]
        try:
            if isinstance(input_id, str):
                await session.cancel_input(input_id, refusal.reason)
            elif isinstance(approval_id, str) and told["choiceId"] is not None:
                await session.decide(approval_id, told["currentRequirementId"], told["choiceId"])
            elif isinstance(turn_id, str):
                await session.interrupt(turn_id)
        except (MspError, HostGone) as error:
            log.info("the host did not take a refusal: %s", error)


def _told(params: Params) -> Params:
    choices = params.get("availableChoices")
    members = ("approvalId", "userInputId", "turnId", "currentRequirementId")
    told: dict[str, Any] = {name: params.get(name) for name in members}
    return told | {"choiceId": permission.refusal(permission.options(choices), choices)}
