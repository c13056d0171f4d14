"""Reads the frames of an ACP agent one after the other, and says each in words.

ACP has no word for a turn: it is what happens from a prompt to its answer (`acp.md §5`).
"""

from __future__ import annotations

from typing import Final

from adapter.cli.inspect import words
from adapter.cli.inspect.acp_words import ANSWERS, SAYS, UPDATES, generic_answer
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.refusals import refused
from adapter.cli.inspect.story import Asked, Frame, Kind, Said, Story

_KINDS: Final[dict[str, Kind]] = {
    "initialize": "handshake",
    "authenticate": "handshake",
    "logout": "handshake",
    "session/prompt": "turn",
    "session/cancel": "turn",
    "session/request_permission": "consent",
    "elicitation/create": "consent",
    "elicitation/complete": "consent",
    "_muse/readOutput": "read",
}

_MESSAGES: Final = {
    "agent_message_chunk": "answer",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user message",
}


class AcpReader:
    """Frames in their order; what they tell goes into the story."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._running: dict[str, str] = {}
        """By session: the turn that is running."""
        self._titles: dict[tuple[str, str], str] = {}
        """By session and tool call."""

    def said(self, frame: Frame) -> Said:
        """What one frame says."""
        session = frame.result.text("sessionId") or frame.params.text("sessionId")
        self._story.session(session)
        kind = _KINDS.get(frame.method) or ("session" if frame.method.startswith("session/") else "other")
        if frame.method == "session/prompt":
            return self._prompt(frame, session)
        turn = self._turn(frame, session)
        if frame.method == "_muse/readOutput":
            self._story.read(frame, session)
        if kind == "consent":
            self._consent(frame, session, turn)
        if frame.refused:
            return refused(frame, kind, session, turn)
        if frame.method == "session/update":
            return self._update(frame, session, turn)
        if frame.method == "session/request_permission":
            return Said(self._permission(frame, session), kind, session, turn)
        if frame.shape == "answer":
            said = ANSWERS.get(frame.method, generic_answer)(frame.result)
            return Said(said or generic_answer(frame.result), kind, session, turn)
        return Said(SAYS.get(frame.method, _nothing)(frame.params), kind, session, turn)

    def _turn(self, frame: Frame, session: str) -> str:
        turn = self._running.get(session, "")
        if turn:
            self._story.turn(turn, session, frame)
        return turn

    def _prompt(self, frame: Frame, session: str) -> Said:
        turn_id = str(frame.request if frame.shape == "answer" else frame.number)
        turn = self._story.turn(turn_id, session, frame)
        if frame.shape != "answer":
            self._running[session] = turn_id
            said = SAYS[frame.method](frame.params)
            turn.prompt = said
            return Said(said, "turn", session, turn_id)
        said = words.refusal(frame.error) if frame.refused else frame.result.text("stopReason") or "answered"
        self._story.end(turn, frame, said, frame.refused, frame.elapsed_ms)
        if self._running.get(session) == turn_id:
            del self._running[session]
        return Said(said, "turn", session, turn_id, failed=frame.refused)

    def _update(self, frame: Frame, session: str, turn: str) -> Said:
        update = frame.params.inner("update")
        name = update.text("sessionUpdate")
        if name in _MESSAGES:
            content = update.inner("content")
            text = content.text("text")
            if not text:
                return Said(f"{_MESSAGES[name]}: {words.blocks([content])}", "text", session, turn)
            piece_of = f"{session}\n{name}\n{update.text('messageId')}"
            return Said(_MESSAGES[name], "text", session, turn, piece_of=piece_of, piece=text)
        if name in ("tool_call", "tool_call_update"):
            return self._tool_call(update, session, turn)
        if name == "session_info_update":
            self._story.session(session, update.text("title"))
        said = UPDATES.get(name, _nothing)(update)
        return Said(said or name.replace("_", " "), "session", session, turn)

    def _tool_call(self, update: Members, session: str, turn: str) -> Said:
        key = (session, update.text("toolCallId"))
        if key not in self._titles and turn in self._story.turns:
            self._story.turns[turn].items += 1
        title = update.text("title") or self._titles.get(key, "a tool call not seen before")
        self._titles[key] = title
        status = update.text("status")
        content = len(update.objects("content"))
        said = words.listed(
            [status, words.counted(content, "piece") if content else "", _stored(update.inner("_meta"))]
        )
        return Said(f"{title}: {said}" if said else title, "item", session, turn, failed=status == "failed")

    def _permission(self, frame: Frame, session: str) -> str:
        if frame.shape == "answer":
            return self._chosen(frame)
        return f"may {self._subject(frame, session)}? " + _choices(frame.params)

    def _consent(self, frame: Frame, session: str, turn: str) -> None:
        if frame.shape == "answer":
            answer = words.refusal(frame.error) if frame.refused else self._chosen(frame)
            self._story.settle(str(frame.request), answer, frame)
            return
        if frame.shape != "request":
            return
        if frame.method == "session/request_permission":
            what, may_be = f"may {self._subject(frame, session)}", _choices(frame.params)
        else:
            what = words.quoted(frame.params.text("message"))
            may_be = ", ".join(frame.params.inner("requestedSchema").inner("properties").raw)
        self._story.ask(str(frame.number), Asked(frame.number, session, turn, what, may_be, began_ms=frame.at_ms))

    def _subject(self, frame: Frame, session: str) -> str:
        call = frame.params.inner("toolCall")
        title = call.text("title") or self._titles.get((session, call.text("toolCallId")), "")
        return title or "a tool call not seen before"

    def _chosen(self, frame: Frame) -> str:
        outcome = frame.result.inner("outcome")
        chosen = outcome.text("optionId")
        for option in frame.params.objects("options"):
            if option.text("optionId") == chosen:
                name, kind = option.text("name") or chosen, option.text("kind").replace("_", " ")
                return name if name.lower() == kind else words.listed([name, kind])
        return chosen or outcome.text("outcome") or frame.result.text("action") or "answered"


def _choices(params: Members) -> str:
    return " / ".join(option.text("name", "optionId") for option in params.objects("options"))


def _stored(meta: Members) -> str:
    """What a card says about the stored output behind it (`stored-output.md`)."""
    length = meta.inner("muse/output").number("byteLen")
    return "" if length is None else f"{words.size(length)} stored"


def _nothing(members: Members) -> str:
    return ""
