"""A session's view kept whole: its fold, and the filling of holes in what is delivered to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from adapter.msp.changes import Change, GapSeen
from adapter.msp.fold import SessionFold
from adapter.msp.gaps import PAGE_LIMIT, FillStep, GapRecovery, PageRequest, Phase


class SessionView:
    """Live notifications in, changes out; pages are asked for when the host says that it left something out.

    The caller sends what `next_page` answers, hands the result to `take_page` or the error to `page_failed`, and calls
    `approval/listPending` when `reconcile_due` is set, handing the result to `reconcile`.
    """

    def __init__(self, session_id: str, page_limit: int = PAGE_LIMIT) -> None:
        self.fold = SessionFold(session_id)
        self.recovery = GapRecovery(page_limit)
        self.reconcile_due = False
        self.incomplete: str | None = None
        """Why the last fill left part of the view unread, if it did."""

    def receive(self, method: str, params: Any) -> Sequence[Change]:
        """One live notification, or the params of one server request, in arrival order."""
        if method == "view/gap":
            return self._gap(params)
        if self.recovery.phase is not Phase.IDLE and self.recovery.hold(method, params):
            return ()
        return self.fold.apply(method, params)

    def next_page(self) -> PageRequest | None:
        return self.recovery.next_request()

    def take_page(self, result: dict[str, Any]) -> list[Change]:
        return self._take(self.recovery.accept(result))

    def page_failed(self, reason: str, resume_after: str | None = None) -> list[Change]:
        """`resume_after` is the `viewCursor` of a `pageEventTooLarge` error."""
        return self._take(self.recovery.failed(reason, resume_after))

    def give_up(self, reason: str) -> list[Change]:
        """Ends a fill that takes too long; live events flow again."""
        return self._take(self.recovery.give_up(reason)) if self.recovery.active else []

    def reconcile(self, pending: dict[str, Any], before: Collection[str]) -> list[Change]:
        """See `SessionFold.reconcile`; take `before` from `fold.open_questions` when sending the query."""
        self.reconcile_due = False
        return self.fold.reconcile(pending, before)

    def _gap(self, params: Any) -> Sequence[Change]:
        if self.recovery.active:
            # Kept in its place among the held events too: text behind it must not be joined to text before it.
            self.recovery.hold("view/gap", params)
            after, following = (params.get("after"), params.get("next")) if isinstance(params, dict) else (None, None)
            if isinstance(after, str) and isinstance(following, str):
                self.recovery.open(after, following)
            return ()
        changes = self.fold.apply("view/gap", params)
        for change in changes:
            if isinstance(change, GapSeen):
                self.recovery.open(change.after, change.next)
        return changes

    def _take(self, step: FillStep) -> list[Change]:
        changes = self.fold.load_events(step.events, step.after, asking=True) if step.events else []
        if step.lost_live:
            self.fold.note_hole()
        if step.done:
            changes += self.fold.restate()
        for method, params in step.live:
            changes += self.fold.apply(method, params)
        self.reconcile_due = self.reconcile_due or step.reconcile_approvals
        if step.done:
            self.incomplete = step.incomplete
        return changes
