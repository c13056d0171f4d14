"""The rules of `design.md` (4 to 11) that hold whatever client and host do, checked frame by frame against what is true
at the host."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from tests.model.store import Json, Store, Turn
from tests.oracles.seen import Answers, Consents, Seen

WORDS: Final = re.compile(r"prompt-(\d+)\b")
"""What names a prompt in its own text, so that its turn is known."""

COMMANDS: Final = re.compile(
    r"turn/|approval/decide|userInput/(answer|cancel|clarify)|session/(start|resume|fork|leave|set)"
)

RETRIED: Final = frozenset({"overloaded", "backpressured"})

RESTATED: Final = re.compile(r"(?s)\A\[.*?\]\n\n")


IN_WORDS: Final = "Your next message is the answer"
"""What a question says that is asked without a form."""


class Prompt:
    """A prompt of the client."""

    def __init__(self, number: int, session: str) -> None:
        self.number = number
        self.session = session
        self.cancelled = False
        """The client has asked for its end, before it was answered."""
        self.stopped = False
        """It may end as cancelled without that: what it asked was, or its session is closed."""
        self.excused = False
        """It may fail: its host has died or refused it, events were lost, or time has run out."""
        self.turns: set[str] = set()
        """What it was sent as, or went on with."""
        self.answer: Json | None = None


class _Command:
    """A command of the adapter, as it was sent first."""

    def __init__(self, method: str, params: Json) -> None:
        self.method = method
        self.params = params
        self.open: set[tuple[str, Any]] = set()
        """Sent and not answered, by host and id."""
        self.final = False
        """It was taken in, or refused for good."""


class Checks:
    """What has been seen so far, and what was wrong with it."""

    def __init__(self, store: Store) -> None:
        self.found: list[str] = []
        self.counts: Counter[str] = Counter()
        self.prompts: dict[Any, Prompt] = {}
        """By the id of the request."""
        self.texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """What the client has on screen, by session and message."""
        self.restated: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """The messages that were told anew, by session and the text."""
        self.asked: dict[str, bool] = {}
        """Whether the last text on screen is a question for the next prompt, by session."""
        self.loading: set[str] = set()
        """Sessions whose past may be told."""
        self.forms = False
        """Whether the client can show forms: else a question is answered by the next prompt."""
        self.answers = Answers()
        self.consents = Consents(exact=True)
        self._store = store
        self._commands: dict[str, _Command] = {}
        self._sent: dict[tuple[str, Any], str] = {}

    def take(self, seen: Seen) -> None:
        """The next frame."""
        self.answers.take(seen)
        self.consents.take(seen)
        frame = seen.frame
        if seen.side == "host":
            if seen.from_adapter:
                self._to_host(seen.connection, frame)
            else:
                self._answered(seen.connection, frame)
        elif seen.from_adapter:
            self._to_client(frame)

    def problems(self) -> list[str]:
        """Everything that is wrong so far."""
        return self.found + self.answers.found + self.consents.found

    def forgotten(self) -> list[str]:
        """Prompts whose turn is over, which was told in full, and that have no answer all the same."""
        return [
            f"prompt-{prompt.number} has no answer, and its turns are over"
            for prompt in self.open_prompts()
            if not prompt.excused and (turns := self._turns(prompt)) and all(_is_told(turn) for turn in turns)
        ]

    def left_on_screen(self, dialogs: Iterable[Json]) -> list[str]:
        """Dialogs that are still on screen although what they ask for is settled, or is at another stage."""
        return [f"it is over, and still on screen: {params}" for params in dialogs if not self._is_asked(params)]

    def _is_asked(self, params: Json) -> bool:
        meta = params["_meta"]
        asked_by = {meta.get("museUserInputId"), meta.get("museApprovalId")}
        # What a session asks that is not open is asked in another one, as its subagent's may be.
        stored = next(
            (
                each
                for each in self._store.sessions.values()
                if not asked_by.isdisjoint({*each.approvals, *each.inputs})
            ),
            self._store.sessions[params["sessionId"]],
        )
        if stored.has_untold or not stored.told_again.isdisjoint(asked_by):
            return True
        if "museUserInputId" in meta:
            return stored.deliver is not None and meta["museUserInputId"] in stored.inputs
        asked = stored.approvals.get(meta["museApprovalId"])
        asks_this = asked is not None and asked["currentRequirementId"] == meta["museRequirementId"]
        return stored.deliver is not None and asks_this

    def open_prompts(self, session: str | None = None) -> list[Prompt]:
        """Prompts without an answer."""
        return [
            prompt
            for prompt in self.prompts.values()
            if prompt.answer is None and (session is None or prompt.session == session)
        ]

    def of_turn(self, turn: Turn) -> Prompt | None:
        """The prompt that a turn was begun with."""
        named = WORDS.search(turn.words)
        return None if named is None else next(p for p in self.prompts.values() if p.number == int(named[1]))

    def _wrong(self, problem: str) -> None:
        self.found.append(problem)

    # -- commands

    def _to_host(self, host: str, frame: Json) -> None:
        method, params = frame.get("method"), frame.get("params", {})
        if not isinstance(method, str) or "id" not in frame or not COMMANDS.match(method):
            return
        command_id = params.get("commandId")
        if not _is_uuid7(command_id):
            return self._wrong(f"{method} without a UUIDv7: {command_id!r}")
        self.counts["commands"] += 1
        command = self._commands.get(command_id)
        if command is None:
            command = self._commands[command_id] = _Command(method, params)
        else:
            self.counts["commands sent again"] += 1
            if (command.method, command.params) != (method, params) and method != "session/resume":
                self._wrong(f"the same commandId for something else: {params} after {command.params}")
            if command.final:
                self._wrong(f"{method} was sent again after it was answered for good: {params}")
            if any(name == host for name, _ in command.open):
                self._wrong(f"{method} was sent again before it was answered: {params}")
        command.open.add((host, frame["id"]))
        self._sent[host, frame["id"]] = command_id
        if method in ("turn/start", "userInput/answer", "userInput/clarify"):
            self._name(params)
        return None

    def _name(self, params: Json) -> None:
        """A question that is answered by a prompt makes its turn the one of that prompt."""
        asked = self._store.sessions[params["sessionId"]].inputs.get(params.get("userInputId", ""))
        for number in WORDS.findall(str(params)):
            for prompt in self.prompts.values():
                if prompt.number == int(number) and asked is not None:
                    prompt.turns.add(asked["turnId"])

    def _answered(self, host: str, frame: Json) -> None:
        if "method" in frame:
            return
        command_id = self._sent.pop((host, frame.get("id")), None)
        if command_id is not None:
            command = self._commands[command_id]
            command.open.discard((host, frame["id"]))
            kind = frame["error"]["data"]["kind"] if "error" in frame else None
            # A session that is not loaded is loaded again for the same command.
            command.final = kind not in RETRIED and kind != "sessionNotLoaded"
            if kind is not None:
                self.counts[f"refused: {kind}"] += 1
                session = command.params.get("sessionId")
                if command.method.startswith(("approval/", "userInput/")):
                    # What asks is stopped if that cannot be settled.
                    self.may_be_stopped(session)
                elif command.method not in ("turn/interrupt", "turn/unqueue"):
                    self.may_fail(session)

    def may_fail(self, session: str | None = None) -> None:
        """What is asked now in a session, or in all, may fail."""
        for prompt in self.open_prompts(session):
            prompt.excused = True

    def may_be_stopped(self, session: str | None) -> None:
        """What is asked now in a session, or in all, may be stopped without a cancel."""
        for prompt in self.open_prompts(session):
            prompt.stopped = True

    # -- the client

    def _to_client(self, frame: Json) -> None:
        if "method" not in frame:
            prompt = self.prompts.get(frame.get("id"))
            if prompt is not None and prompt.answer is None:
                prompt.answer = frame
                self._check_answer(prompt, frame)
        elif frame["method"] == "session/update":
            params = frame["params"]
            update = params["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                self._check_chunk(params["sessionId"], update)

    def _check_answer(self, prompt: Prompt, frame: Json) -> None:
        """Rules 4 and 8: each prompt is answered by its own end."""
        stop = frame["result"].get("stopReason") if "result" in frame else None
        self.counts[f"answers: {stop or 'error'}"] += 1
        turns = self._turns(prompt)
        told = f"prompt-{prompt.number} was answered with {frame} while its turns were " + str(
            [(turn.id, turn.state, turn.terminal) for turn in turns]
        )
        if prompt.cancelled:
            if stop != "cancelled":
                self._wrong(f"cancelled before: {told}")
            return
        if stop == "cancelled":
            if not prompt.stopped and not any(turn.terminal in ("cancelled", "unqueued") for turn in turns):
                self._wrong(f"nobody had cancelled it: {told}")
        elif stop == "end_turn":
            asking = {params["turnId"] for params in self._store.sessions[prompt.session].inputs.values()}
            # A question may be asked in the moment in which its turn ends.
            asks = self.asked.get(prompt.session, False) or any(turn.id in asking for turn in turns)
            paused = not self.forms and asks
            if not paused and not any(turn.terminal == "completed" for turn in turns):
                self._wrong(f"not completed: {told}")
            self._check_texts(prompt.session, turns)
        elif stop is not None:
            self._wrong(f"an odd end: {told}")
        elif prompt.excused or any(not turn.clean for turn in turns):
            return
        elif not any(turn.terminal == "failed" for turn in turns):
            self._wrong(f"it had not failed: {told}")

    def _turns(self, prompt: Prompt) -> list[Turn]:
        """The turns that a prompt was begun with, or went on with."""
        stored = self._store.sessions.get(prompt.session)
        words = f"prompt-{prompt.number}\n"
        turns = [] if stored is None else list(stored.turns.values())
        return [turn for turn in turns if turn.words.startswith(words) or turn.id in prompt.turns]

    def _check_chunk(self, session: str, update: Json) -> None:
        self.counts["chunks"] += 1
        text, message = update["content"]["text"], update.get("messageId", "")
        texts = self.texts[session]
        stored = self._store.sessions[session]
        turn = next((turn for turn in stored.turns.values() if message in turn.items), None)
        whole = RESTATED.sub("", text)
        self.asked[session] = turn is None and IN_WORDS in text
        if turn is None and whole == text:
            return  # A remark of the adapter, or what continues one.
        if turn is None:
            self.restated[session][message] = whole
            return
        texts[message] = texts.get(message, "") + text
        if session in self.loading or turn.on_its_own or not turn.clean:
            return
        prompt = self.of_turn(turn)
        if prompt is not None and prompt.answer is not None and _stop(prompt.answer) == "cancelled":
            self._wrong(f"text of {turn.id} after prompt-{prompt.number} was answered as cancelled: {text!r}")
        # What a turn said while it waited for the next message is shown with that, or when the host goes on by itself.
        since = list(stored.turns.values())[list(stored.turns).index(turn.id) + 1 :]
        goes_on = any(other.on_its_own or self._is_given_up(other) for other in since)
        if not goes_on and not self.open_prompts(session):
            self._wrong(f"text of {turn.id} while nothing was asked: {text!r}")

    def _is_given_up(self, turn: Turn) -> bool:
        """Whether the turn runs although its prompt has been answered: the host took in what it had not acknowledged in
        time."""
        prompt = self.of_turn(turn)
        return turn.state == "running" and prompt is not None and prompt.answer is not None

    def _check_texts(self, session: str, turns: list[Turn]) -> None:
        """All the text of a turn is on screen when its prompt is answered, once and in order."""
        for turn in turns:
            for item_id, item in turn.items.items():
                if item["kind"] != "agentMessage" or turn.skipped:
                    continue
                whole = item["text"] if item["status"] == "completed" else turn.texts[item_id]
                shown = self.texts[session].get(item_id, "")
                self.counts["messages compared"] += 1
                if turn.clean and shown != whole:
                    self._wrong(f"{item_id} is {whole!r} and was shown as {shown!r}")
                if not turn.clean and item["status"] == "completed":
                    self.counts["messages compared after a loss"] += 1
                    if shown != whole and whole not in self.restated[session].values():
                        self._wrong(f"{item_id} is {whole!r}, of which some was lost, and was shown as {shown!r}")

    def check_replay(self, session: str) -> None:
        """What was loaded is on screen, whole and once."""
        stored = self._store.sessions[session]
        for turn in stored.turns.values():
            for item_id, item in turn.items.items():
                if item["kind"] == "agentMessage" and item["status"] == "completed":
                    shown = self.texts[session].get(item_id, "")
                    self.counts["messages replayed"] += 1
                    if shown != item["text"]:
                        self._wrong(f"{item_id} is {item['text']!r} and was replayed as {shown!r}")


def _is_told(turn: Turn) -> bool:
    return turn.state == "ended" and turn.clean


def _stop(frame: Json) -> Any:
    return frame["result"].get("stopReason") if "result" in frame else None


def _is_uuid7(value: Any) -> bool:
    try:
        return isinstance(value, str) and UUID(value).version == 7
    except ValueError:
        return False
