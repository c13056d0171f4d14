"""Questions are asked once, and again when who asked has gone."""

from __future__ import annotations

import pytest

from adapter.msp.changes import ApprovalOpened, InputOpened
from adapter.msp.fold import SessionFold
from tests.folding import Event, approval, run

QUESTION: Event = ("userInput/request", {"userInputId": "u", "questions": []})
APPROVAL: Event = ("approval/request", approval())


@pytest.mark.parametrize(
    ("event", "kind"), [(QUESTION, InputOpened), (APPROVAL, ApprovalOpened)], ids=["input", "approval"]
)
def test_a_question_told_again_by_the_next_host_is_a_new_one(event: Event, kind: type) -> None:
    fold = SessionFold("ses")
    assert [type(change) for change in run(fold, event, event)] == [kind]
    fold.forget_asked()
    assert [type(change) for change in run(fold, event, event)] == [kind]


def test_a_settled_one_stays_settled() -> None:
    fold = SessionFold("ses")
    run(fold, QUESTION, ("userInput/settled", {"userInputId": "u"}))
    fold.forget_asked()
    assert run(fold, QUESTION) == []
