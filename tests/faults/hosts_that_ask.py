"""A host that asks for consent, keeps the rules of approvals itself, and can do so in odd ways."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from tests.scripted_hosts import Json, ScriptedHost

CHOICES: list[Json] = [
    {"choiceId": "always", "label": "Allow for this session", "decision": "approvedForSession", "scope": "session"},
    {"choiceId": "yes", "label": "Allow once", "decision": "approved", "scope": "once"},
    {"choiceId": "no", "label": "Reject", "decision": "denied", "scope": "once"},
]


class Asks(ScriptedHost):
    """Asks in each turn for consent to all `calls` at once and ends the turn when the last is settled.

    A call is what differs from the usual params of an approval; `stages` in it are the indexes of the parts to decide,
    which the host moves through with `approval/updated` alone.
    """

    calls: ClassVar[list[Json]] = [{}]
    via: ClassVar[list[str]] = ["notification", "request"]
    announces = True
    """Whether the tool items come before the approvals; else they come when they are decided."""
    stops_at_once = True
    """Whether an interrupt ends the turn; else it ends with the last decision."""
    refuses_first: tuple[int, str] | None = None
    """Code and kind the first decision is refused with; the choices are then `new_choices`."""
    new_choices: ClassVar[list[Json]] = CHOICES

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.open: dict[str, Json] = {}
        self.stages: dict[str, list[int]] = {}
        self.interrupted = False

    def turn(self, session_id: str, turn_id: str) -> None:
        self.interrupted = False
        for number, call in enumerate(self.calls):
            params = self.approval(session_id, turn_id, number, dict(call))
            if self.announces:
                self.call("started", params)
            self.open[params["approvalId"]] = params
        for params in self.open.values():
            self.ask(params)

    def approval(self, session_id: str, turn_id: str, number: int, call: Json) -> Json:
        approval_id = f"{turn_id}-approval-{number}"
        approval_id = call.get("approvalId", approval_id)
        self.stages[approval_id] = call.pop("stages", [0])
        usual = {
            "sessionId": session_id,
            "approvalId": approval_id,
            "turnId": turn_id,
            "taskId": "task",
            "itemId": f"{turn_id}-call-{number}",
            "toolCallId": "call-1",
            "toolName": "bash",
            "rawArgs": json.dumps({"command": "make all"}),
            "subject": {"kind": "shell", "command": "make all"},
            "currentRequirementId": {"approvalId": approval_id, "sourceIndex": self.stages[approval_id].pop(0)},
            "availableChoices": CHOICES,
        }
        return usual | call

    def ask(self, params: Json) -> None:
        if "notification" in self.via:
            members = {name: value for name, value in params.items() if name != "sessionId"}
            self.event("approval/requested", params["sessionId"], **members)
        if "request" in self.via:
            ask = {"jsonrpc": "2.0", "id": f"ask-{self.cursor}-{params['approvalId']}", "method": "approval/request"}
            self.send({**ask, "params": {**params, "viewCursor": f"v:{self.cursor}"}})

    def call(self, stage: str, params: Json, **members: Any) -> None:
        call = {"kind": "toolCall", "tool": params["toolName"], "args": params["rawArgs"], **members}
        self.item(stage, params["sessionId"], params["turnId"], params["itemId"], **call)

    def on_approval_decide(self, request: Json) -> None:
        asked = request["params"]
        approval = self.open.get(asked["approvalId"])
        if approval is None:
            return self.refuse(request, "approvalNotFound", "no such approval", code=-32050)
        if self.refuses_first is not None:
            (code, kind), self.refuses_first = self.refuses_first, None
            approval["availableChoices"] = self.new_choices
            return self.refuse(request, kind, "not like this", code=code)
        if asked["requirementId"] != approval["currentRequirementId"]:
            return self.refuse(request, "approvalRequirementStale", "another stage", code=-32053)
        [choice] = [each for each in approval["availableChoices"] if each["choiceId"] == asked["choiceId"]]
        approved = choice["decision"].startswith("approved")
        stages = self.stages[asked["approvalId"]]
        more = approved and bool(stages)
        self.answer(
            request, commandId=asked["commandId"], status="accepted", approvalId=asked["approvalId"], terminal=not more
        )
        if more:
            return self.move_on(approval, stages.pop(0))
        return self.settle(approval, choice["decision"], approved)

    def move_on(self, approval: Json, index: int) -> None:
        """The next stage is to be decided."""
        approval["currentRequirementId"] = {"approvalId": approval["approvalId"], "sourceIndex": index}
        self.update(approval, "stageResolved")

    def update(self, approval: Json, kind: str) -> None:
        names = ("approvalId", "subject", "currentRequirementId", "availableChoices")
        members = {name: approval[name] for name in names}
        self.event("approval/updated", approval["sessionId"], change={"kind": kind}, **members)

    def settle(self, approval: Json, decision: str, approved: bool) -> None:
        del self.open[approval["approvalId"]]
        names = ("approvalId", "itemId", "turnId")
        self.event(
            "approval/resolved", approval["sessionId"], decision=decision, **{name: approval[name] for name in names}
        )
        if not self.announces:
            self.call("started", approval)
        self.call("completed", approval, status="completed" if approved else "rejected")
        if not self.open:
            self.complete(approval["sessionId"], approval["turnId"], "cancelled" if self.interrupted else "completed")

    def on_turn_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.interrupted = True
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        if self.stops_at_once:
            for approval in list(self.open.values()):
                self.settle(approval, "abort", approved=False)

    def on_approval_listPending(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        self.answer(request, approvals=list(self.open.values()), userInputs=[])


class Repeats(Asks):
    """Says the same stage again, with and without a reason, before it is decided and right after."""

    def ask(self, params: Json) -> None:
        super().ask(params)
        self.update(params, "persistence")
        super().ask(params)

    def settle(self, approval: Json, decision: str, approved: bool) -> None:
        self.update(approval, "persistence")
        super().settle(approval, decision, approved)


class MovesOnByItself(Asks):
    """Moves to the next stage while the first is still on screen, at the next prompt of another session."""

    def on_session_start(self, request: Json) -> None:
        super().on_session_start(request)
        for approval_id, approval in self.open.items():
            if self.stages[approval_id]:
                self.move_on(approval, self.stages[approval_id].pop(0))
