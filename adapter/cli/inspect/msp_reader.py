"""Reads the frames of an MSP host one after the other, and says each in words."""

from __future__ import annotations

from typing import Final

from adapter.cli.inspect import msp_items, words
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.msp_words import ANSWERS, SAYS, generic_answer
from adapter.cli.inspect.refusals import probed, refused
from adapter.cli.inspect.story import Asked, Frame, Kind, Said, Story, Turn

_NOBODY: Final = "00000000-0000-0000-0000-000000000000"
"""The id of no session. Asking about it shows which methods a host has, and does nothing (`msp.md §28.6`)."""

_KINDS: dict[str, Kind] = {
    "initialize": "handshake",
    "initialized": "handshake",
    "item/delta": "text",
    "item/readOutput": "read",
    "session": "session",
    "turn": "turn",
    "item": "item",
    "approval": "consent",
    "userInput": "consent",
    "view": "history",
}
"""By method, else by what stands before its slash."""


class MspReader:
    """Frames in their order; what they tell goes into the story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._items: dict[str, tuple[str, str, str]] = {}
        """By item id: its title, its kind, its turn."""
        self._turn_of_asked: dict[str, str] = {}
        self._labels: dict[tuple[str, str], str] = {}
        """What the choices of an approval are called."""

    def said(self, frame: Frame) -> Said:
        """What one frame says."""
        if _is_probe(frame.params):
            return probed(frame)
        session = self._session(frame)
        turn = self._turn(frame, session)
        kind = self._kind(frame)
        if frame.method == "item/readOutput":
            self._story.read(frame, session)
        if frame.refused:
            return refused(frame, kind, session, turn)
        if frame.shape == "answer":
            return Said(self._answer(frame), kind, session, turn)
        match frame.method:
            case "item/started" | "item/updated" | "item/completed":
                item = frame.params.inner("item")
                failed = item.text("status") in msp_items.FAILED
                return Said(self._item(item, new=frame.method == "item/started"), kind, session, turn, failed)
            case "item/delta":
                return self._delta(frame, session, turn)
            case "turn/completed" | "turn/unqueued":
                return self._ended(frame, kind, session, turn)
            case _:
                said = self._consent(frame, session, turn) or SAYS.get(frame.method, _unknown)(frame.params)
                return Said(said, kind, session, turn, failed=frame.method == "view/gap")

    def _session(self, frame: Frame) -> str:
        params, told = frame.params, frame.result.inner("session") or frame.params.inner("session")
        # What an answer opens may be another session than its request named: a fork.
        session = told.text("sessionId") or params.text("sessionId")
        name = told.text("name", "title")
        if frame.method == "session/nameChanged":
            name = params.text("name")
        self._story.session(session, name)
        return session

    def _turn(self, frame: Frame, session: str) -> str:
        params = frame.params
        item = params.inner("item")
        named = frame.result.text("turnId") or params.text("turnId", "expectedTurnId") or item.text("turnId")
        if not named and frame.method == "item/delta":
            named = self._items.get(params.text("itemId"), ("", "", ""))[2]
        if not named:
            asked = params.text("approvalId", "userInputId")
            named = self._turn_of_asked.get(asked, "")
        if not named or frame.method == "session/tokenUsage" or frame.refused:
            return named if named in self._story.turns else ""
        turn = self._story.turn(named, session, frame)
        if frame.method == "turn/start" and frame.shape == "answer":
            turn.prompt = turn.prompt or words.blocks(params.objects("input"))
        if frame.method == "turn/started":
            turn.began_ms = frame.at_ms
        return named

    def _kind(self, frame: Frame) -> Kind:
        if frame.params.inner("item").text("kind") in msp_items.MESSAGES:
            return "text"
        return _KINDS.get(frame.method) or _KINDS.get(frame.method.partition("/")[0], "other")

    def _answer(self, frame: Frame) -> str:
        if frame.method in ("approval/request", "userInput/request"):
            return "seen"
        said = ANSWERS.get(frame.method, generic_answer)(frame.result)
        return said or generic_answer(frame.result)

    def _item(self, item: Members, new: bool) -> str:
        item_id, title = item.text("itemId"), msp_items.title(item)
        if item_id not in self._items and item.text("turnId") in self._story.turns:
            self._story.turns[item.text("turnId")].items += 1
        self._items[item_id] = (title, item.text("kind"), item.text("turnId"))
        state = "" if new and item.text("status") == msp_items.OPEN else msp_items.state(item)
        return ": ".join(part for part in (title, state) if part)

    def _delta(self, frame: Frame, session: str, turn: str) -> Said:
        params = frame.params
        item_id, field = params.text("itemId"), params.text("field") or "text"
        title = self._items.get(item_id, ("an item not seen before", "", ""))[0]
        what = title if field == "text" else f"{field.partition('.')[0]} of {title}"
        return Said(what, "text", session, turn, piece_of=f"{item_id}\n{field}", piece=params.text("delta"))

    def _ended(self, frame: Frame, kind: Kind, session: str, turn_id: str) -> Said:
        params = frame.params
        error = params.inner("error")
        outcome = params.text("terminal") or "unqueued"
        why = error.text("message") or params.text("reason")
        said = ": ".join(
            part for part in (words.listed([outcome, error.text("kind")]), words.quoted(why) if why else "") if part
        )
        turn: Turn | None = self._story.turns.get(turn_id)
        took = params.number("durationMs")
        if turn is not None:
            self._story.end(turn, frame, said, outcome == "failed", took)
        if frame.method == "turn/unqueued":
            said = SAYS[frame.method](params)
        return Said(
            words.listed([said, "" if took is None else f"after {words.lasted(took)}"]),
            kind,
            session,
            turn_id,
            failed=outcome == "failed",
        )

    def _consent(self, frame: Frame, session: str, turn: str) -> str:
        """What approvals and questions say; empty for other methods."""
        params = frame.params
        match frame.method:
            case "approval/request" | "approval/requested":
                return self._asked_to_approve(frame, session, turn)
            case "approval/decide":
                label, feedback = self._label(params), params.text("feedback")
                self._story.settle(params.text("approvalId"), label, frame)
                return words.listed(
                    [
                        _named(label, params.text("choiceId")),
                        words.after("saying", words.quoted(feedback)) if feedback else "",
                    ]
                )
            case "approval/updated":
                self._remember_choices(params)
                change = params.inner("change").text("kind")
                if change == "stageResolved":
                    self._story.next_stage(params.text("approvalId"))
                return words.listed([change, msp_items.stage(params), msp_items.choices(params)])
            case "approval/resolved":
                said = " ".join([params.text("decision"), words.after("by", params.text("resolvedBy"))]).strip()
                self._story.settle(params.text("approvalId"), said, frame)
                return said
            case "userInput/request" | "userInput/requested":
                asked_id = params.text("userInputId")
                self._turn_of_asked[asked_id] = turn
                what, may_be = msp_items.questions(params), msp_items.options(params)
                self._story.ask(asked_id, Asked(frame.number, session, turn, what, may_be, began_ms=frame.at_ms))
                return ": ".join(part for part in (what, may_be) if part)
            case "userInput/answer" | "userInput/interrupt":
                self._story.settle(params.text("userInputId"), msp_items.answers(params), frame)
                return msp_items.answers(params)
            case "userInput/cancel" | "userInput/clarify":
                said = params.text("reason") or params.inner("clarification").text("content")
                self._story.settle(params.text("userInputId"), words.quoted(said) if said else "", frame)
                return words.quoted(said) if said else ""
            case "userInput/settled":
                self._story.settle(params.text("userInputId"), params.text("outcome"), frame)
                return words.listed([params.text("outcome"), msp_items.answers(params), params.text("reason")])
        return ""

    def _asked_to_approve(self, frame: Frame, session: str, turn: str) -> str:
        params = frame.params
        asked_id = params.text("approvalId")
        self._turn_of_asked[asked_id] = turn
        self._remember_choices(params)
        what, may_be = f"may {msp_items.subject(params)}", msp_items.choices(params)
        self._story.ask(asked_id, Asked(frame.number, session, turn, what, may_be, began_ms=frame.at_ms))
        return words.listed([f"{what}? {may_be}".strip(), msp_items.stage(params)])

    def _remember_choices(self, params: Members) -> None:
        for choice in params.objects("availableChoices"):
            self._labels[params.text("approvalId"), choice.text("choiceId")] = choice.text("label")

    def _label(self, params: Members) -> str:
        """What the user saw of the choice."""
        choice = params.text("choiceId")
        return self._labels.get((params.text("approvalId"), choice)) or choice


def _is_probe(params: Members) -> bool:
    listed = params.inner("filter").inner("sessionId").texts("anyOf")
    return params.text("sessionId") == _NOBODY or listed == [_NOBODY]


def _named(label: str, choice: str) -> str:
    return label if label == choice else f"{label} ({choice})"


def _unknown(params: Members) -> str:
    """A method without words: the first of its members that is a short text says most."""
    names = [name for name, value in params.raw.items() if isinstance(value, str)]
    shown = [f"{name} {params.text(name)}" for name in names if not name.endswith(("Id", "Cursor"))]
    return words.listed(shown[:2])
