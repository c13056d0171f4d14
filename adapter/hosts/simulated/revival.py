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
    revived = active is not None and (view.approvals or view.user_inputs) and _revive(host, session, active["turnId"])
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


def _revive(host: Host, session: Session, turn_id: str) -> bool:
    prompt = session.prompts.get(turn_id)
    if prompt is None:
        return False
    turn = Turn(prompt, session, host)
    script = script_for(turn)
    driver = Driver(host, session, turn, script)
    for step in script:
        if isinstance(step, steps.AskApproval) and session.view.approvals:
            session.running = driver
            approvals.reopen(driver, step, next(iter(session.view.approvals.values())))
            return True
        if isinstance(step, steps.AskUser) and session.view.user_inputs:
            session.running = driver
            questions.reopen(driver, step, next(iter(session.view.user_inputs)))
            return True
        _pass_over(driver, step)
    return False


def _pass_over(driver: Driver, step: steps.Step) -> None:
    """Count the item's revisions as they were counted when the step was carried out."""
    if isinstance(step, steps.Started | steps.Updated | steps.Completed):
        status = step.status if isinstance(step, steps.Completed) else "inProgress"
        members = {} if isinstance(step, steps.Started) else step.members
        step.item.revise(status, None, **members)
        driver.drafts[step.item.id] = step.item
    elif isinstance(step, steps.Delta):
        step.item.streamed.setdefault(step.field, []).append(step.text)
