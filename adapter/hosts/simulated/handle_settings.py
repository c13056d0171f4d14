"""The methods that set something about a session: name, model, effort, approvals, goal (`msp.md §10.8, §17, §18`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.catalog import PROVIDER, has_model
from adapter.hosts.simulated.errors import invalid, rejected
from adapter.hosts.simulated.handle_sessions import store
from adapter.hosts.simulated.params import APPROVAL_MODES, optional_text, table, text, word
from adapter.hosts.simulated.session import Session
from adapter.hosts.simulated.shape import without
from adapter.hosts.simulated.turns import launch
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host

NAME_CHARACTERS: Final = 200


def _accepted(params: Json, **members: Any) -> Json:
    return {"commandId": params["commandId"], "status": "accepted", **members}


def rename(host: Host, params: Json) -> Json:
    """`session/rename`."""
    session = host.session(params)
    name = text(params, "name").strip()
    if not 0 < len(name) <= NAME_CHARACTERS:
        raise invalid("name", f"1 to {NAME_CHARACTERS} characters are required")
    changed = without(host.profile, "session", {"name": name, "nameOrigin": "custom"})
    _tell(host, session, "session/nameChanged", changed)
    return _accepted(params, name=name)


def set_model(host: Host, params: Json) -> Json:
    """`session/setModel`."""
    session = host.session(params)
    model = table(params, "model")
    model_id = text(model, "modelId")
    if not has_model(model_id):
        raise rejected(params["commandId"], "unknown_model")
    provider = optional_text(model, "providerId") or PROVIDER
    _tell(host, session, "session/modelChanged", {"modelId": model_id, "providerId": provider, "source": "user"})
    return _accepted(params)


def set_effort(host: Host, params: Json) -> Json:
    """`session/setReasoningEffort`."""
    session = host.session(params)
    tier = word(params, "reasoningEffort", host.profile.efforts)
    _tell(host, session, "session/reasoningEffortChanged", {"reasoningEffort": tier, "source": "user"})
    return _accepted(params)


def set_approval_mode(host: Host, params: Json) -> Json:
    """`session/setApprovalMode`; an approval that is open stays as it is."""
    session = host.session(params)
    mode = word(params, "mode", APPROVAL_MODES)
    now = session.view.approval_mode or session.facts["approvalMode"]
    if now["mode"] == mode:
        return _accepted(params, applyOutcome="noop", effectiveMode=now)
    command_id = params["commandId"]
    source = "approvalReconfigure"
    changed = {"mode": mode, "source": source, "commandId": command_id, "clientName": host.client["name"]}
    _tell(host, session, "session/approvalModeChanged", changed)
    effective = {"mode": mode, "source": source, "lastCommandId": command_id}
    return _accepted(params, applyOutcome="completed", effectiveMode=effective)


def _tell(host: Host, session: Session, method: str, params: Json) -> None:
    """Once the command has been answered, make it so."""

    def emit() -> None:
        session.emit(method, params)
        session.show_status()

    host.after_answer(emit)


def compact(host: Host, params: Json) -> Json:
    """`session/compact`."""
    session = host.session(params)
    if not host.profile.compacts:
        raise rejected(params["commandId"], "compaction_unavailable")
    if not session.view.turns:
        return {"commandId": params["commandId"], "status": "noop", "reason": "no_compactable_history"}
    last = next(reversed(session.view.turns))
    turn_id = session.view.active["turnId"] if session.view.active is not None else last
    item_id = f"compaction-{params['commandId']}"

    def run() -> None:
        item = {"itemId": item_id, "kind": "compaction", "turnId": turn_id, "trigger": "manual"}
        opened = {**item, "revision": 1, "status": "inProgress", "recordedAt": ids.timestamp()}
        session.emit("item/started", {"item": opened}, run=turn_id)
        done = {**opened, "revision": 2, "status": "completed", "recordedAt": ids.timestamp(), "outcome": "compacted"}
        through = f"run:{turn_id}:seq:{len(session.view.events)}"
        done |= {"strategyId": "summary-v2", "summarizedThrough": through, "tokensBefore": 161_000}
        session.emit("item/completed", {"item": {**done, "tokensAfter": 31_000}}, run=turn_id)
        session.show_status()

    host.after_answer(run)
    return _accepted(params)


# -- goals


def set_goal(host: Host, params: Json) -> Json:
    """`goal/set`; an idle session wakes up for it."""
    return _change_goal(host, params, {"objective": text(params, "objective"), "percentComplete": 0}, "active", True)


def edit_goal(host: Host, params: Json) -> Json:
    """`goal/edit`."""
    goal = _goal(host.session(params), params)
    return _change_goal(host, params, {**goal, "objective": text(params, "objective")}, "active", True)


def pause_goal(host: Host, params: Json) -> Json:
    """`goal/pause`."""
    goal = _goal(host.session(params), params)
    if goal["status"] == "paused":
        raise rejected(params["commandId"], "invalid_goal_state")
    return _change_goal(host, params, goal, "paused", False)


def resume_goal(host: Host, params: Json) -> Json:
    """`goal/resume`."""
    goal = _goal(host.session(params), params)
    if goal["status"] != "paused":
        raise rejected(params["commandId"], "invalid_goal_state")
    return _change_goal(host, params, goal, "active", True)


def clear_goal(host: Host, params: Json) -> Json:
    """`goal/clear`."""
    session = host.session(params)
    _goal(session, params)
    _tell(host, session, "session/goalChanged", {"goal": None})
    return _accepted(params)


def _goal(session: Session, params: Json) -> Json:
    if session.view.goal is None:
        raise rejected(params["commandId"], "missing_goal")
    return session.view.goal


def _change_goal(host: Host, params: Json, goal: Json, status: str, wakes: bool) -> Json:
    session = host.session(params)
    _tell(host, session, "session/goalChanged", {"goal": {**goal, "status": status}})
    if not wakes or session.running is not None:
        return _accepted(params)
    turn_id = f"{params['commandId']}-turn"
    prompt = {"turnId": turn_id, "commandId": params["commandId"], "text": goal["objective"], "wakes": True}
    store(host, session)
    session.prompts[turn_id] = prompt
    session.note("prompt", prompt)
    host.after_answer(lambda: launch(host, session, turn_id))
    return _accepted(params, turnId=turn_id)


HANDLERS: Final[dict[str, Any]] = {
    "session/rename": rename,
    "session/setModel": set_model,
    "session/setReasoningEffort": set_effort,
    "session/setApprovalMode": set_approval_mode,
    "session/compact": compact,
    "goal/set": set_goal,
    "goal/edit": edit_goal,
    "goal/pause": pause_goal,
    "goal/resume": resume_goal,
    "goal/clear": clear_goal,
}
