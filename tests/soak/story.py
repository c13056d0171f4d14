"""What has been said in one session, as its client knows it, and what of it is not as it must be: text that is lost,
doubled, out of place, or not what the client's decisions come to."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from tests.soak.prompts import Prompt

Json = dict[str, Any]

REMEMBERED: Final = 24
"""Things that happened that are told with a problem."""

_OF_TURN: Final = re.compile(r"(.+)-i\d+\Z")
"""The id of a message of the simulated host: the turn's, and a number. Remarks of the adapter have other ids."""

STATED: Final = frozenset({"ended", "failed"})
"""Ends of a turn after which the host has all of it."""


class Turn:
    """A prompt, and what became of it: `open`, `ended`, `failed`, `cancelled`, or `died` with a host or the adapter."""

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self.outcome = "open"
        self.shown: dict[str, str] = {}
        """What was shown while it was the first in line, by the turn of the host."""
        self.answer: str | None = None
        """All of what was said, if it came to its end."""
        self.stored = False
        """Whether a load has shown it."""

    def copy(self) -> Turn:
        """It in a copy of the session."""
        turn = Turn(self.prompt)
        turn.outcome, turn.answer = self.outcome, self.answer
        return turn


class Story:
    """The turns of a session in order. Told of what arrives as it arrives; `problem` is told what is wrong."""

    def __init__(self, session_id: str, problem: Callable[[str], None], turns: list[Turn] | None = None) -> None:
        self.session_id = session_id
        self.turns = turns or []
        self.remarks: list[str] = []
        self._happened: deque[str] = deque(maxlen=REMEMBERED)
        self.handles: dict[str, Json] = {}
        """What can be read of stored outputs, by card."""
        self._tell = problem
        self._line: list[Turn] = []
        self._texts: dict[str, str] = {}
        """All that was shown of a turn of the host."""
        self._decided: dict[str, dict[Any, bool]] = {}
        self._over: set[str] = set()
        self._replay: list[tuple[str, str, str]] | None = None
        self._quiet = False

    def note(self, what: str) -> None:
        """Something happened that may explain what is wrong later."""
        self._happened.append(f"{time.monotonic() % 1000:.3f} {what}")

    def _problem(self, text: str) -> None:
        self._tell(f"{text}; before: {' | '.join(self._happened)}")

    # -- what arrives

    def update(self, update: Json) -> None:
        """Something was shown."""
        kind = update["sessionUpdate"]
        if kind in ("agent_message_chunk", "user_message_chunk"):
            self._text(kind, update["messageId"], update["content"]["text"])
        handle = update.get("_meta", {}).get("muse/output")
        if "toolCallId" in update and isinstance(handle, dict):
            self.handles.pop(update["toolCallId"], None)
            if "method" in handle:
                self.handles[update["toolCallId"]] = handle

    def _text(self, kind: str, message_id: str, text: str) -> None:
        if self._quiet:
            self._problem(f"a resume shows text: {text[:200]!r}")
        if self._replay is not None:
            return self._replay.append((kind, message_id, text))
        named = _OF_TURN.match(message_id)
        if named is None:
            return self.remarks.append(text)
        turn_id = named[1]
        if turn_id not in self._texts:
            self.note(f"text of {turn_id}")
        if turn_id in self._over:
            return self._problem(f"text of {turn_id} after its answer: {text[:200]!r}")
        self._texts[turn_id] = self._texts.get(turn_id, "") + text
        if self._line:
            self._line[0].shown[turn_id] = self._texts[turn_id]
        elif not self._has_cut_off():
            last = [(turn.prompt.text, turn.outcome) for turn in self.turns[-4:]]
            self._problem(f"text though nothing was asked: {text[:200]!r}, after {last}")
        return None

    def _has_cut_off(self) -> bool:
        """Whether something may go on that nobody waits for: what asked for consent when its host died asks again."""
        return any(turn.outcome == "died" for turn in self.turns)

    def decided(self, turn_id: str, what: Any, *, allowed: bool) -> None:
        """The client has decided something, or has decided it anew."""
        self.note(f"decided {turn_id} {allowed}")
        self._decided.setdefault(turn_id, {})[what] = allowed

    # -- prompts

    def asks(self, prompt: Prompt) -> Turn:
        """A prompt is sent."""
        turn = Turn(prompt)
        self.note(f"said {prompt.text!r}")
        self.turns.append(turn)
        self._line.append(turn)
        return turn

    def answered(self, turn: Turn, outcome: str) -> None:
        """Its answer has come, or never will."""
        self.note(f"{outcome} {turn.prompt.text!r}")
        self._line.remove(turn)
        turn.outcome = outcome
        said = turn.prompt.said if outcome in STATED else None
        whole = [
            turn_id
            for turn_id, text in turn.shown.items()
            if said is not None and text in said(list(self._decided.get(turn_id, {}).values()))
        ]
        if said is not None:
            if len(whole) != 1:
                decided = {turn_id: self._decided.get(turn_id) for turn_id in turn.shown}
                self._problem(f"{turn.prompt.text!r} {outcome}, shown {_cut(turn.shown)}, {decided}")
            else:
                turn.answer = turn.shown[whole[0]]
            self._over.update(whole)
        for turn_id, text in turn.shown.items():
            if turn_id not in whole and not self._may_begin(turn, text):
                self._problem(f"{turn.prompt.text!r} {outcome}, shown {_cut({turn_id: text})}")

    def _may_begin(self, turn: Turn, text: str) -> bool:
        """Whether this can be the beginning of an answer: of this prompt, or of one before it that was cut off."""
        cut_off = [each for each in self.turns if each is turn or each.outcome in ("died", "cancelled")]
        return any(answer.startswith(text) for each in cut_off for answer in each.prompt.any_said)

    def lost(self) -> None:
        """The adapter has gone, and with it what was being asked."""
        for turn in list(self._line):
            self.answered(turn, "died")

    # -- opening it anew

    def opens(self, *, replay: bool) -> None:
        """It is loaded, or resumed, from now on."""
        self.note("load" if replay else "resume")
        self.handles.clear()
        self._replay, self._quiet = ([], False) if replay else (None, True)

    def opened(self, *, well: bool) -> None:
        """The answer has come; what was shown by then is all of the past."""
        replay, self._replay, self._quiet = self._replay, None, False
        if well and replay is not None:
            for problem in self._wrong(replay):
                self._problem(f"loaded, {problem}")

    def _wrong(self, replay: list[tuple[str, str, str]]) -> list[str]:
        found = []
        told = _told(replay)
        by_text = {turn.prompt.text: turn for turn in self.turns}
        seen: list[Turn] = []
        for text, answers in told:
            turn = by_text.get(text)
            if turn is None:
                found.append(f"{text!r} was never said")
                continue
            if turn in seen:
                found.append(f"{text!r} comes twice")
            seen.append(turn)
            turn.stored = True
            found += self._wrong_answers(turn, answers)
        if [turn for turn in self.turns if turn in seen] != seen:
            found.append(f"the turns are out of order: {[turn.prompt.text for turn in seen]}")
        found += [
            f"{turn.prompt.text!r} ({turn.outcome}) is lost"
            for turn in self.turns
            if turn not in seen and (turn.outcome in STATED or turn.stored)
        ]
        return found

    def _wrong_answers(self, turn: Turn, answers: dict[str, str]) -> list[str]:
        shown = "".join(answers.values())
        if len(answers) > 1:
            return [f"{turn.prompt.text!r} has several answers: {_cut(answers)}"]
        if turn.outcome not in STATED:
            fits = any(answer.startswith(shown) for answer in turn.prompt.any_said)
            return [] if fits else [f"{turn.prompt.text!r} ({turn.outcome}) was answered {_cut(answers)}"]
        fits = shown in turn.prompt.any_said if turn.prompt.kind == "gaps" else shown == turn.answer
        return [] if fits else [f"{turn.prompt.text!r} was answered otherwise: now {_cut(answers)}"]


def _told(replay: list[tuple[str, str, str]]) -> list[tuple[str, dict[str, str]]]:
    """The prompts of a replay, each with what follows it, by the turn of the host."""
    told: list[tuple[str, dict[str, str]]] = []
    last = ""
    for kind, message_id, text in replay:
        if kind == "user_message_chunk":
            if message_id == last:
                told[-1] = (told[-1][0] + text, told[-1][1])
            else:
                told.append((text, {}))
        elif (named := _OF_TURN.match(message_id)) is not None and told:
            told[-1][1][named[1]] = told[-1][1].get(named[1], "") + text
        last = message_id
    return told


def _cut(texts: dict[str, str]) -> dict[str, str]:
    """Texts as they can be read in a report."""
    return {
        name: text if len(text) < 200 else f"{text[:80]}… {len(text)} characters …{text[-80:]}"
        for name, text in texts.items()
    }
