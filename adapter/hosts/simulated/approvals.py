"""Approvals: opened by a script, moved on stage by stage, decided by the client, the policy or an interrupt
(`msp.md §15`)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.errors import refusal
from adapter.hosts.simulated.params import optional_text, table, text
from adapter.hosts.simulated.steps import AskApproval, Json, Verdict

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.session import Session
    from adapter.hosts.simulated.turns import Driver
    from adapter.wire.envelope import Params

ALLOWING: Final = frozenset({"approved", "approvedForSession", "approvedPolicyAmendment"})


class Asked:
    """An approval that is open: where it stands, and what has been decided so far."""

    def __init__(self, step: AskApproval, approval_id: str) -> None:
        self.id = approval_id
        self.step = step
        self.evidence: list[Json] = []
        self.index = min(step.asking, default=0)

    def requirement(self, index: int) -> Json:
        """The id of one stage."""
        return {"approvalId": self.id, "sourceIndex": index}

    def following(self) -> int | None:
        """The next stage that needs a decision."""
        return min((index for index in self.step.asking if index > self.index), default=None)

    def stage(self, index: int) -> Json:
        """One part of the command as the subject lists it."""
        argv = list(self.step.stages[index])
        waits = index in self.step.asking
        stage: Json = {
            "requirementId": self.requirement(index),
            "position": index + 1,
            "totalStages": len(self.step.stages),
            "argv": argv,
            "argvComplete": True,
            "resolution": {"kind": "unresolved" if waits else "known_safe"},
        }
        if waits:
            stage["suggestedPrefix"] = {"argvPrefix": argv[:2], "label": f"{shlex.join(argv[:2])} …"}
        return stage

    def subject(self) -> Json:
        """What consent is asked for."""
        if not self.step.stages:
            return self.step.subject
        return {**self.step.subject, "stages": [self.stage(index) for index in range(len(self.step.stages))]}

    def choices(self) -> list[Json]:
        """What the user may pick now."""
        if self.step.choices is not None:
            return list(self.step.choices)
        once = {"choiceId": "allow_once", "label": "Allow once", "decision": "approved", "scope": "once"}
        abort = {"choiceId": "abort", "label": "Reject", "decision": "abort", "scope": "once", "acceptsFeedback": True}
        standing = {"choiceId": "allow_session", "label": "Allow for this session", "decision": "approvedForSession"}
        return [once, {**standing, "scope": "session", "rulePreview": self.rule()}, abort]

    def provenance(self) -> Json:
        """Which subagent asks, if one does."""
        return {} if self.step.origin is None else {"subagentOrigin": self.step.origin}

    def rule(self) -> str:
        """The rule a standing choice would make."""
        if self.step.stages:
            return f"{shlex.join(self.step.stages[self.index][:2])} *"
        return file_rule(self.step.subject)


def file_rule(subject: Json) -> str:
    """The rule a standing choice about a file would make."""
    return f"{subject.get('access', 'use')} {subject.get('path', '')}"


def ask(driver: Driver, step: AskApproval) -> bool:
    """Open an approval, unless the mode settles it; gives whether the script may go on at once."""
    session, host = driver.session, driver.host
    mode = (session.view.approval_mode or session.facts["approvalMode"])["mode"]
    asked = driver.approval = Asked(step, ids.uuid7())
    if mode == "allowAll" or host.options.disable_sandbox:
        driver.approval = None
        driver.schedule(Verdict(True))
        return False
    if mode == "denyUnmatched":
        _resolve(driver, "denied", "policy")
        driver.schedule(Verdict(False))
        return False
    _open(driver, asked)
    if host.profile.live_request:
        host.request_client("approval/request", session.view.approvals[asked.id])
    if step.settled_after is not None:
        host.loop.call_later(step.settled_after, lambda: _settle_elsewhere(driver, asked))
    return False


def _settle_elsewhere(driver: Driver, asked: Asked) -> None:
    """Somebody else than the client decides."""
    if driver.approval is asked:
        _resolve(driver, "approved", "llmJudge")
        driver.advance(Verdict(True))


def _open(driver: Driver, asked: Asked) -> None:
    if asked.step.origin is None:
        driver.show(asked.step.item, "item/updated", "inProgress", {"approvalId": asked.id})
    driver.session.parked[asked.id] = driver
    driver.session.emit("approval/requested", _request(driver, asked), run=driver.turn.id)
    driver.session.show_status()


def reopen(driver: Driver, step: AskApproval, before: Json) -> None:
    """Open an approval again that another host was killed with: under a new id, at the stage it had reached."""
    asked = driver.approval = Asked(step, ids.uuid7())
    asked.index = before["currentRequirementId"]["sourceIndex"]
    step.item.revise("inProgress", None, approvalId=before["approvalId"])
    _open(driver, asked)


def _request(driver: Driver, asked: Asked) -> Json:
    item = asked.step.item
    return {
        "approvalId": asked.id,
        "turnId": driver.turn.id,
        "taskId": item.id,
        "itemId": item.id,
        "toolCallId": item.members["callId"],
        "toolName": item.members["tool"],
        "rawArgs": item.members["args"],
        "subject": asked.subject(),
        "currentRequirementId": asked.requirement(asked.index),
        "availableChoices": asked.choices(),
        "protectedWrite": False,
        "judgeEscalated": False,
        **asked.provenance(),
    }


def decide(host: Host, session: Session, params: Params) -> Json:
    """`approval/decide`: check the decision against the stage that is open now; what follows comes after the answer."""
    approval_id = text(params, "approvalId")
    requirement = table(params, "requirementId")
    choice_id, feedback = text(params, "choiceId"), optional_text(params, "feedback")
    resolution = session.view.resolutions.get(approval_id)
    if resolution is not None:
        message = "the approval has been decided"
        raise refusal("approvalAlreadyResolved", message, approvalId=approval_id, resolution=resolution)
    driver = session.parked.get(approval_id)
    if driver is None or driver.approval is None:
        raise refusal("approvalNotFound", "there is no such approval", approvalId=approval_id)
    asked = driver.approval
    current = asked.requirement(asked.index)
    if requirement != current:
        message = "another stage is open now"
        raise refusal("approvalRequirementStale", message, approvalId=approval_id, currentRequirementId=current)
    choice = next((row for row in asked.choices() if row["choiceId"] == choice_id), None)
    if choice is None or (feedback is not None and not choice.get("acceptsFeedback")):
        message = "the choice is not offered" if choice is None else "the choice takes no feedback"
        raise refusal("approvalChoiceInvalid", message, approvalId=approval_id, choiceId=choice_id)
    allowed = choice["decision"] in ALLOWING
    asked.evidence.append(_evidence(asked, choice))
    following = asked.following() if allowed else None
    command_id = params["commandId"]
    if following is not None:
        host.after_answer(lambda: _move_on(driver, asked, choice, following))
    else:
        verdict = Verdict(allowed, feedback)
        host.after_answer(lambda: _close(driver, choice["decision"], verdict, command_id))
    return {"commandId": command_id, "status": "accepted", "approvalId": approval_id, "terminal": following is None}


def _evidence(asked: Asked, choice: Json) -> Json:
    return {**asked.stage(asked.index), "resolution": {"kind": choice["decision"]}} if asked.step.stages else {}


def _move_on(driver: Driver, asked: Asked, choice: Json, index: int) -> None:
    """The next stage is open now."""
    if driver.ended:
        return
    session = driver.session
    done = asked.requirement(asked.index)
    asked.index = index
    change = {"kind": "stageResolved", "choiceId": choice["choiceId"], "decision": choice["decision"]}
    params: dict[str, Any] = {
        "approvalId": asked.id,
        "change": {**change, "requirementId": done},
        "subject": asked.subject(),
        "currentRequirementId": asked.requirement(index),
        "availableChoices": asked.choices(),
        **asked.provenance(),
    }
    session.emit("approval/updated", params, run=driver.turn.id)
    if driver.host.profile.stage_request:
        driver.host.request_client("approval/request", session.view.approvals[asked.id])


def _close(driver: Driver, decision: str, verdict: Verdict, command_id: str) -> None:
    if driver.ended:
        return
    _resolve(driver, decision, "user", command_id)
    driver.advance(verdict)


def _resolve(driver: Driver, decision: str, by: str, command_id: str | None = None) -> None:
    asked = driver.approval
    assert asked is not None
    driver.approval = None
    driver.session.parked.pop(asked.id, None)
    params: Json = {
        "approvalId": asked.id,
        "itemId": asked.step.item.id,
        "turnId": driver.turn.id,
        "decision": decision,
        "policyResult": "allow" if decision in ALLOWING else "deny",
        "resolvedBy": by,
        "stageEvidence": [_as_evidence(row) for row in asked.evidence if row],
        "decidedAt": ids.timestamp(),
        **asked.provenance(),
    }
    durability = {"approvedForSession": "session", "approvedPolicyAmendment": "localPersistent"}.get(decision)
    if durability is not None:
        params["amendment"] = {"durability": durability, "rulePreview": asked.rule()}
    if command_id is not None:
        params["decidedByCommandId"] = command_id
    driver.session.emit("approval/resolved", params, run=driver.turn.id)
    driver.session.show_status()


def _as_evidence(stage: Json) -> Json:
    return {key: stage[key] for key in ("argv", "position", "requirementId", "resolution", "totalStages")}


def withdraw_stored(session: Session, asked: Json) -> None:
    """Close an approval whose turn died with another host."""
    known: Json = {key: asked[key] for key in ("approvalId", "itemId", "turnId", "subagentOrigin") if key in asked}
    outcome: Json = {"decision": "abort", "policyResult": "deny", "resolvedBy": "policy", "stageEvidence": []}
    resolved = {**known, **outcome, "decidedAt": ids.timestamp()}
    session.emit("approval/resolved", resolved, run=asked["turnId"])


def withdraw(driver: Driver) -> None:
    """Close the open approval of a turn that is being stopped."""
    if driver.approval is not None:
        _resolve(driver, "abort", "user")
