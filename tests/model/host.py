"""A host as the machine plays it: what it does at once, what it waits with, and how it dies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from tests.model.store import Json, Store, Stored, Turn
from tests.model.wires import Wire

NIL: Final = "00000000-0000-0000-0000-000000000000"

CODES: Final = {
    "internal": -32603,
    "overloaded": -32001,
    "sessionNotFound": -32020,
    "sessionNotLoaded": -32024,
    "commandRejected": -32030,
    "backpressured": -32031,
    "approvalNotFound": -32050,
    "approvalAlreadyResolved": -32051,
    "approvalChoiceInvalid": -32052,
    "approvalRequirementStale": -32053,
    "userInputNotFound": -32055,
    "userInputAlreadySettled": -32056,
}

MODEL: Final = {
    "modelId": "m1",
    "providerId": "muse",
    "displayLabel": "M1",
    "isDefault": True,
    "isActive": True,
    "reasoningEffortVariants": [{"tier": "low"}, {"tier": "high"}],
    "defaultReasoningEffort": "low",
}

CONVERSING: Final = frozenset(
    (
        *("turn/start", "turn/interrupt", "turn/unqueue", "approval/decide", "approval/listPending", "view/page"),
        *("userInput/answer", "userInput/cancel", "userInput/clarify", "session/resume", "session/start"),
        *("session/fork", "session/leave", "session/setApprovalMode", "session/setReasoningEffort"),
    )
)
"""What a slow host waits with. The rest it answers at once: nothing depends on its order."""


class Refused(Exception):
    """What a host refuses a request with."""

    def __init__(self, kind: str, **data: Any) -> None:
        super().__init__(kind)
        self.kind = kind
        self.data = data


class PlayedHost:
    """One `muse serve`, from its start to its death. `slow`: it answers what is `CONVERSING` when it is told to."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self.wire: Wire | None = None
        self.alive = True
        self.slow = False
        self.obeys = True
        """Whether an interrupt ends the turn at once."""
        self.waiting: list[Json] = []
        self.loaded: set[str] = set()
        self._next_id = 0
        self._after: list[Callable[[], None]] = []
        self._methods: dict[str, Callable[[Json], Json]] = {
            "initialize": lambda params: {
                "serverInfo": {"name": "played-host", "version": "1.4.13"},
                "sessionDurability": "durable",
                "grantedCapabilities": ["sessionRename"],
            },
            "session/start": self._start,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/leave": self._leave,
            "session/read": lambda params: {"session": self._known(params).row()},
            "session/list": self._list,
            "session/setApprovalMode": self._set_mode,
            "session/setReasoningEffort": lambda params: {},
            "model/list": lambda params: {"models": [MODEL], "providerId": "muse"},
            "skill/list": lambda params: {"skills": []},
            "view/page": self._page,
            "view/unsubscribe": lambda params: {},
            "turn/start": self._start_turn,
            "turn/interrupt": self._interrupt,
            "turn/unqueue": self._unqueue,
            "approval/decide": self._decide,
            "approval/listPending": self._pending,
            "userInput/answer": lambda params: self._settle(params, "answered"),
            "userInput/clarify": lambda params: self._settle(params, "clarified"),
            "userInput/cancel": lambda params: self._settle(params, "cancelled"),
        }

    # -- frames

    def take(self, frame: Json) -> None:
        """A frame from the adapter."""
        if not self.alive or "method" not in frame or "id" not in frame:
            return
        named = frame.get("params", {}).get("sessionId")
        if self.slow and frame["method"] in CONVERSING and named != NIL:
            self.waiting.append(frame)
        else:
            self.answer(frame)

    def answer(self, frame: Json, *, refusal: str | None = None, effects_first: bool = False) -> None:
        """Do what a request wants and answer it, or refuse it; with `effects_first` what follows from it is told
        before the answer."""
        params = frame.get("params", {})
        self._after = []
        try:
            if refusal is not None:
                raise Refused(refusal)
            result = self._once(frame["method"], params)
        except Refused as error:
            data = {"kind": error.kind, "retryable": error.kind in ("overloaded", "backpressured"), **error.data}
            body = {"code": CODES[error.kind], "message": error.kind, "data": data}
            return self._send({"id": frame["id"], "error": body})
        after, self._after = self._after, []
        if not effects_first:
            self._send({"id": frame["id"], "result": result})
        for effect in after:
            effect()
        if effects_first:
            self._send({"id": frame["id"], "result": result})
        return None

    def take_in(self, frame: Json) -> None:
        """Do what a command wants, and die before it is answered."""
        self._after = []
        try:
            self._once(frame["method"], frame.get("params", {}))
        except Refused:
            return
        for effect in self._after:
            effect()

    def ask_client(self, method: str, params: Json) -> None:
        """A request of the host; its receipt means nothing."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})

    def die(self) -> None:
        """Everything it has loaded is loaded nowhere."""
        self.alive = False
        for session_id in self.loaded:
            self.store.sessions[session_id].deliver = None
            self.store.sessions[session_id].soil()
        self.waiting.clear()

    def _once(self, method: str, params: Json) -> Json:
        """A command that was taken in is not taken in again, whichever host it comes to."""
        command_id = params.get("commandId")
        if command_id in self.store.answers:
            return self.store.answers[command_id]
        perform = self._methods.get(method)
        if perform is None:
            raise Refused("sessionNotFound")
        if params.get("sessionId") == NIL and method not in ("session/list",):
            raise Refused("sessionNotFound")
        result = perform(params)
        if command_id is not None:
            result = self.store.answers[command_id] = {"commandId": command_id, "status": "accepted", **result}
        return result

    def _send(self, frame: Json) -> None:
        if self.wire is not None and self.alive:
            self.wire.send(copy.deepcopy(frame))

    def _deliver(self, method: str, params: Json) -> None:
        self._send({"method": method, "params": params})

    # -- sessions

    def _known(self, params: Json) -> Stored:
        stored = self.store.sessions.get(params["sessionId"])
        if stored is None:
            raise Refused("sessionNotFound")
        return stored

    def _here(self, params: Json) -> Stored:
        stored = self._known(params)
        if stored.id not in self.loaded:
            raise Refused("sessionNotLoaded")
        return stored

    def _start(self, params: Json) -> Json:
        stored = self.store.create(params["workspaceRoot"], params.get("sessionId"))
        self._load(stored)
        return {"session": stored.row(), "viewCursor": stored.cursor()}

    def _load(self, stored: Stored) -> None:
        self.loaded.add(stored.id)
        stored.attached(self._deliver)

    def _resume(self, params: Json) -> Json:
        stored = self._known(params)
        if stored.id not in self.loaded:
            self._settle_cut_off(stored)
        cursor = params.get("cursor")
        self._load(stored)
        for _, method, event in stored.after(cursor) if cursor is not None else ():
            self._deliver(method, event)
        self._after.append(lambda: self._ask_again(stored))
        served = params.get("history") == "snapshot" and not params.get("excludeItems")
        snapshot = {"schemaVersion": 1, "state": stored.state()} if served else None
        history = {"mode": "snapshot" if served else "none", "snapshot": snapshot}
        return {"session": stored.row(), "viewCursor": stored.cursor(), "history": history}

    def _ask_again(self, stored: Stored) -> None:
        for params in stored.approvals.values():
            self.ask_client("approval/request", {"sessionId": stored.id, **params})
        for params in stored.inputs.values():
            self.ask_client("userInput/request", {"sessionId": stored.id, **params})

    def _settle_cut_off(self, stored: Stored) -> None:
        """What ran when its host died fails, unless it waits for the user: its question is opened again, under a new
        id."""
        running = stored.running
        if running is not None and not (stored.approvals or stored.inputs):
            stored.end(running, "failed")
        elif running is not None:
            running.on_its_own = True
        for approval_id, params in list(stored.approvals.items()):
            last = stored.last_stage[approval_id]
            del stored.approvals[approval_id]
            new_id = f"a{self.store.number()}"
            again = stored.turns[params["turnId"]]
            stored.ask(again, new_id, params["itemId"], params["availableChoices"], last)

    def _fork(self, params: Json) -> Json:
        source = self._known(params)
        stored = self.store.create(source.root)
        stored.forked_from = {"sessionId": source.id, "cutExplicit": False}
        ended = {turn.id for turn in source.turns.values() if turn.state == "ended"}
        for number, method, event in source.events:
            turn_id = event.get("turnId") or event.get("item", {}).get("turnId")
            if turn_id in ended:
                stored.events.append((number, method, {**event, "sessionId": stored.id}))
                stored.events[-1][2]["viewCursor"] = stored.cursor(number)
        stored.turns = {turn.id: copy.deepcopy(turn) for turn in source.turns.values() if turn.id in ended}
        stored.head = source.head
        self._load(stored)
        return {"session": stored.row(), "viewCursor": stored.cursor(), "history": {"mode": "none"}}

    def _leave(self, params: Json) -> Json:
        stored = self._here(params)

        def leave() -> None:
            done = {"sessionId": stored.id, "commandId": params["commandId"], "outcome": "released"}
            for turn in stored.waiting:
                turn.state, turn.terminal = "ended", "cancelled"
                stored.emit("turn/completed", {"turnId": turn.id, "terminal": "cancelled"})
            if stored.running is not None:
                stored.end(stored.running, "cancelled")
            self.loaded.discard(stored.id)
            stored.deliver = None
            self._deliver("session/leaveCompleted", done)

        self._after.append(leave)
        return {}

    def _list(self, params: Json) -> Json:
        rows = [stored.row() for stored in self.store.sessions.values()]
        chosen = params.get("filter")
        if chosen is not None:
            ids = chosen.get("sessionId", {}).get("anyOf")
            rows = [row for row in rows if ids is None or row["sessionId"] in ids]
        return {"sessions": rows, "nextCursor": None, **({} if chosen is None else {"appliedFilter": chosen})}

    def _set_mode(self, params: Json) -> Json:
        stored = self._here(params)
        stored.mode = params["mode"]
        told = {"mode": stored.mode, "source": "client", "commandId": params["commandId"]}
        self._after.append(lambda: stored.emit("session/approvalModeChanged", told))
        return {"effectiveMode": stored.mode}

    def _page(self, params: Json) -> Json:
        stored = self._known(params)
        if "anchor" in params:
            raise Refused("commandRejected", reason="noBoundary")
        events, limit = stored.after(params.get("cursor")), params.get("limit", 100)
        if params.get("direction", "forward") == "backward":
            events = stored.events[::-1]
        shown = [{"method": method, "params": event} for _, method, event in events[:limit]]
        following = events[limit - 1][2]["viewCursor"] if len(events) > limit else None
        return {"events": shown, "nextCursor": following}

    # -- turns

    def _start_turn(self, params: Json) -> Json:
        stored = self._here(params)
        words = "".join(part.get("text", "") for part in params["input"])
        turn = Turn(f"t{self.store.number()}", params["commandId"], words)
        running = stored.running
        stored.turns[turn.id] = turn
        if running is not None and params.get("ifBusy") == "replace":
            # It goes in front of what waits.
            stored.turns = {turn.id: turn, **stored.turns}
            self._after.append(lambda: stored.end(running, "cancelled"))
        elif running is None and not [other for other in stored.waiting if other is not turn]:
            turn.state = "running"
            self._after.append(lambda: stored.begin(turn))
        else:
            return {"turnId": turn.id, "disposition": "queued", "startedNewTurn": False}
        return {"turnId": turn.id, "disposition": "started", "startedNewTurn": True}

    def _interrupt(self, params: Json) -> Json:
        stored = self._here(params)
        running = stored.running
        if running is None or running.id != params["turnId"]:
            raise Refused("commandRejected", reason="missing_run")
        if self.obeys:
            self._after.append(lambda: stored.end(running, "cancelled") if running.state == "running" else None)
        return {"turnId": running.id}

    def _unqueue(self, params: Json) -> Json:
        stored = self._here(params)
        turn = stored.turns.get(params["turnId"])
        if turn is None or turn.state != "queued":
            raise Refused("commandRejected", reason="not_queued")
        turn.state, turn.terminal = "ended", "unqueued"
        told = {"turnId": turn.id, "commandId": turn.command_id}
        self._after.append(lambda: stored.emit("turn/unqueued", told))
        return {"turnId": turn.id}

    # -- questions

    def _pending(self, params: Json) -> Json:
        stored = self._known(params)
        named = {"sessionId": stored.id}
        return {
            "approvals": [{**named, **params} for params in stored.approvals.values()],
            "userInputs": [{**named, **params} for params in stored.inputs.values()],
        }

    def _decide(self, params: Json) -> Json:
        stored, approval_id = self._here(params), params["approvalId"]
        approval = stored.approvals.get(approval_id)
        if approval is None:
            raise Refused("approvalAlreadyResolved" if approval_id in stored.settled else "approvalNotFound")
        current = approval["currentRequirementId"]
        if params["requirementId"] != current:
            raise Refused("approvalRequirementStale", currentRequirementId=current)
        choices = approval["availableChoices"]
        choice = next((each for each in choices if each["choiceId"] == params["choiceId"]), None)
        if choice is None or ("feedback" in params and not choice.get("acceptsFeedback")):
            raise Refused("approvalChoiceInvalid")
        decision = choice["decision"]
        more = decision.startswith("approved") and current["sourceIndex"] < stored.last_stage[approval_id]

        def follow() -> None:
            if stored.approvals.get(approval_id) is not approval:
                return
            if more:
                return stored.move_on(approval_id, choices)
            stored.resolve(approval_id, decision)
            turn = stored.turns[approval["turnId"]]
            if decision == "abort" and turn.state == "running":
                stored.end(turn, "cancelled")
            return None

        self._after.append(follow)
        return {"approvalId": approval_id, "terminal": not more}

    def _settle(self, params: Json, outcome: str) -> Json:
        stored, input_id = self._here(params), params["userInputId"]
        if input_id not in stored.inputs:
            raise Refused("userInputAlreadySettled" if input_id in stored.settled else "userInputNotFound")
        self._after.append(lambda: stored.settle(input_id, outcome) if input_id in stored.inputs else None)
        return {"userInputId": input_id}
