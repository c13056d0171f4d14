"""Hosts that make it hard to stop a turn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.scripted_hosts import Json, ScriptedHost


class Busy(ScriptedHost):
    """Works for ever in each turn. As a real host it runs one turn at a time: a second prompt waits in its queue unless
    it may replace what runs."""

    running: tuple[str, str] | None = None
    asks = False

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.queue: list[Json] = []

    def on_turn_start(self, request: Json) -> None:
        if self.running is None:
            self.turn(*self.admit(request))
        elif request["params"].get("ifBusy") == "replace":
            self.queue.insert(0, request)
            self.acknowledge(request)
            self.end("cancelled")
        else:
            self.queue.append(request)
            command_id = request["params"]["commandId"]
            ack = {"commandId": command_id, "status": "accepted", "turnId": f"turn-of-{command_id}"}
            self.answer(request, **ack, disposition="queued", startedNewTurn=False)

    def on_turn_unqueue(self, request: Json) -> None:
        params = request["params"]
        waiting = [queued for queued in self.queue if f"turn-of-{queued['params']['commandId']}" == params["turnId"]]
        if not waiting:
            return self.refuse(request, "commandRejected", "it does not wait", -32030, reason="not_queued")
        self.queue.remove(waiting[0])
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])
        self.event("turn/unqueued", params["sessionId"], turnId=params["turnId"])
        return None

    def turn(self, session_id: str, turn_id: str) -> None:
        self.running = (session_id, turn_id)
        self.message(session_id, turn_id, f"text of turn {len(self.turns)}")
        if self.asks:
            self.ask_approval(session_id, turn_id)
        else:
            self.open_shell(session_id, turn_id)

    def end(self, terminal: str = "completed", **members: Any) -> None:
        """End what runs, and begin what waits."""
        if self.running is not None:
            session_id, turn_id = self.running
            self.running = None
            self.complete(session_id, turn_id, terminal, **members)
            if self.queue:
                self.turn(*self.begin(self.queue.pop(0)))

    def on_turn_interrupt(self, request: Json) -> None:
        self.admit_interrupt(request)
        self.end("cancelled")

    def admit_interrupt(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted", turnId=params["turnId"])


class SlowToAcknowledge(Busy):
    """Acknowledges a prompt after `seconds`; its events come before or after the acknowledgement."""

    seconds = 0.3
    events_first = False

    def on_turn_start(self, request: Json) -> None:
        if self.events_first:
            names = self.begin(request)
            time.sleep(self.seconds)
            self.acknowledge(request)
        else:
            time.sleep(self.seconds)
            names = self.admit(request)
        self.turn(*names)


class EndsItsWay(Busy):
    """Ends an interrupted turn with `terminal` and `members`; with `refuses`, it says first that there is nothing to
    interrupt."""

    terminal = "completed"
    members: Json | None = None
    refuses = False

    def on_turn_interrupt(self, request: Json) -> None:
        if self.refuses:
            self.refuse(request, "turnNotActive", "no such run")
        else:
            self.admit_interrupt(request)
        self.end(self.terminal, **(self.members or {}))


class EndsAfterTheNextPrompt(Busy):
    """Ends an interrupted turn only when the next prompt is there, which then runs its full course."""

    def on_turn_start(self, request: Json) -> None:
        if not self.turns:
            return super().on_turn_start(request)
        stale, self.running = self.running, None
        assert stale is not None
        names = self.admit(request)
        self.message(*stale, "late text")
        self.complete(*stale, "cancelled")
        self.message(*names, "the second answer")
        self.complete(*names)
        return None

    def on_turn_interrupt(self, request: Json) -> None:
        self.admit_interrupt(request)


class IgnoresInterrupts(Busy):
    """Answers an interrupt with an error of kind `how`, with an `ack`, or `never`, and goes on with the turn; if it
    `insists`, by asking for consent."""

    how = "never"
    insists = False

    def on_turn_interrupt(self, request: Json) -> None:
        if self.how == "ack":
            self.admit_interrupt(request)
        elif self.how != "never":
            self.refuse(request, self.how, "this cannot be interrupted", -32601 if self.how == "methodNotFound" else 0)
        if self.running is None:  # the client's decision ended it already
            return
        self.message(*self.running, "text after the interrupt")
        if self.insists:
            self.ask_approval(*self.running)

    def on_approval_decide(self, request: Json) -> None:
        super().on_approval_decide(request)
        self.running = None


class CannotReclaim(Busy):
    """Does not know how to give a queued prompt back."""

    def on_turn_unqueue(self, request: Json) -> None:
        self.refuse(request, "methodNotFound", "there is no turn/unqueue", -32601)


class NeverReplaces(Busy):
    """Lets whatever comes wait behind what runs, and takes no notice of interrupts, until a prompt says "release".
    Turns of its other sessions are short. It may not be able to give a queued prompt back."""

    reclaims = True
    holds = ""

    def on_turn_start(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        self.holds = self.holds or session_id
        if session_id != self.holds:
            self.complete(*self.admit(request))
            return
        released = request["params"]["input"][0]["text"] == "release"
        request["params"].pop("ifBusy", None)
        super().on_turn_start(request)
        if released:
            self.end("cancelled")

    def on_turn_unqueue(self, request: Json) -> None:
        if self.reclaims:
            super().on_turn_unqueue(request)
        else:
            self.refuse(request, "methodNotFound", "there is no turn/unqueue", -32601)

    def on_turn_interrupt(self, request: Json) -> None:
        if self.running is not None and len(self.turns) > 1:
            super().on_turn_interrupt(request)


class TalksAfterTheEnd(Busy):
    """The first turn goes on after its end: with `at`, when the next prompt comes or at once."""

    at = "next prompt"

    def on_turn_start(self, request: Json) -> None:
        if not self.turns:
            return super().on_turn_start(request)
        if self.at == "next prompt":
            self.echo()
        names = self.admit(request)
        if self.at == "next turn":
            self.echo()
        self.message(*names, "the second answer")
        self.complete(*names)
        return None

    def on_turn_interrupt(self, request: Json) -> None:
        super().on_turn_interrupt(request)
        if self.at == "at once":
            self.echo()

    def echo(self) -> None:
        """What was on its way when the turn ended."""
        session_id, turn_id = self.turns[0]
        item_id = f"{turn_id}-late"
        self.item("started", session_id, turn_id, item_id, text="")
        for _ in range(5):
            self.delta(session_id, item_id, "late ")
        shell = {"kind": "toolCall", "tool": "bash", "visibleOutput": "late output"}
        self.item("completed", session_id, turn_id, f"{turn_id}-shell", **shell)
        self.item("completed", session_id, turn_id, f"{turn_id}-late-shell", **shell)


class Gated(Busy):
    """Holds back the answer to `gated` while the file `gate` is there; later runs than the first do so."""

    gated = "initialize"
    gate = ""

    def receive(self, frame: Json) -> None:
        if frame.get("method") == self.gated and Path(self.gate).exists():
            Path(self.gate + ".reached").touch()
            while Path(self.gate).exists():
                time.sleep(0.02)
        super().receive(frame)

    def turn(self, session_id: str, turn_id: str) -> None:
        ScriptedHost.turn(self, session_id, turn_id)


class LeavesSubagent(ScriptedHost):
    """Each turn ends while a subagent of it waits for consent."""

    def turn(self, session_id: str, turn_id: str) -> None:
        self.ask_approval(session_id, turn_id, subagentOrigin={"subagentId": "child-1"})
        super().turn(session_id, turn_id)

    def on_approval_decide(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted")
        self.event("approval/resolved", params["sessionId"], approvalId=params["approvalId"])
