"""Turns: admitted, queued, launched, driven step by step, and ended (`msp.md §12`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated import approvals, files, ids, questions, steps
from adapter.hosts.simulated.journal import Journal
from adapter.hosts.simulated.scripts import logged_out, script_for, unlinked
from adapter.hosts.simulated.servers import unstartable
from adapter.hosts.simulated.session import Session
from adapter.hosts.simulated.steps import Draft, End, Json, Script
from adapter.hosts.simulated.turn import Turn
from adapter.hosts.simulated.view import View

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.loop import Timer

SLICE_STEPS: Final = 500
"""Steps a turn may take before other work gets its chance."""

SLICE_DELTAS: Final = 2000
"""Deltas of a burst that are encoded and written in one go."""

USD_PER_TOKEN: Final = 0.000_01
"""What a token is said to cost; nothing is charged for it."""

INTERRUPTED: Final = "interrupted by the client"


class Driver:
    """Carries out one script: the turn's own, or one that runs beside it."""

    def __init__(
        self,
        host: Host,
        session: Session,
        turn: Turn,
        script: Script,
        task: Draft | None = None,
        parent: Driver | None = None,
    ) -> None:
        self.host = host
        self.session = session
        self.turn = turn
        self.task = task
        """The item of a script that runs beside the turn; None for the turn itself."""
        self.parent = parent
        """Who waits for it, if it is a part of another one."""
        self.parts: list[Driver] = []
        self.drafts: dict[str, Draft] = {}
        self.approval: approvals.Asked | None = None
        self.question: questions.Asked | None = None
        self.ended = False
        self._paused = False
        self.script = script
        self._timer: Timer | None = None

    # -- going on

    def schedule(self, answer: Any = None, seconds: float = 0.0) -> None:
        """Go on later, with what the script waits for."""
        self._timer = self.host.loop.call_later(seconds, lambda: self.advance(answer))

    def pause(self) -> None:
        """Hold the script where it is; a workflow shows it (`msp.md §22`)."""
        if self.task is not None and not self.ended and not self._paused:
            self._paused = True
            self.show(self.task, "item/updated", "inProgress", {"paused": True})

    def unpause(self) -> None:
        """Go on after a pause."""
        if self.task is not None and not self.ended and self._paused:
            self._paused = False
            self.show(self.task, "item/updated", "inProgress", {"paused": None})
            if self._timer is None:
                self.schedule()

    def advance(self, answer: Any = None) -> None:
        """Carry out steps until one has to wait."""
        self._timer = None
        if self._paused:
            return
        for _ in range(SLICE_STEPS):
            if self.ended:
                return
            try:
                step = self.script.send(answer)
            except StopIteration:
                return self.finish(End("completed"))
            answer = None
            if not _PERFORM[type(step)](self, step):
                return
        self.schedule()

    def finish(self, end: End) -> None:
        """The script is over."""
        self.ended = True
        if self.parent is not None:
            if self.session is not self.parent.session:
                ended = {"turnId": self.turn.id, "terminal": end.terminal, "durationMs": self.turn.elapsed_ms()}
                self.session.emit("turn/completed", ended, run=self.turn.id)
                self.session.show_status()
            self.parent.part_is_over(self)
        elif self.task is not None:
            self.session.tasks.pop(self.task.id, None)
            self.session.show_status()
        else:
            finish_turn(self.host, self.session, self.turn, end)

    def add_part(self, part: Driver) -> None:
        """Wait for it."""
        self.parts.append(part)

    def part_is_over(self, part: Driver) -> None:
        """Go on if it was the last."""
        self.parts.remove(part)
        if not self.parts and not self.ended:
            self.schedule()

    def stop(self, reason: str = INTERRUPTED) -> None:
        """End it now: what is open is closed as cancelled."""
        if self.ended:
            return
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        for part in list(self.parts):
            part.stop(reason)
        self.script.close()
        approvals.withdraw(self)
        questions.withdraw(self)
        for draft in self.drafts.values():
            if draft.open and (draft is self.task or draft.id not in self.session.tasks):
                self.show(draft, "item/completed", "cancelled", {**draft.gathered(), **_last_members(draft, reason)})
        self.finish(End("cancelled", reason))

    # -- showing

    def show(self, draft: Draft, method: str, status: str, members: Json) -> None:
        """Emit an item event at the item's next revision."""
        self.drafts[draft.id] = draft
        item = draft.revise(status, ids.timestamp(), **members)
        if self.host.profile.sends(item["kind"]):
            self.session.emit(method, {"item": item}, run=self.turn.id)

    def _started(self, step: steps.Started) -> bool:
        if step.kept:
            self.show(step.item, "item/started", "inProgress", {})
        else:
            self.drafts[step.item.id] = step.item
            self.session.emit_ephemeral("item/started", {"item": step.item.revise("inProgress", None)})
        return True

    def _updated(self, step: steps.Updated) -> bool:
        self.show(step.item, "item/updated", "inProgress", step.members)
        return True

    def _completed(self, step: steps.Completed) -> bool:
        self.show(step.item, "item/completed", step.status, {**step.item.gathered(), **step.members})
        return True

    def _delta(self, step: steps.Delta) -> bool:
        self.turn.saw_token()
        step.item.streamed.setdefault(step.field, []).append(step.text)
        self.session.emit_ephemeral("item/delta", {"itemId": step.item.id, "field": step.field, "delta": step.text})
        return True

    def _burst(self, step: steps.Burst) -> bool:
        self.turn.saw_token()
        streamed = step.item.streamed.setdefault(step.field, [])
        encoded = self.host.encode_burst(self.session, step.item.id, step.field, step.texts)

        def slice_from(at: int) -> None:
            self._timer = None
            if self.ended:
                return
            many = min(SLICE_DELTAS, step.count - at)
            self.host.send_burst(self.session, encoded, at, many)
            period = len(step.texts)
            streamed.extend(step.texts[index % period] for index in range(at, at + many))
            following = (lambda: slice_from(at + many)) if at + many < step.count else self.advance
            self._timer = self.host.loop.call_later(0.0, following)

        slice_from(0)
        return False

    def _notify(self, step: steps.Notify) -> bool:
        if step.kept:
            self.session.emit(step.method, step.params, run=self.turn.id)
        else:
            self.session.emit_ephemeral(step.method, step.params)
        return True

    def _wait(self, step: steps.Wait) -> bool:
        self.schedule(seconds=step.seconds)
        return False

    def _lose_next(self, step: steps.LoseNext) -> bool:
        self.session.dropping += step.count
        return True

    def _store_output(self, step: steps.StoreOutput) -> bool:
        self.session.outputs[step.record["id"]] = step.record
        self.session.note("output", step.record)
        return True

    def _forget_login(self, step: steps.ForgetLogin) -> bool:
        self.host.credentials.expire()
        return True

    def _add_skill(self, step: steps.AddSkill) -> bool:
        if step.skill not in self.session.skills:
            self.session.skills.append(step.skill)
            self.host.broadcast("skill/changed", {"sessionId": self.session.id})
        return True

    def _ask_approval(self, step: steps.AskApproval) -> bool:
        return approvals.ask(self, step)

    def _ask_user(self, step: steps.AskUser) -> bool:
        questions.ask(self, step)
        return False

    def _spawn(self, step: steps.Spawn) -> bool:
        beside = Driver(self.host, self.session, self.turn, step.script, task=step.item)
        beside.drafts[step.item.id] = step.item
        self.session.tasks[step.item.id] = beside
        beside.schedule()
        return True

    def _together(self, step: steps.Together) -> bool:
        for script in step.scripts:
            self.add_part(Driver(self.host, self.session, self.turn, script, parent=self))
        for part in self.parts:
            part.schedule()
        return not self.parts

    def _delegate(self, step: steps.Delegate) -> bool:
        child = open_child(self.host, self.session, step.session_id)
        turn_id = f"{self.turn.id}-delegated"
        turn = Turn({"turnId": turn_id, "commandId": turn_id, "text": step.objective}, child, self.host)
        part = Driver(self.host, child, turn, step.script(turn), parent=self)
        self.add_part(part)
        child.emit("turn/started", {"turnId": turn_id, "commandId": turn_id}, run=turn_id)
        child.show_status()
        part.schedule()
        return False

    def _touch(self, step: steps.Touch) -> bool:
        self.schedule(files.touch(step))
        return False

    def _end(self, step: End) -> bool:
        self.script.close()
        self.finish(step)
        return False


_PERFORM: Final[dict[type, Callable[[Driver, Any], bool]]] = {
    steps.Started: Driver._started,
    steps.Updated: Driver._updated,
    steps.Completed: Driver._completed,
    steps.Delta: Driver._delta,
    steps.Burst: Driver._burst,
    steps.Notify: Driver._notify,
    steps.Wait: Driver._wait,
    steps.LoseNext: Driver._lose_next,
    steps.StoreOutput: Driver._store_output,
    steps.ForgetLogin: Driver._forget_login,
    steps.AddSkill: Driver._add_skill,
    steps.AskApproval: Driver._ask_approval,
    steps.AskUser: Driver._ask_user,
    steps.Spawn: Driver._spawn,
    steps.Together: Driver._together,
    steps.Delegate: Driver._delegate,
    steps.Touch: Driver._touch,
    steps.End: Driver._end,
}


def _last_members(draft: Draft, reason: str) -> Json:
    """What else an item says when it is stopped."""
    if draft.kind == "toolCall":
        return {"failureReason": reason}
    return {"controlStatus": "closed"} if draft.kind == "subagent" else {}


def open_child(host: Host, parent: Session, session_id: str) -> Session:
    """The session of a subagent: it lives as long as the host and is kept nowhere."""
    facts = {**parent.facts, "sessionId": session_id, "path": "", "kind": "subagent", "parentSessionId": parent.id}
    child = Session(facts, View(), Journal(None), host, 0)
    child.subscribed = True
    host.children[session_id] = child
    return child


# -- the life of a turn


def launch(host: Host, session: Session, turn_id: str, queued: bool = False) -> None:
    """Start a turn that was admitted; `queued` if it had to wait for that."""
    prompt = session.prompts[turn_id]
    if "roots" in prompt:
        session.roots = prompt["roots"]
        session.note("roots", session.roots)
    turn = Turn(prompt, session, host)
    if queued and turn.words[:2] == ["fail", "launchError"]:
        return _fail_to_launch(host, session, turn)
    session.emit("turn/started", {"turnId": turn_id, "commandId": prompt["commandId"]}, run=turn_id)
    session.show_status()
    show_prompt(session, turn, prompt)
    driver = Driver(host, session, turn, _script(host, session, turn))
    session.running = driver
    host.faults.strike(host, "turn")
    driver.schedule()


def _script(host: Host, session: Session, turn: Turn) -> Script:
    if not host.credentials.allow_turn():
        return logged_out(turn)
    server = unstartable(session)
    return script_for(turn) if server is None else unlinked(turn, server)


def _fail_to_launch(host: Host, session: Session, turn: Turn) -> None:
    """End a queued turn that never began: there is no `turn/started`, and its command counts as rejected from now on
    (`msp.md §12.3`)."""
    host.ledger.reject(session, turn.command_id, "deferred_start_failed")
    text = "simulated failure of a launch"
    finish_turn(host, session, turn, End("failed", text, {"kind": "launchError", "message": text, "retryable": False}))


def show_prompt(session: Session, turn: Turn, prompt: Json, **members: Any) -> None:
    """Put what the user said into the transcript (`msp.md §13.3`, userMessage)."""
    if turn.wakes:
        return
    said = {key: prompt.get(key) or None for key in ("text", "displayText", "attachments", "commandId")}
    place = "i1" if prompt["commandId"] == turn.command_id else f"steer-{prompt['commandId']}"
    message = Draft(f"{turn.id}-{place}", "userMessage", turn.id, {**said, **members})
    session.emit("item/completed", {"item": message.revise("completed", ids.timestamp())}, run=turn.id)


def finish_turn(host: Host, session: Session, turn: Turn, end: End) -> None:
    """Settle the running turn and start the next one."""
    session.running = None
    if end.terminal == "completed":
        _report_usage(session, turn)
    params: Json = {"turnId": turn.id, "terminal": end.terminal, "durationMs": turn.elapsed_ms()}
    if end.terminal == "completed":
        params["usage"] = turn.usage()
    if turn.first_token_ms is not None:
        params["timeToFirstTokenMs"] = turn.first_token_ms
    if end.reason is not None:
        params["reason"] = end.reason
    if end.error is not None:
        params["error"] = end.error
    session.emit("turn/completed", params, run=turn.id)
    session.show_status()
    if session.waiting and not host.closing:
        launch(host, session, session.waiting.popleft(), queued=True)


def _model(session: Session, turn: Turn) -> str:
    """Which model answers: on a version whose turns do not follow the choice, still the first one."""
    chosen = session.view.model if turn.profile.models_apply else None
    return str((chosen or session.facts["model"])["modelId"])


def _report_usage(session: Session, turn: Turn) -> None:
    usage = turn.usage()
    before = session.view.usage
    total = usage["inputTokens"] + usage["outputTokens"]
    cumulative = {
        "promptTokens": before["promptTokens"] + usage["inputTokens"],
        "outputTokens": before["outputTokens"] + usage["outputTokens"],
        "totalTokens": before["totalTokens"] + total,
        "cacheReadTokens": before["cacheReadTokens"],
        "cacheWriteTokens": before["cacheWriteTokens"],
    }
    cumulative["cost"] = {"usd": round(cumulative["totalTokens"] * USD_PER_TOKEN, 6), "partial": False}
    params = {
        "turnId": turn.id,
        "modelId": turn.answered_by or _model(session, turn),
        "usage": usage,
        "promptTokens": usage["inputTokens"],
        "totalTokens": total,
        "cumulative": cumulative,
        "finishReason": "stop",
    }
    session.emit("session/tokenUsage", params, run=turn.id)
    context = turn.context or {
        "usedTokens": usage["inputTokens"] + usage["outputTokens"],
        "windowTokens": 200_000,
        "pressure": "normal",
    }
    if context != session.view.context:
        session.emit("session/contextUsage", context, run=turn.id)
