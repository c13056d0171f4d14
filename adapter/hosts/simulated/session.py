"""A session that is loaded in this host: its view, its journal, and what runs in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.catalog import SKILLS
from adapter.hosts.simulated.journal import Journal
from adapter.hosts.simulated.shape import without
from adapter.hosts.simulated.view import TITLE_CHARACTERS, Event, Json, View

if TYPE_CHECKING:
    from adapter.hosts.simulated.profiles import Profile
    from adapter.hosts.simulated.turns import Driver

RESTART_GAP: Final = 10_000_000
"""Deltas have cursors that are not stored. A session that was not closed properly goes on above any cursor the dead
host can have given out, so no cursor ever names two events."""


class Publisher(Protocol):
    """Where a session's events go."""

    profile: Profile

    def publish(self, session: Session, number: int, method: str, params: Json) -> None:
        """Deliver a view event to the client, if it is to get it."""

    def broadcast(self, method: str, params: Json) -> None:
        """Deliver host state that belongs to no subscription."""


class Session:
    """One loaded session. `facts` are the members of its row that never change."""

    def __init__(self, facts: Json, view: View, journal: Journal, host: Publisher, head: int) -> None:
        self.id: str = facts["sessionId"]
        self.facts = facts
        self.view = view
        self.head = head
        self.subscribed = False
        self.roots: list[str] = list(facts.get("workspaceRoots", ()))
        """The folders it works in now; a turn may replace them."""
        self.servers: dict[str, Json] = {}
        """MCP servers by name."""
        self.skills: list[Json] = list(SKILLS)
        self.outputs: dict[str, Json] = {}
        self.commands: dict[str, Json] = {}
        self.prompts: dict[str, Json] = {}
        self.waiting: deque[str] = deque()
        """Turn ids in the queue."""
        self.running: Driver | None = None
        self.tasks: dict[str, Driver] = {}
        """What runs beside the turn, by the item it is shown as."""
        self.parked: dict[str, Driver] = {}
        """Who waits for the answer to an approval or a question, by its id."""
        self.dropping = 0
        """How many further events of this session are lost on the way to the client."""
        self.gap_after: int | None = None
        self.delivered = head
        self.on_change: Callable[[Session], None] = lambda session: None
        self._journal = journal
        self._host = host
        self._status: tuple[str, tuple[str, ...]] = ("idle", ())

    # -- events

    def emit(self, method: str, params: Json, run: str | None = None) -> int:
        """Write a durable event and deliver it; gives its number. `run` names the turn it belongs to."""
        self.head += 1
        number = self.head
        full = {"sessionId": self.id, "viewCursor": ids.cursor(self.id, number), "sourceRange": self._source(run)}
        full.update(params)
        event = Event(number, method, full)
        self.view.add(event)
        self._journal.append("event", [number, method, full])
        self._host.publish(self, number, method, full)
        return number

    def emit_ephemeral(self, method: str, params: Json) -> None:
        """Deliver an event that is not kept: a delta, or the start of an item that streams."""
        self.head += 1
        full = {"sessionId": self.id, "viewCursor": ids.cursor(self.id, self.head), **params}
        self._host.publish(self, self.head, method, full)

    def note(self, kind: str, value: Any) -> None:
        """Write a record that is no event."""
        self._journal.append(kind, value)

    @property
    def stored(self) -> bool:
        """Whether it would be found again after this host's end."""
        return not self._journal.held

    def store(self) -> None:
        """Store it, if it is not yet."""
        self._journal.keep()

    def cursor(self) -> str:
        """The cursor of the newest event."""
        return ids.cursor(self.id, self.head)

    def _source(self, run: str | None) -> Json:
        sequence = len(self.view.events) + 1
        record = {"id": f"{self.id[:-12]}{sequence:012x}", "sequence": sequence}
        stream = {"kind": "run", "id": run} if run is not None else {"kind": "session", "id": self.id}
        return {"stream": stream, "first": record, "last": record}

    # -- state

    @property
    def status(self) -> str:
        """`running` while a turn runs, else `idle`."""
        return "running" if self.view.active is not None else "idle"

    @property
    def attention(self) -> list[str]:
        """What waits for the user."""
        flags = (("approvalPending", self.view.approvals), ("inputPending", self.view.user_inputs))
        return [word for word, pending in flags if pending]

    def show_status(self) -> None:
        """Tell the client if the status or the attention changed, and keep the row."""
        now = (self.status, tuple(self.attention))
        if now != self._status:
            self._status = now
            params: Json = {"sessionId": self.id, "status": now[0], "viewCursor": self.cursor()}
            if now[1]:
                params["attention"] = list(now[1])
            self._host.broadcast("session/statusChanged", params)
        self.on_change(self)

    def close(self) -> None:
        """Write where the cursors end and let go of the journal."""
        self._journal.append("end", self.head)
        self._journal.close()


def row(facts: Json, view: View, status: str, attention: list[str], profile: Profile) -> Json:
    """The Session object (`msp.md §10.1`)."""
    fixed = (
        "sessionId",
        "path",
        "createdAt",
        "workspaceRoot",
        "forkedFrom",
        "createdByClient",
        "kind",
        "sideFrom",
        "parentSessionId",
    )
    session: Json = {key: facts[key] for key in fixed if key in facts}
    model = view.model or facts["model"]
    updated = last_time(facts, view)
    session |= {
        "status": status,
        "turnCount": view.turn_count,
        "updatedAt": updated,
        "lastActivityAt": updated,
        "modelId": model["modelId"],
        "providerId": model["providerId"],
        "approvalMode": view.approval_mode or facts["approvalMode"],
        "activeTurnId": view.active["turnId"] if view.active is not None and status == "running" else None,
        **view.name,
    }
    if attention:
        session["attention"] = attention
    if view.branch is not None and view.branch["branch"] is not None:
        session["branch"] = view.branch["branch"]
    if view.first_prompt is not None:
        session["firstUserPrompt"] = view.first_prompt[:500]
        session["title"] = view.first_prompt.strip().split("\n", 1)[0][:TITLE_CHARACTERS]
    return without(profile, "session", session)


def last_time(facts: Json, view: View) -> str:
    """When the newest item of the session was recorded, or when it was made."""
    newest = next(reversed(view.items.values()))["recordedAt"] if view.items else facts["createdAt"]
    return str(max(newest, facts["createdAt"]))
