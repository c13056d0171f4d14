"""`session/delete`, which only hosts of 1.4.1 and 1.4.2 have (`msp.md §28.5`, `peers.md §7`).

The ack is admission. How it ended is told by `session/deleteCompleted`: a host deletes what it has started itself, and
nothing that a turn still writes to.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated.errors import invalid, rejected
from adapter.hosts.simulated.params import text
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

SETTLING_SECONDS: Final = 0.05
"""How long a deletion takes; a second one meanwhile finds the session busy."""


class Deletions:
    """The sessions this host may delete, is deleting and has deleted."""

    def __init__(self) -> None:
        self.own: set[str] = set()
        """Sessions that were started here; a copy of another one is not."""
        self.pending: set[str] = set()
        self.done: set[str] = set()

    def started(self, session_id: str) -> None:
        """A session begins; its id may be that of one that is gone."""
        self.own.add(session_id)
        self.done.discard(session_id)


def delete(host: Host, params: Json) -> Json:
    """`session/delete`."""
    session_id, command_id = _uuid(params, "sessionId"), text(params, "commandId")
    if session_id in host.deletions.done:
        raise rejected(command_id, "session_deleted")
    if session_id in host.deletions.pending:
        raise rejected(command_id, "runtime_busy")
    host.deletions.pending.add(session_id)
    obstacle = _obstacle(host, session_id)

    def finish() -> None:
        _finish(host, session_id, command_id, obstacle or _obstacle(host, session_id))

    def begin() -> None:
        host.loop.call_later(SETTLING_SECONDS, finish)

    host.after_answer(begin)
    return {"commandId": command_id, "status": "accepted"}


def _finish(host: Host, session_id: str, command_id: str, reason: str | None) -> None:
    host.deletions.pending.discard(session_id)
    told: Json = {"sessionId": session_id, "commandId": command_id}
    if reason is not None:
        failed = {**told, "outcome": "failed", "reason": reason, "physicalChange": "none"}
        return host.broadcast("session/deleteCompleted", failed)
    session = host.sessions.pop(session_id, None)
    if session is not None:
        session.close()
    host.store.delete(session_id)
    host.deletions.own.discard(session_id)
    host.deletions.done.add(session_id)
    host.broadcast("session/deleteCompleted", {**told, "outcome": "completed"})


def _obstacle(host: Host, session_id: str) -> str | None:
    if session_id not in host.deletions.own:
        return "ownershipUnavailable"
    session = host.sessions.get(session_id)
    if session is not None and (session.running is not None or session.waiting or session.tasks):
        return "writerBusy"
    holder = host.store.holder(session_id)
    return "writerBusy" if session is None and holder is not None else None


def _uuid(params: Json, field: str) -> str:
    value = text(params, field)
    try:
        known = uuid.UUID(value)
    except ValueError:
        raise invalid(field, "a UUID is required") from None
    if known.int == 0:
        raise invalid(field, "the nil UUID names no session")
    return value


HANDLERS: Final[dict[str, Any]] = {"session/delete": delete}
