"""What a client and the adapter said to each other, as the client wrote it down: every frame is held to the official
schema, in the direction it went, before anything is asked of it."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NamedTuple

from tests.oracles.acp_schema import (
    AGENT_METHODS,
    AGENT_NOTIFICATIONS,
    CLIENT_METHODS,
    CLIENT_NOTIFICATIONS,
    check_agent_frame,
    check_client_frame,
)

Json = dict[str, Any]
Side = Literal["client", "agent"]
Id = tuple[type, Any]

_OTHER: Final[dict[Side, Side]] = {"client": "agent", "agent": "client"}


class Frame(NamedTuple):
    """One frame; `method` is its own, or the one of the request it answers."""

    sender: Side
    method: str
    body: Json


class Transcript:
    """Frames in the order they went by. Raises AssertionError on a frame that is not as the schema says, that answers
    nothing, or that fits neither direction."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._open: list[tuple[Side, Id, str]] = []
        """Who asked, under which id, and for what; the oldest first."""

    @classmethod
    def read(cls, text: str) -> Transcript:
        """One frame a line, without a word on who sent it: it follows from what is said."""
        transcript = cls()
        for number, line in enumerate(text.splitlines(), 1):
            try:
                transcript.add(json.loads(line))
            except (AssertionError, ValueError) as error:
                raise AssertionError(f"line {number}: {error}: {line[:200]}") from None
        return transcript

    def add(self, body: Json, sender: Side | None = None) -> None:
        """Take in the next frame."""
        if "method" in body:
            self._take_call(body, sender or self._caller(body))
        else:
            self._take_answer(body, sender)

    def open_requests(self) -> list[str]:
        """The methods that have not been answered."""
        return [method for _side, _id, method in self._open]

    # -- what was said

    def sent(self, side: Side) -> list[str]:
        """The methods one side called, in order."""
        return [frame.method for frame in self.frames if frame.sender == side and "method" in frame.body]

    def params(self, method: str) -> list[Json]:
        """The params of each call of a method."""
        return [frame.body["params"] for frame in self.frames if frame.body.get("method") == method]

    def results(self, method: str) -> list[Json]:
        """The results of a method, the failed ones left out."""
        return [frame.body["result"] for frame in self.frames if frame.method == method and "result" in frame.body]

    def errors(self, method: str) -> list[Json]:
        """The errors of a method."""
        return [frame.body["error"] for frame in self.frames if frame.method == method and "error" in frame.body]

    def updates(self, *kinds: str, session_id: str | None = None) -> list[Json]:
        """The session updates of these kinds."""
        return [
            params["update"]
            for params in self.params("session/update")
            if params["update"]["sessionUpdate"] in kinds and session_id in (None, params["sessionId"])
        ]

    def text(self, session_id: str | None = None) -> str:
        """All that the agent said."""
        chunks = self.updates("agent_message_chunk", session_id=session_id)
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def card(self) -> Json:
        """The members of the only tool card as they were last."""
        card: Json = {}
        for update in self.updates("tool_call", "tool_call_update"):
            if card and card["toolCallId"] != update["toolCallId"]:
                raise AssertionError("there is more than one tool card")
            card |= update
        return card

    # -- who said it

    def _caller(self, body: Json) -> Side:
        """Who may call this method. `$/cancel_request` is the only one both may: then whose request it names."""
        method = body["method"]
        if method == "$/cancel_request":
            wanted = _key(body["params"]["requestId"])
            return next((side for side, key, _method in reversed(self._open) if key == wanted), "client")
        if method in CLIENT_METHODS or method in AGENT_NOTIFICATIONS:
            return "agent"
        if method in AGENT_METHODS or method in CLIENT_NOTIFICATIONS:
            return "client"
        raise AssertionError(f"nobody may call {method}")

    def _take_call(self, body: Json, caller: Side) -> None:
        _check(caller, body)
        if "id" in body:
            asked = (caller, _key(body["id"]))
            if any((side, key) == asked for side, key, _method in self._open):
                raise AssertionError(f"the {caller} uses the id {body['id']!r} twice at once")
            self._open.append((*asked, body["method"]))
        self.frames.append(Frame(caller, body["method"], body))

    def _take_answer(self, body: Json, sender: Side | None) -> None:
        """Both sides number their requests from 0, so an id can be open on both: the younger request that the answer
        fits is meant."""
        key = _key(body.get("id"))
        waiting = [asked for asked in reversed(self._open) if asked[1] == key and sender in (None, _OTHER[asked[0]])]
        problems = []
        for asked in waiting:
            side, _id, method = asked
            try:
                _check(_OTHER[side], body, method)
            except AssertionError as error:
                problems.append(f"as the answer to {method}: {error}")
                continue
            self._open.remove(asked)
            self.frames.append(Frame(_OTHER[side], method, body))
            return
        raise AssertionError("; ".join(problems) or f"answers the id {body.get('id')!r}, which is not open")


def _check(sender: Side, body: Json, answered: str | None = None) -> None:
    check = check_agent_frame if sender == "agent" else check_client_frame
    check(body, answered)


def _key(value: Any) -> Id:
    """An id that keeps its type: `1` and `"1"` are different."""
    return type(value), value
