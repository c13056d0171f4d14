"""The methods that make, load, copy and leave sessions (`msp.md §10`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.catalog import DEFAULT_MODEL, PROVIDER
from adapter.hosts.simulated.errors import invalid, refusal, rejected
from adapter.hosts.simulated.journal import Journal
from adapter.hosts.simulated.params import APPROVAL_MODES, optional_text, word
from adapter.hosts.simulated.profiles import NEWEST
from adapter.hosts.simulated.roots import asked_roots
from adapter.hosts.simulated.servers import asked_servers
from adapter.hosts.simulated.session import Session, row
from adapter.hosts.simulated.store import is_plain
from adapter.hosts.simulated.view import Json, View

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

DEFAULT_MODE: Final = "promptUnmatched"


def loaded(host: Host, session_id: str | None) -> Session:
    """The session, if it is loaded in this host.

    Raises:
        RpcError: it is not, or there is none.
    """
    if session_id is None:
        raise invalid("sessionId", "a string is required")
    session = host.sessions.get(session_id)
    if session is not None:
        return session
    if not host.store.has(session_id):
        raise refusal("sessionNotFound", "there is no such session", sessionId=session_id)
    if host.store.holder(session_id) is not None:
        raise refusal("sessionInUse", "another host has the session", sessionId=session_id)
    raise refusal("sessionNotLoaded", "the session is not loaded; resume it first", sessionId=session_id)


def session_row(host: Host, session: Session) -> Json:
    """The Session object of a loaded session."""
    return row(session.facts, session.view, session.status, session.attention, host.profile)


def keep_row(host: Host, session: Session) -> None:
    """Write the session's row for lists, and tell who listens to the list."""
    full = row(session.facts, session.view, session.status, session.attention, NEWEST)
    if session.stored:
        host.store.write_row(full)
    if not host.closing:
        host.broadcast("session/listChanged", {"session": session_row(host, session)})


def start(host: Host, params: Json) -> Json:
    """`session/start`."""
    session_id = optional_text(params, "sessionId") or ids.uuid7()
    if not is_plain(session_id):
        raise invalid("sessionId", "a UUID is required")
    if session_id in host.sessions or host.store.has(session_id):
        raise rejected(params["commandId"], "session_id_conflict")
    facts = new_facts(host, session_id, params)
    host.credentials.check_session()
    servers = asked_servers(host, params)
    held = not host.settings.saves_empty
    if not held:
        hold(host, session_id)
    session = open_session(host, facts, View(), held=held)
    session.servers = servers
    session.note("session", facts)
    host.deletions.started(session_id)
    keep_row(host, session)
    shown = session_row(host, session)
    host.broadcast("session/started", {"session": shown})
    return {"session": shown, "viewCursor": session.cursor()}


def new_facts(host: Host, session_id: str, params: Json) -> Json:
    """What never changes about a session that is made now."""
    path = host.store.journal_path(session_id)
    mode = DEFAULT_MODE
    if params.get("approvalMode") is not None:
        mode = word(params, "approvalMode", APPROVAL_MODES)
    model = optional_text(params, "modelId") if host.profile.models_apply else None
    return {
        "sessionId": session_id,
        "path": "" if path is None else str(path),
        "createdAt": ids.timestamp(),
        **workspace(host, params),
        "forkedFrom": None,
        "createdByClient": host.client,
        "kind": "root",
        "model": {
            "modelId": model or host.options.model or DEFAULT_MODEL,
            "providerId": optional_text(params, "providerId") or host.options.provider or PROVIDER,
            "source": "default" if model is None else "user",
        },
        "approvalMode": {"mode": mode, "source": "startup", "lastCommandId": None},
    }


def workspace(host: Host, params: Json) -> Json:
    """Where the session is to work: `workspaceRoot` and `workspaceRoots`.

    Raises:
        RpcError: a root that is not absolute, or roots that do not agree.
    """
    root = optional_text(params, "workspaceRoot")
    if root is not None and not Path(root).is_absolute():
        raise invalid("workspaceRoot", "an absolute path is required")
    roots = asked_roots(host.profile, params, root) or ([] if root is None else [root])
    return {"workspaceRoot": roots[0] if roots else None, "workspaceRoots": roots}


def hold(host: Host, session_id: str) -> None:
    """Take the session's lease.

    Raises:
        RpcError: another host has it.
    """
    if not host.store.take_lease(session_id):
        raise refusal("sessionInUse", "another host has the session", sessionId=session_id)


def store(host: Host, session: Session) -> None:
    """Store a session before its first turn, if that has not been done when it was made.

    Raises:
        RpcError: another host has made one of that id.
    """
    if not session.stored:
        hold(host, session.id)
        session.store()
        keep_row(host, session)


def open_session(host: Host, facts: Json, view: View, head: int = 0, held: bool = False) -> Session:
    """Load a session into this host, whose lease it has; the connection is subscribed to it. A `held` one is not stored
    before its first turn."""
    session_id = facts["sessionId"]
    session = Session(facts, view, Journal(host.store.journal_path(session_id), held), host, head)
    session.subscribed = True
    session.on_change = lambda changed: keep_row(host, changed)
    host.sessions[session_id] = session
    return session


HANDLERS: Final[dict[str, Any]] = {"session/start": start}
