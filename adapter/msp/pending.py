"""The questions a session has open: approvals by stage, and user input (`msp.md §15.4`, `§16`)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

# Settled questions remembered, so that a late copy of the question does not ask it again.
REMEMBERED_SETTLED_QUESTIONS: Final = 1000

# Questions remembered as open at once; far more than anybody is asked, and what is beyond is told all the same.
REMEMBERED_OPEN_QUESTIONS: Final = 1000

# What an update brings for an open approval; the rest of it stays as first asked.
_UPDATED_MEMBERS: Final = (
    "availableChoices",
    "currentRequirementId",
    "subject",
    "viewCursor",
    "sourceRange",
    "sessionId",
    "subagentOrigin",
)


class Questions:
    """Open questions of one kind by their durable id, each asked once a stage.

    A question read from history is open but not yet asked: whoever loads history may not show it, and the host sends
    it again as a request.
    """

    def __init__(self, id_member: str) -> None:
        self.open: dict[str, dict[str, Any]] = {}
        self._id_member = id_member
        self._asked: dict[str, Any] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()

    def id_of(self, params: dict[str, Any]) -> str | None:
        question_id = params.get(self._id_member)
        return question_id if isinstance(question_id, str) and question_id else None

    def ask(self, params: dict[str, Any], *, asked: bool) -> bool:
        """Opens a question, or a new stage of one; False if it is settled, or was asked as it stands."""
        question_id = self.id_of(params)
        if question_id is None or question_id in self._settled:
            return False
        stage = _stage(params)
        if question_id in self._asked and self._asked[question_id] == stage:
            self.open[question_id] = params
            return False
        if not asked and question_id in self.open and _stage(self.open[question_id]) == stage:
            return False
        if question_id in self.open or len(self.open) < REMEMBERED_OPEN_QUESTIONS:
            self.open[question_id] = params
            if asked:
                self._asked[question_id] = stage
        return True

    def update(self, params: dict[str, Any], *, asked: bool) -> dict[str, Any] | None:
        """The open approval with the update merged in; None if none is open, if it came too late, or if it
        repeats what is known."""
        question_id = self.id_of(params)
        change = params.get("change")
        known = self.open.get(question_id) if question_id is not None else None
        if question_id is None or known is None:
            return None
        if isinstance(change, dict) and change.get("kind") == "alreadyTerminal":
            return None
        merged = known | {member: params[member] for member in _UPDATED_MEMBERS if member in params}
        if merged == known:
            return None
        self.open[question_id] = merged
        if asked:
            self._asked[question_id] = _stage(merged)
        return merged | {"change": change}

    def forget_asked(self) -> None:
        """Nobody is asked any more, since who asked has gone: what is open is asked again when it is told again."""
        self._asked.clear()

    def settle(self, params: dict[str, Any]) -> bool:
        """Closes a question for good, known or not; False if it was settled before."""
        question_id = self.id_of(params)
        if question_id is None or question_id in self._settled:
            return False
        self.open.pop(question_id, None)
        self._asked.pop(question_id, None)
        self._settled[question_id] = None
        if len(self._settled) > REMEMBERED_SETTLED_QUESTIONS:
            self._settled.popitem(last=False)
        return True


def _stage(params: dict[str, Any]) -> Any:
    """What tells one stage of an approval from the next; None for questions without stages."""
    return params.get("currentRequirementId")
