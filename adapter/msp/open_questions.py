"""What a session asks the user, told once a stage (`msp.md §15`, `§16`). Plain synchronous code."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from adapter.msp.changes import ApprovalOpened, ApprovalResolved, ApprovalUpdated, Change, InputOpened, InputSettled
from adapter.msp.cursors import Decided
from adapter.msp.members import objects_in
from adapter.msp.pending import Questions

Params = dict[str, Any]
Changes = tuple[Change, ...]


class OpenQuestions:
    """Approvals and questions that wait. `asking`: what is opened now counts as asked, so that a request for it tells
    nothing new."""

    def __init__(self, session_id: str, decided: Decided) -> None:
        self.approvals: Final = Questions("approvalId")
        self.inputs: Final = Questions("userInputId")
        self.asking = True
        self._session_id = session_id
        self._decided = decided
        self.handlers: dict[str, Callable[[Params], Changes]] = {
            "approval/requested": self._approval_requested,
            "approval/request": self._approval_requested,
            "approval/updated": self._approval_updated,
            "approval/resolved": self._approval_resolved,
            "userInput/requested": self._input_requested,
            "userInput/request": self._input_requested,
            "userInput/settled": self._input_settled,
        }

    @property
    def ids(self) -> frozenset[str]:
        """Ids of all open approvals and questions."""
        return frozenset(self.approvals.open) | frozenset(self.inputs.open)

    def forget_asked(self) -> None:
        """The host has gone, and its questions with it: one that the next host tells is a new one to the user, also
        under the same id."""
        self.approvals.forget_asked()
        self.inputs.forget_asked()

    def reconcile(self, pending: Params, before: Collection[str]) -> list[Change]:
        """Takes an `approval/listPending` result as the truth about open questions (`msp.md §11.5`).

        `before` is what `ids` was when the list was asked for: only these can be gone, since a question opened
        meanwhile may be younger than the list.
        """
        changes: list[Change] = []
        approvals, inputs = objects_in(pending.get("approvals")), objects_in(pending.get("userInputs"))
        listed = {self.approvals.id_of(params) for params in approvals}
        listed |= {self.inputs.id_of(params) for params in inputs}
        for gone in [question for question in before if question not in listed]:
            if gone in self.approvals.open:
                changes += self._approval_resolved({"sessionId": self._session_id, "approvalId": gone})
            elif gone in self.inputs.open:
                changes += self._input_settled({"sessionId": self._session_id, "userInputId": gone})
        for params in approvals:
            changes += self._approval_requested(params)
        for params in inputs:
            changes += self._input_requested(params)
        return changes

    def _approval_requested(self, params: Params) -> Changes:
        params = _with_turn(params)
        name = f"approval:{params.get('approvalId')}"
        if not self._decided.may(name) or not self.approvals.ask(params, asked=self.asking):
            return ()
        if self.approvals.id_of(params) in self.approvals.open:
            self._decided.note(name)
        return (ApprovalOpened(params),)

    def _approval_updated(self, params: Params) -> Changes:
        name = f"approval:{params.get('approvalId')}"
        merged = self.approvals.update(params, asked=self.asking) if self._decided.may(name) else None
        if merged is None:
            return ()
        self._decided.note(name)
        return (ApprovalUpdated(merged),)

    def _approval_resolved(self, params: Params) -> Changes:
        self._decided.forget(f"approval:{params.get('approvalId')}")
        return (ApprovalResolved(params),) if self.approvals.settle(params) else ()

    def _input_requested(self, params: Params) -> Changes:
        params = _with_turn(params)
        return (InputOpened(params),) if self.inputs.ask(params, asked=self.asking) else ()

    def _input_settled(self, params: Params) -> Changes:
        return (InputSettled(params),) if self.inputs.settle(params) else ()


def _with_turn(params: Params) -> Params:
    """A question whose turn is named by an id or not at all: those are looked up in sets of turns."""
    turn_id = params.get("turnId")
    if turn_id is None or isinstance(turn_id, str):
        return params
    return {name: value for name, value in params.items() if name != "turnId"}
