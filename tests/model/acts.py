"""What client and host may do next, whatever has happened so far; each of them is chosen by `machine.Machine`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tests.model.host import PlayedHost
from tests.model.stage import ROOT, Dialog, Stage
from tests.model.store import Json, Stored, Turn

MOST_SESSIONS: Final = 3
MOST_PROMPTS: Final = 3

ALLOW: Final[Json] = {"choiceId": "yes", "label": "Yes", "decision": "approved", "scope": "once"}
ALWAYS: Final[Json] = {"choiceId": "always", "label": "Ever", "decision": "approvedForSession", "scope": "session"}
DENY: Final[Json] = {"choiceId": "no", "label": "No", "decision": "denied", "scope": "once", "acceptsFeedback": True}
ABORT: Final[Json] = {"choiceId": "abort", "label": "Stop", "decision": "abort", "scope": "once"}
HINTED: Final[Json] = {**ALLOW, "choiceId": "hint", "acceptsFeedback": True}
TURNED: Final[Json] = {**ALLOW, "choiceId": "no"}
OFFERS: Final[tuple[list[Json], ...]] = (
    [ALLOW, ALWAYS, DENY],
    [ALLOW, ABORT],
    [HINTED, DENY],
    [TURNED, ABORT],
    [ALLOW],
    [DENY],
    [],
)

ODD_ANSWERS: Final[tuple[Json, ...]] = (
    {"result": {}},
    {"result": None},
    {"result": {"outcome": {"outcome": "selected", "optionId": "everything"}}},
    {"result": {"outcome": {"outcome": "selected", "optionId": ["yes"]}}},
    {"result": {"outcome": {"outcome": "approved", "optionId": "yes"}}},
    {"result": {"outcome": "selected", "optionId": "yes"}},
    {"error": {"code": -32603, "message": "no window"}},
    {"result": [], "error": {}},
)

REFUSALS: Final = (
    *("internal", "overloaded", "backpressured", "sessionNotLoaded", "commandRejected", "approvalNotFound"),
    *("approvalRequirementStale", "approvalChoiceInvalid", "approvalAlreadyResolved", "userInputAlreadySettled"),
)

SETTINGS: Final = (("approval_mode", "onRequest"), ("reasoning_effort", "high"), ("approval_mode", "promptUnmatched"))
TERMINALS: Final = ("completed", "completed", "failed", "cancelled")
WAITS: Final = (0.06, 0.3, 2.5, 6.0, 30.0)


class Draw(NamedTuple):
    """What is drawn for an act: which of those there are, and how."""

    at: int
    option: int
    many: int
    flag: bool


class Acts:
    """The acts on one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.open: list[str] = []
        """Sessions that the client has open."""
        self.closed: list[str] = []
        self.opening: Counter[str] = Counter()
        """What is being opened: by name, new ones by none."""
        self._numbers: Counter[str] = Counter()

    # -- what there is

    @property
    def host(self) -> PlayedHost:
        """The host that lives."""
        host = self.stage.host
        assert host is not None
        return host

    def loaded(self) -> list[Stored]:
        """Sessions that the host has loaded."""
        host = self.stage.host
        return [] if host is None else [self.stage.store.sessions[each] for each in sorted(host.loaded)]

    def running(self) -> list[tuple[Stored, Turn]]:
        """Turns that run, where their events are heard."""
        return [(stored, stored.running) for stored in self.loaded() if stored.running is not None]

    def writing(self) -> list[tuple[Stored, Turn, str]]:
        """Messages that are being written."""
        return [
            (stored, turn, item_id)
            for stored, turn in self.running()
            for item_id in turn.texts
            if turn.items[item_id]["status"] == "inProgress"
        ]

    def dialogs(self) -> list[Dialog]:
        """What is on screen."""
        return [dialog for dialog in self.stage.dialogs if dialog.is_open]

    def heard_dialogs(self) -> list[Json]:
        """What is on screen, where nothing keeps the adapter from hearing the host: no session is being opened, and
        nothing is read."""
        busy = {frame["params"].get("sessionId") for frame in self.waiting()} | set(+self.opening)
        return [dialog.params for dialog in self.dialogs() if dialog.params["sessionId"] not in busy]

    def gone(self) -> list[Dialog]:
        """What was on screen."""
        return [dialog for dialog in self.stage.dialogs if not dialog.is_open]

    def approvals(self) -> list[tuple[Stored, str]]:
        """Approvals that are open."""
        return [(stored, key) for stored in self.loaded() for key in stored.approvals]

    def asking(self) -> list[tuple[Stored, str]]:
        """Questions that are open."""
        return [(stored, key) for stored in self.loaded() for key in stored.inputs]

    def waiting(self) -> list[Json]:
        """Requests that the host has not answered."""
        return [] if self.stage.host is None else self.host.waiting

    def known(self) -> list[str]:
        """Sessions that can be opened."""
        return [*self.closed, *self.open]

    def patient(self) -> list[str]:
        """Open sessions that do not have many prompts yet."""
        return [each for each in self.open if len(self.stage.checks.open_prompts(each)) < MOST_PROMPTS]

    def room(self) -> list[str]:
        """Whether one more may be open."""
        return ["one"] if len(self.open) + self.opening.total() < MOST_SESSIONS else []

    def request_id(self, as_text: bool) -> Any:
        """An id of the client's; `1` and `"1"` are two."""
        self._numbers["text" if as_text else "number"] += 1
        return str(self._numbers["text"]) if as_text else self._numbers["number"]

    # -- the client

    def prompt(self, session: str, draw: Draw) -> None:
        prompt = self.stage.prompt(self.request_id(draw.flag), session)
        prompt.excused = self.opening[session] > 0

    def cancel(self, session: str, draw: Draw) -> None:
        for prompt in self.stage.checks.open_prompts(session):
            prompt.cancelled = True
        self.stage.tell("session/cancel", {"sessionId": session})

    def take_back(self, request_id: Any, draw: Draw) -> None:
        prompt = self.stage.checks.prompts.get(request_id)
        if prompt is not None:
            prompt.cancelled = True
        self.stage.tell("$/cancel_request", {"requestId": request_id})

    def choose(self, dialog: Dialog, draw: Draw) -> None:
        if dialog.method == "session/request_permission":
            options = dialog.params["options"]
            chosen = options[draw.option % len(options)]["optionId"]
            if chosen == "muse-adapter/stop":
                self.stage.checks.may_be_stopped(dialog.params["sessionId"])
            answer: Json = {"outcome": {"outcome": "selected", "optionId": chosen}}
        else:
            fields = dialog.params["requestedSchema"]["properties"]
            answer = {"action": "accept", "content": dict.fromkeys(fields, "because")}
        self.stage.reply(dialog, {"result": answer})

    def answer_oddly(self, dialog: Dialog, draw: Draw) -> None:
        self.stage.checks.may_be_stopped(dialog.params["sessionId"])
        self.stage.reply(dialog, ODD_ANSWERS[draw.many % len(ODD_ANSWERS)])

    def dismiss(self, dialog: Dialog, draw: Draw) -> None:
        self.stage.checks.may_be_stopped(dialog.params["sessionId"])
        permission = dialog.method == "session/request_permission"
        answer: Json = {"outcome": {"outcome": "cancelled"}} if permission else {"action": "cancel"}
        self.stage.reply(dialog, {"result": answer})

    def answer_late(self, dialog: Dialog, draw: Draw) -> None:
        chosen = {"outcome": {"outcome": "selected", "optionId": "yes"}, "action": "accept", "content": {}}
        self.stage.reply(dialog, {"result": chosen})

    def start(self, _: str, draw: Draw) -> None:
        self._opened(self.request_id(draw.flag), "session/new", {"cwd": ROOT, "mcpServers": []})

    def load(self, session: str, draw: Draw) -> None:
        self._open(session, "session/load", draw)

    def resume(self, session: str, draw: Draw) -> None:
        self._open(session, "session/resume", draw)

    def fork(self, _: str, draw: Draw) -> None:
        known = self.known()
        if known:
            self._open(known[draw.at % len(known)], "session/fork", draw)

    def close(self, session: str, draw: Draw) -> None:
        self.open.remove(session)
        self.closed.append(session)
        self.stage.checks.may_be_stopped(session)

        def follow(frame: Json) -> None:
            # While it is being copied, say.
            refused = frame.get("error", {}).get("data", {}).get("reason") == "sessionBusy"
            if refused and session in self.closed:
                self.closed.remove(session)
                self.open.append(session)

        self.stage.ask(self.request_id(draw.flag), "session/close", {"sessionId": session}, follow)

    def configure(self, session: str, draw: Draw) -> None:
        config, value = SETTINGS[draw.many % len(SETTINGS)]
        params = {"sessionId": session, "configId": config, "value": value}
        self.stage.ask(self.request_id(draw.flag), "session/set_config_option", params)

    def _open(self, session: str, method: str, draw: Draw) -> None:
        self._opened(self.request_id(draw.flag), method, {"sessionId": session, "cwd": ROOT, "mcpServers": []})

    def _opened(self, request_id: Any, method: str, params: Json) -> None:
        session = params.get("sessionId", "")
        checks = self.stage.checks
        # What is being opened is not opened once more: that is refused.
        loads = method == "session/load" and not self.opening[session]
        self.opening[session] += 1
        before = checks.texts[session]
        if loads:
            checks.texts[session] = {}
            checks.loading.add(session)
        busy = bool(checks.open_prompts(session))

        def follow(frame: Json) -> None:
            self.opening[session] -= 1
            if loads:
                checks.loading.discard(session)
            if "error" in frame:
                if loads:
                    self._stays_on_screen(session, before)
                return
            opened = frame["result"].get("sessionId", session)
            if opened not in self.open:
                self.open.append(opened)
            if opened in self.closed:
                self.closed.remove(opened)
            if busy and method != "session/fork":
                checks.found.append(f"{session} was opened anew while it had a prompt")
            running = self.stage.store.sessions[opened].running
            if running is not None:
                running.on_its_own = True
                running.skipped = running.skipped or method == "session/resume"
            if loads:
                checks.check_replay(session)

        self.stage.ask(request_id, method, params, follow)

    def _stays_on_screen(self, session: str, before: dict[str, str]) -> None:
        """A session was not loaded after all. What it was is still on screen, and some of its past again, maybe."""
        meanwhile = self.stage.checks.texts[session]
        if meanwhile:
            self.stage.store.sessions[session].soil()
        self.stage.checks.texts[session] = before | {
            message: before.get(message, "") + text for message, text in meanwhile.items()
        }

    # -- the host

    def write(self, pair: tuple[Stored, Turn], draw: Draw) -> None:
        """Some text of a message, of a new one or the one there is."""
        stored, turn = pair
        messages = [item_id for _, writing, item_id in self.writing() if writing is turn]
        item_id = messages[-1] if messages and draw.flag else ""
        if not item_id:
            item_id = f"m{self.stage.store.number()}"
            turn.texts[item_id] = ""
            stored.show(turn, item_id, {"kind": "agentMessage", "text": ""}, "inProgress")
        text = f"<{self.stage.store.number()}>"
        turn.texts[item_id] += text
        stored.emit("item/delta", {"itemId": item_id, "field": "text", "delta": text})

    def finish_message(self, message: tuple[Stored, Turn, str], draw: Draw) -> None:
        stored, turn, item_id = message
        stored.show(turn, item_id, {"text": turn.texts[item_id]}, "completed")

    def ask_approval(self, pair: tuple[Stored, Turn], draw: Draw) -> None:
        stored, turn = pair
        number, offer = self.stage.store.number(), OFFERS[draw.many % len(OFFERS)]
        call = {"kind": "toolCall", "tool": "bash", "callId": f"c{number}", "args": "{}"}
        stored.show(turn, f"i{number}", call, "inProgress")
        if not any(choice["decision"] in ("denied", "abort") for choice in offer):
            self.stage.checks.may_be_stopped(stored.id)
        params = stored.ask(turn, f"a{number}", f"i{number}", offer, draw.option % 3)
        if draw.flag:
            self.host.ask_client("approval/request", {"sessionId": stored.id, **params})

    def ask_again(self, asked: tuple[Stored, str], draw: Draw) -> None:
        stored, approval_id = asked
        self.host.ask_client("approval/request", {"sessionId": stored.id, **stored.approvals[approval_id]})

    def move_on(self, asked: tuple[Stored, str], draw: Draw) -> None:
        stored, approval_id = asked
        self.stage.checks.may_be_stopped(stored.id)
        stored.move_on(approval_id, OFFERS[draw.many % len(OFFERS)])

    def settle_elsewhere(self, asked: tuple[Stored, str], draw: Draw) -> None:
        asked[0].resolve(asked[1], "approved")

    def ask_question(self, pair: tuple[Stored, Turn], draw: Draw) -> None:
        stored, turn = pair
        input_id = f"u{self.stage.store.number()}"
        question = {"id": "q", "header": "Q", "question": "Which?"}
        params = {"userInputId": input_id, "turnId": turn.id, "itemId": f"i-{input_id}", "questions": [question]}
        stored.inputs[input_id] = params
        stored.emit("userInput/requested", params)

    def settle_question(self, asked: tuple[Stored, str], draw: Draw) -> None:
        asked[0].settle(asked[1], "autoResolved")

    def end_turn(self, pair: tuple[Stored, Turn], draw: Draw) -> None:
        pair[0].end(pair[1], TERMINALS[draw.many % len(TERMINALS)])

    def own_turn(self, stored: Stored, draw: Draw) -> None:
        """A turn that nobody asked for."""
        turn = Turn(f"t{self.stage.store.number()}", None, "")
        stored.turns[turn.id] = turn
        stored.begin(turn)

    def take_out(self, stored: Stored, draw: Draw) -> None:
        """The host takes a queued turn out of its line by itself."""
        turn = stored.waiting[-1]
        turn.state, turn.terminal = "ended", "unqueued"
        stored.emit("turn/unqueued", {"turnId": turn.id, "commandId": turn.command_id})

    def tell_again(self, stored: Stored, draw: Draw) -> None:
        """A durable event is delivered once more."""
        stored.tell_again(stored.events[-1 - draw.many % len(stored.events)])

    def lose(self, stored: Stored, draw: Draw) -> None:
        """The next events do not arrive."""
        stored.losing = 1 + draw.many % 4
        self.stage.checks.may_fail(stored.id)

    # -- how the host answers

    def change_pace(self, host: PlayedHost, draw: Draw) -> None:
        host.slow, host.obeys = draw.flag, draw.many % 3 > 0

    def answer_one(self, frame: Json, draw: Draw) -> None:
        self.host.waiting.remove(frame)
        self.host.answer(frame, effects_first=draw.flag)

    def refuse_one(self, frame: Json, draw: Draw) -> None:
        self.host.waiting.remove(frame)
        self.host.answer(frame, refusal=REFUSALS[draw.many % len(REFUSALS)])

    def die(self, host: PlayedHost, draw: Draw) -> None:
        """The host dies, some of the time after it has done what it was asked, which nobody learns."""
        if draw.flag:
            for stored in self.loaded():
                stored.deliver = None
            for frame in host.waiting:
                host.take_in(frame)
        self.stage.kill(host, (-9, 1, 78)[draw.many % 3])

    def wait(self, _: str, draw: Draw) -> None:
        seconds = WAITS[draw.many % len(WAITS)]
        host = self.stage.host
        if seconds > 2 and (host is None or host.slow or not host.obeys):
            # What was stopped is given up then, and what waits at the host may fail.
            self.stage.checks.may_fail()
        self.stage.go(seconds)

    # -- what can be done now

    def there(self) -> dict[str, tuple[list[Any], Callable[[Any, Draw], None]]]:
        """By name: what it can be done with now, and how it is done."""
        loaded, running, dialogs = self.loaded(), self.running(), self.dialogs()
        host = [] if self.stage.host is None else [self.stage.host]
        return {
            "prompt": (self.patient(), self.prompt),
            "cancel": ([each for each in self.open if self.stage.checks.open_prompts(each)], self.cancel),
            "take back": (list(self.stage.requests), self.take_back),
            "choose": (dialogs, self.choose),
            "choose the newest": (dialogs[-1:], self.choose),
            "answer oddly": (dialogs, self.answer_oddly),
            "dismiss": (dialogs, self.dismiss),
            "answer late": (self.gone()[-4:], self.answer_late),
            "session/new": (self.room(), self.start),
            "session/load": (self.known(), self.load),
            "session/resume": (self.known(), self.resume),
            "session/fork": (self.room(), self.fork),
            "session/close": (self.open, self.close),
            "session/set_config_option": (self.open, self.configure),
            "write": (running, self.write),
            "finish a message": (self.writing(), self.finish_message),
            "ask for approval": (running, self.ask_approval),
            "ask again": (self.approvals(), self.ask_again),
            "move an approval on": (self.approvals(), self.move_on),
            "settle an approval": (self.approvals(), self.settle_elsewhere),
            "ask a question": (running, self.ask_question),
            "settle a question": (self.asking(), self.settle_question),
            "end a turn": (running, self.end_turn),
            "begin a turn of its own": ([each for each in loaded if each.running is None], self.own_turn),
            "take a turn out": ([each for each in loaded if each.waiting], self.take_out),
            "tell again": ([each for each in loaded if each.events], self.tell_again),
            "lose events": (loaded, self.lose),
            "change the pace": (host, self.change_pace),
            "answer": (self.waiting(), self.answer_one),
            "refuse": (self.waiting(), self.refuse_one),
            "die": (host, self.die),
            "wait": (["a while"], self.wait),
        }


WEIGHTS: Final[dict[str, int]] = {
    "choose the newest": 6,
    "choose": 2,
    "ask for approval": 6,
    "answer": 6,
    "refuse": 2,
    "write": 5,
    "finish a message": 2,
    "end a turn": 3,
    "prompt": 4,
    "cancel": 2,
    "change the pace": 2,
    "wait": 2,
    "take back": 1,
    "answer oddly": 1,
    "dismiss": 1,
    "answer late": 1,
    "session/new": 1,
    "session/load": 1,
    "session/resume": 1,
    "session/fork": 1,
    "session/close": 1,
    "session/set_config_option": 1,
    "ask again": 1,
    "move an approval on": 1,
    "settle an approval": 1,
    "ask a question": 2,
    "settle a question": 1,
    "begin a turn of its own": 1,
    "take a turn out": 1,
    "tell again": 1,
    "lose events": 1,
    "die": 1,
}
"""How often an act is chosen. One that cannot be done now gives way to the next that can."""
