"""The commands that were taken in, by `commandId`: each has one effect and one answer, also after a restart
(`msp.md §6`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

from adapter.hosts.simulated.errors import refusal, rejected
from adapter.hosts.simulated.params import text
from adapter.hosts.simulated.store import Store
from adapter.wire.envelope import RpcError

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.session import Session

Json = dict[str, Any]

WITHOUT_SESSION: Final = frozenset({"session/start", "session/fork", "session/sideChat"})
"""Commands that make a session: their outcome is kept beside the sessions, not in one."""

THIS_LIFE_ONLY: Final = frozenset(
    {"session/resume", "session/leave", "session/delete", "turn/interrupt", "turn/cancel", "task/stop"}
)
"""Commands that are remembered as long as the host lives."""

NOT_TAKEN_IN: Final = frozenset(
    {
        *("invalidParams", "sessionNotFound", "sessionInUse", "sessionNotLoaded", "backpressured", "overloaded"),
        "authRequired",
    }
)
"""Refusals before admission: the same id may be used again once the cause is gone."""


class Ledger:
    """Answers a repeated command as it was answered first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Json] = {}

    def once(self, host: Host, method: str, params: Json, handler: Callable[[Host, Json], Json]) -> Json:
        """The answer of the handler, the first time; afterwards the same answer without its effects.

        Raises:
            RpcError: what the handler refused with, or the id was used for something else.
        """
        command_id, digest = text(params, "commandId"), payload_digest(method, params)
        session = host.sessions.get(str(params.get("sessionId")))
        known = self._find(command_id, method, session)
        if known is not None:
            return _replay(command_id, known, digest)
        entry: Json = {"commandId": command_id, "digest": digest}
        self._write("intake", entry, method, session)
        try:
            entry["result"] = handler(host, params)
        except RpcError as error:
            if error.data is not None and error.data["kind"] in NOT_TAKEN_IN:
                self._write("withdrawn", entry, method, session)
                raise
            entry["error"] = [error.code, error.message, error.data]
            self._settle(entry, method, session)
            raise
        self._settle(entry, method, session)
        return dict(entry["result"])

    def _find(self, command_id: str, method: str, session: Session | None) -> Json | None:
        if command_id in self._known:
            return self._known[command_id]
        if method in WITHOUT_SESSION:
            return self._store.recall(command_id)
        return session.commands.get(command_id) if session is not None else None

    def _settle(self, entry: Json, method: str, session: Session | None) -> None:
        self._known[entry["commandId"]] = entry
        self._write("outcome", entry, method, session)

    def _write(self, kind: str, entry: Json, method: str, session: Session | None) -> None:
        if method in WITHOUT_SESSION:
            if kind == "outcome":
                self._store.remember(entry)
        elif method not in THIS_LIFE_ONLY and session is not None:
            session.note(kind, entry)

    def reject(self, session: Session, command_id: str, reason: str) -> None:
        """Make a command that was accepted count as rejected: it could not be carried out after all."""
        digest = self._known[command_id]["digest"]
        error = rejected(command_id, reason)
        entry = {"commandId": command_id, "digest": digest, "error": [error.code, error.message, error.data]}
        self._known[command_id] = entry
        session.note("outcome", entry)


def _replay(command_id: str, known: Json, digest: str) -> Json:
    if known["digest"] != digest:
        raise rejected(command_id, "command_id_conflict")
    if "error" in known:
        raise RpcError(*known["error"])
    if "result" not in known:
        raise rejected(command_id, "abandoned")
    return dict(known["result"])


def payload_digest(method: str, params: Json) -> str:
    """What tells two uses of one command id apart."""
    payload = orjson.dumps([method, params], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(payload).hexdigest()[:32]


def backpressured(capacity: int) -> RpcError:
    """Nothing was admitted; the same id may be tried again."""
    return refusal("backpressured", "too many turns are queued", capacity=capacity)
