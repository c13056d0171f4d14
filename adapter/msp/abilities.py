"""What a host can do, learnt by asking (`msp.md §28.6`).

Each optional method is called with params that are valid but name a session that was never there: a host that has the
method refuses the session, one that lacks it says so, and neither does anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import anyio

from adapter.msp.errors import MspError
from adapter.msp.ids import uuid7
from adapter.wire.envelope import METHOD_NOT_FOUND, Params, RpcError
from adapter.wire.peer import Answer, BadAnswer, Peer, PeerClosed
from host_probe import Abilities

__all__ = ["ASKED", "LISTING", "NOBODY", "Abilities", "Inquiry", "abilities_of", "is_lacking", "questions"]

ANSWER_SECONDS: Final = 2.0
"""How long after the handshake the answers are waited for, by whoever needs them."""

NOBODY: Final = "00000000-0000-0000-0000-000000000000"
"""The nil UUID, which no session has. A host that admits the deletion of any session at first refuses this one at once
(`peers.md §7`)."""

_COMMANDS: Final[Mapping[str, Params]] = {
    "session/rename": {"name": "-"},
    "session/compact": {},
    "session/setReasoningEffort": {"reasoningEffort": "medium"},
    "goal/set": {"objective": "-"},
    "task/stop": {"taskId": "-"},
    "session/fork": {},
    "session/delete": {},
    "session/leave": {},
    "workflow/cancel": {"workflowRunId": "-"},
}
"""What each takes besides a session and a command id."""

_QUERIES: Final = ("skill/list",)

ASKED: Final = frozenset({*_COMMANDS, *_QUERIES})
"""The methods that a host may lack."""

LISTING: Final = "session/list"
"""What is asked of it tells whether it takes filters."""

_LACKING: Final = frozenset({"methodNotFound", "experimentalRequired", "capabilityRequired"})
"""Refusals that mean a method is not there, or not for us."""


_OFF_SCRIPT: Final = "offScript"
"""The reason by which a recording refuses whatever is not in it (`adapter.hosts.recorded`): it shows nothing."""


def questions() -> list[tuple[str, Params]]:
    """The requests to send, in order, all about one session that nobody has."""
    asked: list[tuple[str, Params]] = [
        (method, {"sessionId": NOBODY, "commandId": uuid7(), **more}) for method, more in _COMMANDS.items()
    ]
    asked += [(method, {"sessionId": NOBODY}) for method in _QUERIES]
    return [*asked, (LISTING, {"limit": 1, "filter": {"sessionId": {"anyOf": [NOBODY]}}})]


def abilities_of(answers: Mapping[str, Params | Exception]) -> Abilities:
    """What the answers show, by the method that was asked; a method without one counts as lacking."""
    listed = answers.get(LISTING)
    # Filters and several folders came with one release, and only the filter can be seen without starting a session.
    filters = isinstance(listed, dict) and "appliedFilter" in listed
    has = frozenset(method for method in ASKED if method in answers and _is_there(answers[method]))
    return Abilities(has, workspace_roots=filters, list_filter=filters)


def _is_there(answer: Params | Exception) -> bool:
    if isinstance(answer, RpcError):
        return not is_lacking(_refusal(answer)) and not _is_off_script(answer)
    return not isinstance(answer, Exception)


def _is_off_script(answer: Params | Exception) -> bool:
    return isinstance(answer, RpcError) and _refusal(answer).reason == _OFF_SCRIPT


def _refusal(error: RpcError) -> MspError:
    return MspError.from_error({"code": error.code, "message": error.message, "data": error.data})


def is_lacking(error: MspError) -> bool:
    """Whether the host refused a method because it does not have it."""
    return error.code == METHOD_NOT_FOUND or error.kind in _LACKING


class Inquiry:
    """One host being asked."""

    def __init__(self) -> None:
        self._asked: dict[str, Answer] = {}
        self._over = anyio.Event()
        self._deadline = 0.0

    def ask(self, peer: Peer) -> None:
        """Send the questions, all at once, so that nobody else's request is among them."""
        self._deadline = anyio.current_time() + ANSWER_SECONDS
        with suppress(PeerClosed):
            for method, params in questions():
                self._asked[method] = peer.ask(method, params)

    async def hear_out(self) -> None:
        """Wait for the answers, for as long as the connection lives."""
        for answer in self._asked.values():
            with suppress(RpcError, BadAnswer, PeerClosed):
                await answer.wait()
        self._over.set()

    async def abilities(self) -> Abilities:
        """What has been answered within `ANSWER_SECONDS` of the asking."""
        with anyio.CancelScope(deadline=self._deadline):
            await self._over.wait()
        answered = {method: answer.value for method, answer in self._asked.items()}
        return abilities_of({method: value for method, value in answered.items() if value is not None})

    @property
    def unanswered(self) -> frozenset[str]:
        """The methods whose question came to nothing: what the host cannot do is not known from that."""
        return frozenset(method for method in ASKED | {LISTING} if not self._has_answered(method))

    @property
    def is_complete(self) -> bool:
        """Whether everything has been answered."""
        return not self.unanswered

    def _has_answered(self, method: str) -> bool:
        answer = self._asked[method].value if method in self._asked else None
        return not isinstance(answer, PeerClosed | None) and not _is_off_script(answer)
