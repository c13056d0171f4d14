"""The queries: they change nothing and need no lease (`msp.md §11, §14, §15.2, §17, §20`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import catalog, ids
from adapter.hosts.simulated.errors import invalid, refusal
from adapter.hosts.simulated.history import Past, list_page, matches, nothing
from adapter.hosts.simulated.outputs import MAX_LENGTH, read_output
from adapter.hosts.simulated.params import flag, number, optional_text, table, text, word
from adapter.hosts.simulated.profiles import NEWEST
from adapter.hosts.simulated.session import row
from adapter.hosts.simulated.shape import without
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

MAX_OFFSET: Final = 2**53 - 1


def past(host: Host, params: Json) -> Past:
    """The session's past, loaded here or not.

    Raises:
        RpcError: there is no such session.
    """
    session_id = text(params, "sessionId")
    session = host.sessions.get(session_id) or host.children.get(session_id)
    if session is not None:
        return Past(session.facts, session.view, session.head, host.profile, host.settings)
    try:
        stored = host.store.read(session_id)
    except OSError:
        raise refusal("sessionNotFound", "there is no such session", sessionId=session_id) from None
    head = stored.view.last_number if stored.end is None else stored.end
    return Past(stored.facts, stored.view, head, host.profile, host.settings)


def past_row(host: Host, known: Past) -> Json:
    """The Session object of a session, loaded here or not."""
    session = host.sessions.get(known.session_id) or host.children.get(known.session_id)
    status, attention = ("notLoaded", []) if session is None else (session.status, session.attention)
    return row(known.facts, known.view, status, attention, host.profile)


def read(host: Host, params: Json) -> Json:
    """`session/read`."""
    known = past(host, params)
    result = {
        "session": past_row(host, known),
        "viewCursor": ids.cursor(known.session_id, known.head),
        "history": nothing("excluded") if flag(params, "excludeItems", True) else known.history("inline"),
        "pendingRequests": known.pending(),
        "queuedInputs": [],
    }
    session = host.sessions.get(known.session_id)
    if session is not None:
        result["queuedInputs"] = [
            {"sequence": place, "text": session.prompts[turn_id]["text"], "sourceCommandId": turn_id}
            for place, turn_id in enumerate(session.waiting, 1)
        ]
    return known.with_last_turn(result)


def list_sessions(host: Host, params: Json) -> Json:
    """`session/list`."""
    limit = number(params, "limit", 1, 200, 50)
    rows = {stored["sessionId"]: {**stored, "status": "notLoaded"} for stored in host.store.rows()}
    for stored in rows.values():
        stored.pop("attention", None)
        stored["activeTurnId"] = None
    for session in host.sessions.values():
        rows[session.id] = row(session.facts, session.view, session.status, session.attention, NEWEST)
    root, since = optional_text(params, "workspaceRoot"), optional_text(params, "updatedAfter")
    chosen = table(params, "filter") if "filter" in params else {}
    knows_filter = "appliedFilter" not in host.profile.withheld.get("session/list", ())
    found = [
        one
        for one in rows.values()
        if (root is None or one["workspaceRoot"] == root)
        and (since is None or one["updatedAt"] > since)
        and (not knows_filter or matches(one, chosen))
    ]
    page, following = list_page(found, optional_text(params, "cursor"), limit)
    result: Json = {"sessions": [without(host.profile, "session", one) for one in page], "nextCursor": following}
    if chosen:
        result["appliedFilter"] = chosen
    return without(host.profile, "session/list", result)


def page(host: Host, params: Json) -> Json:
    """`view/page`."""
    known = past(host, params)
    limit = number(params, "limit", 1, 1000)
    backward = word(params, "direction", ("forward", "backward"), "forward") == "backward"
    cursor, anchor = optional_text(params, "cursor"), optional_text(params, "anchor")
    if anchor is not None and (cursor is not None or anchor != "latestCompaction"):
        raise invalid("anchor", "only latestCompaction, and not together with cursor")
    return known.page(cursor, anchor, backward, limit)


def subscribe(host: Host, params: Json) -> Json:
    """`view/subscribe`: what lies between `after` and the head comes before anything new."""
    session = host.asking_session(params)
    after = optional_text(params, "after")
    missed = [] if after is None else past(host, params).suffix(after)
    session.subscribed = True
    session.delivered = session.head
    host.after_answer(lambda: host.replay(session, missed))
    return {"viewCursor": session.cursor()}


def unsubscribe(host: Host, params: Json) -> Json:
    """`view/unsubscribe`."""
    session_id = text(params, "sessionId")
    session = host.sessions.get(session_id) or host.children.get(session_id)
    if session is not None:
        session.subscribed = False
    return {}


def read_stored(host: Host, params: Json) -> Json:
    """`item/readOutput`."""
    session_id, item_id, ref = text(params, "sessionId"), text(params, "itemId"), text(params, "outputRef")
    offset = number(params, "offsetBytes", 0, MAX_OFFSET, 0)
    length = number(params, "lengthBytes", 1, MAX_OFFSET, MAX_LENGTH)
    past(host, params)
    session = host.sessions.get(session_id)
    outputs = session.outputs if session is not None else host.store.read(session_id).outputs
    record = outputs.get(ref)
    if record is None or record["itemId"] != item_id:
        raise refusal("notFound", "the item has no such output", itemId=item_id, outputRef=ref)
    return read_output(record, offset, min(length, MAX_LENGTH, host.settings.output_bytes))


def list_pending(host: Host, params: Json) -> Json:
    """`approval/listPending`."""
    view = past(host, params).view
    return {"approvals": list(view.approvals.values()), "userInputs": list(view.user_inputs.values())}


def list_models(host: Host, params: Json) -> Json:
    """`model/list`."""
    active = None
    if "sessionId" in params:
        known = past(host, params)
        active = (known.view.model or known.facts["model"])["modelId"]
    return catalog.models(host.profile, active)


def list_skills(host: Host, params: Json) -> Json:
    """`skill/list`."""
    session = host.sessions.get(past(host, params).session_id)
    return {"skills": list(catalog.SKILLS if session is None else session.skills)}


def list_tasks(host: Host, params: Json) -> Json:
    """`task/list`: what runs beside the turn."""
    tasks = []
    for driver in host.session(params).tasks.values():
        assert driver.task is not None
        task = {"taskId": driver.task.id, "kind": driver.task.kind, "status": "inProgress"}
        tasks.append({**task, "executionMode": "background", "tool": driver.task.members.get("tool", "")})
    return {"tasks": tasks}


HANDLERS: Final[dict[str, Any]] = {
    "session/read": read,
    "session/list": list_sessions,
    "view/page": page,
    "view/subscribe": subscribe,
    "view/unsubscribe": unsubscribe,
    "item/readOutput": read_stored,
    "approval/listPending": list_pending,
    "model/list": list_models,
    "skill/list": list_skills,
    "task/list": list_tasks,
    "usage/read": lambda host, params: {},
    "hook/list": lambda host, params: {"hooks": []},
    "plugin/list": lambda host, params: {"plugins": []},
}
