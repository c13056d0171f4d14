"""What hosts have stored: sessions with their events, turns and open questions. It outlives each host."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]

DURABLE: Final = ("turn/", "item/started", "item/updated", "item/completed", "approval/", "userInput/")

Deliver = Callable[[str, Json], None]


class Turn:
    """A turn as it is in truth. `prompts` are the words it was asked with."""

    def __init__(self, turn_id: str, command_id: str | None, words: str) -> None:
        self.id = turn_id
        self.command_id = command_id
        self.words = words
        self.state = "queued"
        self.terminal: str | None = None
        self.items: dict[str, Json] = {}
        """Its messages and calls, as they were told last."""
        self.texts: dict[str, str] = {}
        """What has been streamed of its messages."""
        self.clean = True
        """Whether everything of it was delivered, once and in order."""
        self.skipped = False
        """Whether its session was resumed while it ran: what it had said while it waited for a message is not shown."""
        self.on_its_own = command_id is None
        """Whether it goes on without a prompt: nobody asked for it, or it was found running."""


class Stored:
    """One session. `deliver` is the host it is loaded on, if any."""

    def __init__(self, session_id: str, root: str) -> None:
        self.id = session_id
        self.root = root
        self.events: list[tuple[int, str, Json]] = []
        self.head = 0
        self.turns: dict[str, Turn] = {}
        self.approvals: dict[str, Json] = {}
        self.last_stage: dict[str, int] = {}
        self.inputs: dict[str, Json] = {}
        self.settled: set[str] = set()
        self.told_again: set[str] = set()
        """Settled before the session was loaded, and told once more: whoever has not heard of them asks them."""
        self.mode = "promptUnmatched"
        self.forked_from: Json | None = None
        self.deliver: Deliver | None = None
        self.losing = 0
        """How many of the next events get lost."""
        self._gap_after: int | None = None
        self._delivered = 0
        self._loaded_at = 0

    def cursor(self, number: int | None = None) -> str:
        """The cursor of an event, of the newest by default."""
        return f"v:{self.id}:{self.head if number is None else number}"

    def after(self, cursor: str | None) -> list[tuple[int, str, Json]]:
        """The durable events behind a cursor."""
        number = 0 if cursor is None else int(cursor.rpartition(":")[2])
        return [event for event in self.events if event[0] > number]

    def emit(self, method: str, params: Json) -> None:
        """Something happens: stored if it is durable, told to whoever listens."""
        self.head += 1
        params = {"sessionId": self.id, "viewCursor": self.cursor(), **params}
        if method.startswith(DURABLE):
            params["sourceRange"] = {"first": {"sequence": self.head}, "last": {"sequence": self.head}}
            self.events.append((self.head, method, params))
        if self.deliver is None:
            return
        if self.losing and method not in ("approval/resolved", "userInput/settled"):
            self.losing -= 1
            if self._gap_after is None:
                self._gap_after = self._delivered
            self.soil(params.get("turnId") or params.get("item", {}).get("turnId"))
            return
        self.deliver(method, params)
        self.tell_gap()
        self._delivered = self.head

    @property
    def has_untold(self) -> bool:
        """Whether something of it got lost, and nobody has been told so far."""
        return self._gap_after is not None

    def tell_gap(self) -> None:
        """Tell of what was lost, if anything was."""
        after, self._gap_after = self._gap_after, None
        if after is not None and self.deliver is not None:
            gap = {"sessionId": self.id, "after": self.cursor(after), "next": self.cursor()}
            self.deliver("view/gap", gap)

    def attached(self, deliver: Deliver) -> None:
        """A host tells of it from here on."""
        self.deliver = deliver
        self.losing, self._gap_after, self._delivered = 0, None, self.head
        self._loaded_at = self.head

    def tell_again(self, event: tuple[int, str, Json]) -> None:
        """Deliver a durable event once more."""
        number, method, params = event
        if number <= self._loaded_at:
            self.told_again.update(params[name] for name in ("approvalId", "userInputId") if name in params)
        if self.deliver is not None:
            self.deliver(method, params)

    def soil(self, turn_id: str | None = None) -> None:
        """Something of the turns that run, or of this one, was not delivered as it should be."""
        for turn in self.turns.values():
            if turn.state != "ended" or turn.id == turn_id:
                turn.clean = False

    # -- turns

    @property
    def running(self) -> Turn | None:
        """The turn that runs."""
        return next((turn for turn in self.turns.values() if turn.state == "running"), None)

    @property
    def waiting(self) -> list[Turn]:
        """The turns that wait, in order."""
        return [turn for turn in self.turns.values() if turn.state == "queued"]

    def begin(self, turn: Turn) -> None:
        """A turn runs now."""
        turn.state = "running"
        self.emit("turn/started", {"turnId": turn.id, "commandId": turn.command_id})
        if turn.command_id is not None:
            said = {"kind": "userMessage", "text": turn.words, "commandId": turn.command_id}
            self.show(turn, f"{turn.id}-said", said, "completed")

    def end(self, turn: Turn, terminal: str) -> None:
        """A turn is over: what it has open is closed first; then the next one begins."""
        for approval_id in [key for key, open_ in self.approvals.items() if open_["turnId"] == turn.id]:
            self.resolve(approval_id, "abort")
        for input_id in [key for key, open_ in self.inputs.items() if open_["turnId"] == turn.id]:
            self.settle(input_id, "cancelled")
        for item_id, item in turn.items.items():
            if item["status"] == "inProgress" and item["kind"] == "toolCall":
                self.show(turn, item_id, {}, "failed")
        failure = {"error": {"kind": "modelError", "message": "it failed"}} if terminal == "failed" else {}
        turn.state, turn.terminal = "ended", terminal
        self.emit("turn/completed", {"turnId": turn.id, "terminal": terminal, **failure})
        self.begin_next()

    def begin_next(self) -> None:
        """If nothing runs, what waits longest does."""
        if self.running is None and self.waiting:
            self.begin(self.waiting[0])

    def show(self, turn: Turn, item_id: str, members: Json, status: str) -> None:
        """Tell an item whole."""
        before = turn.items.get(item_id, {"itemId": item_id, "turnId": turn.id, "revision": 0})
        item = turn.items[item_id] = {**before, **members, "revision": before["revision"] + 1, "status": status}
        word = "completed" if status != "inProgress" else "updated" if before["revision"] else "started"
        self.emit(f"item/{word}", {"item": item})

    # -- questions

    def ask(self, turn: Turn, approval_id: str, item_id: str, choices: list[Json], last_stage: int) -> Json:
        """Open an approval; gives its params."""
        params = {
            "approvalId": approval_id,
            "turnId": turn.id,
            "itemId": item_id,
            "toolName": "bash",
            "rawArgs": '{"command":"make"}',
            "subject": {"kind": "shell", "command": "make"},
            "currentRequirementId": {"approvalId": approval_id, "sourceIndex": 0},
            "availableChoices": choices,
        }
        self.approvals[approval_id] = params
        self.last_stage[approval_id] = last_stage
        self.emit("approval/requested", params)
        return params

    def move_on(self, approval_id: str, choices: list[Json]) -> None:
        """The next stage of an approval is open."""
        params = self.approvals[approval_id]
        index = params["currentRequirementId"]["sourceIndex"] + 1
        self.last_stage[approval_id] = max(index, self.last_stage[approval_id])
        requirement = {"approvalId": approval_id, "sourceIndex": index}
        self.approvals[approval_id] = params = {**params, "currentRequirementId": requirement}
        params["availableChoices"] = choices
        names = ("approvalId", "subject", "currentRequirementId", "availableChoices")
        self.emit("approval/updated", {"change": {"kind": "stageResolved"}, **{name: params[name] for name in names}})

    def resolve(self, approval_id: str, decision: str) -> None:
        """An approval is settled, by whomever."""
        params = self.approvals.pop(approval_id)
        self.settled.add(approval_id)
        known = {name: params[name] for name in ("approvalId", "itemId", "turnId")}
        allowed = decision.startswith("approved")
        self.emit("approval/resolved", {**known, "decision": decision, "policyResult": "allow" if allowed else "deny"})

    def settle(self, input_id: str, outcome: str) -> None:
        """A question is settled, by whomever."""
        params = self.inputs.pop(input_id)
        self.settled.add(input_id)
        self.emit("userInput/settled", {"userInputId": input_id, "turnId": params["turnId"], "outcome": outcome})

    # -- what a host says of it

    def row(self) -> Json:
        """The session object."""
        running = self.running
        return {
            "sessionId": self.id,
            "workspaceRoot": self.root,
            "status": "idle" if running is None else "running",
            "activeTurnId": None if running is None else running.id,
            "modelId": "m1",
            "providerId": "muse",
            "approvalMode": {"mode": self.mode, "source": "default"},
            "updatedAt": "2026-01-01T00:00:00Z",
            **({} if self.forked_from is None else {"forkedFrom": self.forked_from}),
        }

    def state(self) -> Json:
        """A snapshot's state: every item, with what has been streamed of it."""
        items = []
        for turn in self.turns.values():
            for item_id, item in turn.items.items():
                text = turn.texts.get(item_id)
                items.append(item if text is None or item["status"] != "inProgress" else {**item, "text": text})
        running = self.running
        active = None if running is None else {"turnId": running.id, "commandId": running.command_id}
        return {"items": items, "activeTurn": active}


class Store:
    """All of it, and the answers to commands that were taken in (`msp.md §6`)."""

    def __init__(self) -> None:
        self.sessions: dict[str, Stored] = {}
        self.answers: dict[str, Json] = {}
        self._numbers = itertools.count(1)

    def number(self) -> int:
        """One that was never given."""
        return next(self._numbers)

    def create(self, root: str, session_id: str | None = None) -> Stored:
        """A new session."""
        stored = Stored(session_id or f"ses-{self.number()}", root)
        self.sessions[stored.id] = stored
        return stored
