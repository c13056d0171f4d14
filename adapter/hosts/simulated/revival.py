"""What a host finds when it loads a session that another one was killed in (`msp.md §23.4`).

A turn that was at work is settled as failed. A turn that was waiting for the user waits again: its script is the same
for the same prompt, so it is run up to that point without showing anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from adapter.hosts.simulated import approvals, ids, questions, steps
from adapter.hosts.simulated.scripts import script_for
from adapter.hosts.simulated.turn import Turn
from adapter.hosts.simulated.turns import Driver

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.session import Session

CRASH: Final = "crash_inferred"


def settle_what_was_cut_off(host: Host, session: Session) -> None:
    """Bring every turn that was open to an end, or back to where it waited."""
    view = session.view
    active = view.active
    revived = active is not None and _waits_for_somebody(host, session) and _revive(host, session, active["turnId"])
    if not revived:
        _withdraw_what_is_asked(session)
    for item in list(view.items.values()):
        if item["status"] == "inProgress" and not (
            revived and active is not None and item["turnId"] == active["turnId"]
        ):
            ended = {**item, "revision": item["revision"] + 1, "status": "failed", "recordedAt": ids.timestamp()}
            session.emit("item/completed", {"item": ended}, run=item["turnId"])
    if active is not None and not revived:
        session.emit("turn/completed", {"turnId": active["turnId"], "terminal": "failed", "reason": CRASH})
    for turn_id in list(view.queued):
        session.emit("turn/completed", {"turnId": turn_id, "terminal": "failed", "reason": CRASH})
    session.show_status()


def _waits_for_somebody(host: Host, session: Session) -> bool:
    asked = session.view.approvals if host.settings.reopen_approvals else {}
    return bool(asked or session.view.user_inputs)


def _withdraw_what_is_asked(session: Session) -> None:
    """Nobody can answer any more what the dead host asked."""
    for asked in list(session.view.approvals.values()):
        approvals.withdraw_stored(session, asked)
    for asked in list(session.view.user_inputs.values()):
        questions.withdraw_stored(session, asked)


def _revive(host: Host, session: Session, turn_id: str) -> bool:
    prompt = session.prompts.get(turn_id)
    if prompt is None:
        return False
    turn = Turn(prompt, session, host)
    driver = Driver(host, session, turn, script_for(turn))
    revived = _walk(driver)
    if revived:
        session.running = driver
    return revived


def _walk(driver: Driver) -> bool:
    """Run a script up to where it waited; gives whether it waits there again."""
    view = driver.session.view
    for step in driver.script:
        if isinstance(step, steps.AskApproval):
            asked = next((row for row in view.approvals.values() if row["itemId"] == step.item.id), None)
            if asked is not None:
                approvals.reopen(driver, step, asked)
            return asked is not None
        if isinstance(step, steps.AskUser):
            if view.user_inputs:
                questions.reopen(driver, step, next(iter(view.user_inputs)))
            return driver.question is not None
        if isinstance(step, steps.Delegate):
            # The session of a subagent is kept nowhere, so what it waited for is gone.
            return False
        if isinstance(step, steps.Together):
            return _walk_parts(driver, step)
        _pass_over(driver, step)
    return False


def _walk_parts(driver: Driver, step: steps.Together) -> bool:
    """The same for scripts side by side: those that had been decided are over."""
    for script in step.scripts:
        part = Driver(driver.host, driver.session, driver.turn, script, parent=driver)
        if _walk(part):
            driver.add_part(part)
    return bool(driver.parts)


def _pass_over(driver: Driver, step: steps.Step) -> None:
    """Count the item's revisions as they were counted when the step was carried out."""
    if isinstance(step, steps.Started | steps.Updated | steps.Completed):
        status = step.status if isinstance(step, steps.Completed) else "inProgress"
        members = {} if isinstance(step, steps.Started) else step.members
        step.item.revise(status, None, **members)
        driver.drafts[step.item.id] = step.item
    elif isinstance(step, steps.Delta):
        step.item.streamed.setdefault(step.field, []).append(step.text)
