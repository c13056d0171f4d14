"""The methods that load, copy and leave sessions (`msp.md §10.3, §10.6, §10.7, §23.4`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.errors import refusal
from adapter.hosts.simulated.handle_reads import past
from adapter.hosts.simulated.handle_sessions import hold, loaded, open_session, session_row
from adapter.hosts.simulated.history import Past, nothing
from adapter.hosts.simulated.params import flag, optional_text, table, text, word
from adapter.hosts.simulated.revival import settle_what_was_cut_off
from adapter.hosts.simulated.servers import asked_servers, check_conflict
from adapter.hosts.simulated.session import RESTART_GAP, Session
from adapter.hosts.simulated.view import Event, Json, View

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

PREFERENCES: Final = ("auto", "inline", "snapshot", "anchored")


def resume(host: Host, params: Json) -> Json:
    """`session/resume`: load it here if it is not, subscribe, and give what history was asked for."""
    session_id = text(params, "sessionId")
    preference = word(params, "history", PREFERENCES, "auto")
    excluded, cursor = flag(params, "excludeItems", False), optional_text(params, "cursor")
    servers = asked_servers(host, params)
    if session_id in host.sessions:
        check_conflict(host.sessions[session_id], params["commandId"], servers)
    host.credentials.check_session()
    # A cursor that cannot be served refuses the whole request, before anything is loaded.
    missed = [] if cursor is None else past(host, params).suffix(cursor)
    session = host.sessions.get(session_id) or _load(host, session_id, servers)
    known = past(host, params)
    if cursor is not None:
        history = nothing("cursorSuffix")
        missed = known.suffix(cursor)
    else:
        history = nothing("excluded") if excluded else known.history(preference)
    session.subscribed = True
    session.delivered = session.head
    host.replay(session, missed)
    host.after_answer(lambda: ask_again(host, session))
    result = {
        "session": session_row(host, session),
        "viewCursor": session.cursor(),
        "history": history,
        "pendingRequests": known.pending(),
    }
    return known.with_last_turn(result)


def ask_again(host: Host, session: Session) -> None:
    """Put every open request to the client once more: the request alone, with the same durable ids."""
    for params in list(session.view.approvals.values()):
        host.request_client("approval/request", params)
    for params in list(session.view.user_inputs.values()):
        if host.dialogs:
            host.request_client("userInput/request", {key: params[key] for key in params if key != "sourceRange"})


def _load(host: Host, session_id: str, servers: dict[str, Json]) -> Session:
    if not host.store.has(session_id):
        raise refusal("sessionNotFound", "there is no such session", sessionId=session_id)
    hold(host, session_id)
    try:
        stored = host.store.load(session_id)
    except OSError:
        host.store.release(session_id)
        raise refusal("sessionNotFound", "the session cannot be read", sessionId=session_id) from None
    clean = stored.end is not None or not stored.view.events
    head = stored.end or 0 if clean else stored.view.last_number + RESTART_GAP
    facts = {**stored.facts, "approvalMode": {**stored.facts["approvalMode"], "source": "replay"}}
    session = open_session(host, facts, stored.view, head)
    session.subscribed = False
    session.outputs, session.commands, session.prompts = stored.outputs, stored.commands, stored.prompts
    session.servers = servers
    if stored.roots is not None:
        session.roots = stored.roots
    session.note("resumed", ids.timestamp())
    settle_what_was_cut_off(host, session)
    return session


def fork(host: Host, params: Json) -> Json:
    """`session/fork`: a new session with the past of this one up to a completed turn."""
    known = past(host, params)
    explicit = "cutPoint" in params
    turn_id = text(table(params, "cutPoint"), "lastTurnId") if explicit else None
    if turn_id is None:
        cut = max(known.view.turn_ends.values(), default=0)
    elif known.view.turns.get(turn_id, {}).get("terminal") == "completed":
        cut = known.view.turn_ends[turn_id]
    else:
        raise refusal("forkBoundaryInvalid", "not a completed turn", lastTurnId=turn_id, sessionId=known.session_id)
    origin = {"sessionId": known.session_id, "commandId": params["commandId"]}
    origin["cutCursor"] = ids.cursor(known.session_id, cut)
    return _copy(host, params, known, cut, {"forkedFrom": {**origin, "cutExplicit": explicit}})


def side_chat(host: Host, params: Json) -> Json:
    """`session/sideChat`: the same for a chat beside the session."""
    known = past(host, params)
    cut = max(known.view.turn_ends.values(), default=0)
    origin = {"sessionId": known.session_id, "commandId": params["commandId"]}
    return _copy(host, params, known, cut, {"sideFrom": {**origin, "cutCursor": ids.cursor(known.session_id, cut)}})


def _copy(host: Host, params: Json, known: Past, cut: int, provenance: Json) -> Json:
    session_id = ids.uuid7()
    path = host.store.journal_path(session_id)
    facts = {**known.facts, "sessionId": session_id, "path": str(path), "createdAt": ids.timestamp(), **provenance}
    view = View()
    hold(host, session_id)
    session = open_session(host, facts, view, cut)
    session.note("session", facts)
    for event in known.view.events[: known.view.after(cut)]:
        moved = {**event.params, "sessionId": session_id, "viewCursor": ids.cursor(session_id, event.number)}
        view.add(Event(event.number, event.method, moved))
        session.note("event", [event.number, event.method, moved])
    source = host.sessions.get(known.session_id)
    records = source.outputs if source is not None else host.store.read(known.session_id).outputs
    for record in records.values():
        if record["itemId"] in view.items:
            session.outputs[record["id"]] = record
            session.note("output", record)
    session.show_status()
    copied = Past(facts, view, session.head, host.profile, host.settings)
    shown = session_row(host, session)
    host.broadcast("session/started", {"session": shown})
    excluded = flag(params, "excludeItems", False)
    return {
        "session": shown,
        "viewCursor": session.cursor(),
        "history": nothing("excluded") if excluded else copied.history(),
        "pendingRequests": [],
    }


def leave(host: Host, params: Json) -> Json:
    """`session/leave`: give the session up; with `stop` also what runs in it."""
    session = loaded(host, text(params, "sessionId"))
    stop, command_id = flag(params, "stop", False), params["commandId"]

    def give_up() -> None:
        done: Json = {"sessionId": session.id, "commandId": command_id}
        if session.id not in host.sessions:
            return
        if (session.running is not None or session.tasks) and not stop:
            return host.broadcast("session/leaveCompleted", {**done, "outcome": "failed", "reason": "timeout"})
        host.unload(session, "leave")
        done["viewCursor"] = session.cursor()
        host.broadcast("session/leaveCompleted", {**done, "outcome": "released"})

    host.after_answer(give_up)
    return {"commandId": command_id, "status": "accepted"}


HANDLERS: Final[dict[str, Any]] = {
    "session/resume": resume,
    "session/fork": fork,
    "session/sideChat": side_chat,
    "session/leave": leave,
}
