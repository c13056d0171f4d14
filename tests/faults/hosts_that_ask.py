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


class HasChildren(Asks):
    """Its subagents ask in sessions of their own, `kid-1` and so on, which no client ever saw; it knows their parent
    if it `tells` so, and their items name them if it `names` them."""

    names = True
    tells = True

    def turn(self, session_id: str, turn_id: str) -> None:
        self.parent = session_id
        for number, call in enumerate(self.calls, 1):
            kid = f"kid-{number}"
            named = {"childSessionId": kid} if self.names else {}
            agent = {"kind": "subagent", "subagentId": f"agent-{number}", "objective": "look around", **named}
            self.item("started", session_id, turn_id, f"{turn_id}-agent-{number}", **agent)
            params = self.approval(kid, turn_id, number, {"turnId": f"turn-of-{kid}", **call})
            self.message(kid, f"turn-of-{kid}", "a subagent talks")
            self.call("started", params)
            self.open[params["approvalId"]] = params
        for params in self.open.values():
            self.ask(params)

    def on_session_read(self, request: Json) -> None:
        if not self.tells:
            return self.refuse(request, "sessionNotFound", "no such session", code=-32020)
        session_id = request["params"]["sessionId"]
        self.answer(request, session={"sessionId": session_id, "kind": "subagent", "parentSessionId": self.parent})

    def complete(self, session_id: str, turn_id: str, terminal: str = "completed", **members: Any) -> None:
        """What ends with the last decision is the turn of the parent."""
        super().complete(*self.turns[-1], terminal=terminal, **members)

    def on_approval_decide(self, request: Json) -> None:
        asked = request["params"]
        approval = self.open.get(asked["approvalId"])
        if approval is not None and approval["sessionId"] != asked["sessionId"]:
            return self.refuse(request, "approvalNotFound", "not in this session", code=-32050)
        return super().on_approval_decide(request)

    def on_subagent_stop(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted")
        number = params["subagentId"].removeprefix("agent-")
        for approval in list(self.open.values()):
            if approval["sessionId"] == f"kid-{number}":
                self.settle(approval, "abort", approved=False)


class HasALateChild(HasChildren):
    """Its first turn goes on until it is stopped; the second has subagents that ask."""

    def turn(self, session_id: str, turn_id: str) -> None:
        if len(self.turns) == 1:
            self.open_shell(session_id, turn_id)
        else:
            super().turn(session_id, turn_id)

    def on_turn_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        ScriptedHost.complete(self, params["sessionId"], params["turnId"], "cancelled")


class AsksBeforeItAnswers(Asks):
    """Asks for consent before it answers that a session is open."""

    def on_session_start(self, request: Json) -> None:
        self.sessions += 1
        session_id = f"ses-{self.sessions}"
        params = self.approval(session_id, "turn-found", 0, {"approvalId": f"early-{self.sessions}"})
        self.open[params["approvalId"]] = params
        self.turns.append((session_id, "turn-found"))
        self.ask(params)
        workspace = request["params"]["workspaceRoot"]
        self.answer(request, session={"sessionId": session_id, "workspaceRoot": workspace}, viewCursor="v:0")


class Inquires(ScriptedHost):
    """Asks the user in each turn, as a request, as a notification or both, and ends the turn when that is settled."""

    via: ClassVar[list[str]] = ["notification", "request"]
    questions: ClassVar[list[Json]] = [
        {
            "id": "name",
            "header": "Name",
            "question": "What is it called?",
            "options": [],
            "selection": {"mode": "single"},
        }
    ]

    def turn(self, session_id: str, turn_id: str) -> None:
        self.item("started", session_id, turn_id, f"{turn_id}-ask", kind="toolCall", tool="request_user_input")
        params = {
            "userInputId": f"input-of-{turn_id}",
            "turnId": turn_id,
            "itemId": f"{turn_id}-ask",
            "toolCallId": "call-1",
            "toolName": "request_user_input",
            "questions": self.questions,
        }
        if "notification" in self.via:
            self.event("userInput/requested", session_id, **params)
        if "request" in self.via:
            ask = {"jsonrpc": "2.0", "id": f"ask-{turn_id}", "method": "userInput/request"}
            self.send({**ask, "params": {"sessionId": session_id, "viewCursor": f"v:{self.cursor}", **params}})

    def settle(self, request: Json, outcome: str) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", userInputId=params["userInputId"])
        session_id, turn_id = self.turns[-1]
        self.event("userInput/settled", session_id, userInputId=params["userInputId"], outcome=outcome)
        self.message(session_id, turn_id, outcome)
        self.complete(session_id, turn_id)

    def on_userInput_answer(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        self.settle(request, "answered")

    def on_userInput_cancel(self, request: Json) -> None:  # noqa: N802 - spelled as the method is
        self.settle(request, "cancelled")


class InquiresAgain(Inquires):
    """Has a turn that runs and a question that is open whenever a session is resumed."""

    def on_session_resume(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.answer(request, session={"sessionId": session_id, "status": "running"}, viewCursor="v:0")
        self.turns.append((session_id, "turn-found"))
        self.event("turn/started", session_id, turnId="turn-found", commandId="another")
        self.turn(session_id, "turn-found")
