"""The methods about work beside the turn: tasks, subagents, workflows, the user's own shell (`msp.md §22`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.errors import refusal, rejected
from adapter.hosts.simulated.params import number, text, word
from adapter.hosts.simulated.turns import Driver
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host


def _accepted(params: Json, **members: Any) -> Json:
    return {"commandId": params["commandId"], "status": "accepted", **members}


def _task(host: Host, params: Json) -> Driver:
    task_id = text(params, "taskId")
    driver = host.session(params).tasks.get(task_id)
    if driver is None:
        raise refusal("notFound", "nothing of that id runs", itemId=task_id)
    return driver


def stop(host: Host, params: Json) -> Json:
    """`task/stop`."""
    driver = _task(host, params)
    host.after_answer(lambda: driver.stop("stopped by the client"))
    return _accepted(params, taskId=params["taskId"])


def stop_all(host: Host, params: Json) -> Json:
    """`task/stopAll`."""
    drivers = list(host.session(params).tasks.values())

    def run() -> None:
        for driver in drivers:
            driver.stop("stopped by the client")

    host.after_answer(run)
    return _accepted(params)


def background(host: Host, params: Json) -> Json:
    """`task/background`: tools of a script move to the background by themselves, so one that has is accepted."""
    _task(host, params)
    return _accepted(params, taskId=params["taskId"])


def _subagent(host: Host, params: Json) -> Driver | None:
    """What runs as the subagent that `params` names, None if it is over.

    Raises:
        RpcError: there is no such subagent.
    """
    session, subagent_id = host.session(params), text(params, "subagentId")
    item = next((item for item in session.view.items.values() if item.get("subagentId") == subagent_id), None)
    if item is None:
        raise refusal("notFound", "there is no such subagent", details={"subagentId": subagent_id})
    return session.tasks.get(item["itemId"])


def control_subagent(host: Host, params: Json) -> Json:
    """`subagent/*`: admitted if there is such a subagent; nothing more comes of it here."""
    _subagent(host, params)
    return _accepted(params)


def stop_subagent(host: Host, params: Json) -> Json:
    """`subagent/stop`, `subagent/interrupt`, `subagent/close`."""
    driver = _subagent(host, params)
    if driver is not None:
        host.after_answer(lambda: driver.stop("stopped by the client"))
    return _accepted(params)


def _workflow(host: Host, params: Json) -> tuple[Json, Driver]:
    session = host.session(params)
    run_id = text(params, "workflowRunId")
    item = next((item for item in session.view.items.values() if item.get("workflowRunId") == run_id), None)
    if item is None:
        raise refusal("notFound", "there is no such workflow", details={"workflowRunId": run_id})
    driver = session.tasks.get(item["itemId"])
    if driver is None:
        raise rejected(params["commandId"], "already_terminal")
    return item, driver


def cancel_workflow(host: Host, params: Json) -> Json:
    """`workflow/cancel`."""
    _, driver = _workflow(host, params)
    host.after_answer(lambda: driver.stop("cancelled by the client"))
    return _accepted(params)


def pause_workflow(host: Host, params: Json) -> Json:
    """`workflow/pause`."""
    _, driver = _workflow(host, params)
    host.after_answer(driver.pause)
    return _accepted(params)


def resume_workflow(host: Host, params: Json) -> Json:
    """`workflow/resume`."""
    _, driver = _workflow(host, params)
    host.after_answer(driver.unpause)
    return _accepted(params, turnId=driver.turn.id)


def control_child(host: Host, params: Json) -> Json:
    """`workflow/childControl`."""
    item, _ = _workflow(host, params)
    child_id, attempt = text(params, "childId"), number(params, "attempt", 0, 1_000_000)
    word(params, "action", ("skip", "retry"))
    if all((child["childId"], child["attempt"]) != (child_id, attempt) for child in item["children"]):
        raise rejected(params["commandId"], "stale_attempt")
    return _accepted(params)


def user_shell(host: Host, params: Json) -> Json:
    """`session/userShell`: the user's own command, shown as an item outside any turn; nothing is run."""
    session = host.session(params)
    command = text(params, "commandText")
    item: Json = {"itemId": f"shell-{params['commandId']}", "kind": "userShell", "turnId": None}
    item |= {"commandText": command, "commandId": params["commandId"]}

    def run() -> None:
        opened = {**item, "revision": 1, "status": "inProgress", "recordedAt": ids.timestamp()}
        session.emit("item/started", {"item": opened})
        done = {**opened, "revision": 2, "status": "completed", "recordedAt": ids.timestamp(), "exitCode": 0}
        done |= {"durationMs": 1, "visibleOutput": f"simulated: {command} — nothing was run\n", "truncated": False}
        session.emit("item/completed", {"item": done})
        session.show_status()

    host.after_answer(run)
    return _accepted(params)


def recap(host: Host, params: Json) -> Json:
    """`recap/request`."""
    session = host.session(params)
    summary = f"{session.view.turn_count} turns — simulated."
    done = {"sessionId": session.id, "commandId": params["commandId"], "outcome": "completed", "text": summary}
    host.after_answer(lambda: host.broadcast("recap/completed", done))
    return _accepted(params)


def cancel_recap(host: Host, params: Json) -> Json:
    """`recap/cancel`: a recap is over as soon as it was asked for."""
    host.session(params)
    return _accepted(params)


def submit_feedback(host: Host, params: Json) -> Json:
    """`feedback/submit`: taken note of and thrown away."""
    word(params, "classification", ("bug", "badResult", "goodResult", "other"))
    text(params, "note")
    return {"bundlePath": "", "outcome": "disabled", "sessionRecordAttached": False, "sessionRecordTruncated": False}


HANDLERS: Final[dict[str, Any]] = {
    "task/stop": stop,
    "task/stopAll": stop_all,
    "task/background": background,
    **{f"subagent/{verb}": stop_subagent for verb in ("stop", "interrupt", "close")},
    **{
        f"subagent/{verb}": control_subagent
        for verb in ("resume", "reopen", "readResult", "sendMessage", "followupTask")
    },
    "workflow/cancel": cancel_workflow,
    "workflow/pause": pause_workflow,
    "workflow/resume": resume_workflow,
    "workflow/childControl": control_child,
    "session/userShell": user_shell,
    "recap/request": recap,
    "recap/cancel": cancel_recap,
    "feedback/submit": submit_feedback,
}
