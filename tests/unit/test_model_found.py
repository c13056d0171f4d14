"""What the model of the turn has found (`tests.model`), each played as it was found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model.acts import Acts, Draw
from tests.model.stage import Stage
from tests.model.store import Stored

PLAIN = Draw(0, 0, 0, False)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.end()


def opened(stage: Stage, *, forms: bool) -> tuple[Acts, Stored]:
    """A session with a prompt whose turn runs."""
    stage.begin(forms=forms)
    acts = Acts(stage)
    acts.start("", PLAIN)
    stage.go()
    acts.prompt(acts.open[0], PLAIN)
    stage.go()
    return acts, stage.store.sessions[acts.open[0]]


def test_a_message_whose_question_is_over_by_then_is_an_ordinary_prompt(stage: Stage) -> None:
    """The host refuses it as an answer after the turn that asked has ended."""
    acts, stored = opened(stage, forms=False)
    assert stored.running is not None
    acts.ask_question((stored, stored.running), PLAIN)
    stage.go()
    acts.host.slow = True
    answer = stage.prompt("answer", stored.id)
    stage.go()
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    assert stage.checks.open_prompts() == [answer]
    acts.answer_one(acts.waiting()[0], PLAIN)
    acts.host.slow = False
    stage.go()
    (_, turn), *_ = acts.running()
    assert turn.words.startswith(f"prompt-{answer.number}\n")
    acts.end_turn((stored, turn), PLAIN)
    stage.go()
    assert answer.answer == {"jsonrpc": "2.0", "id": "answer", "result": {"stopReason": "end_turn"}}
    assert stage.checks.problems() == []


def test_a_message_that_answers_a_question_is_stopped_without_waiting_for_the_host(stage: Stage) -> None:
    """Neither the turn's end nor the stop waits until the host says whether it takes the answer."""
    acts, stored = opened(stage, forms=False)
    assert stored.running is not None
    acts.ask_question((stored, stored.running), PLAIN)
    stage.go()
    acts.host.slow = True
    answer = stage.prompt("answer", stored.id)
    stage.go()
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    acts.cancel(stored.id, PLAIN)
    stage.go()
    assert answer.answer == {"jsonrpc": "2.0", "id": "answer", "result": {"stopReason": "cancelled"}}


@pytest.mark.acp(93)
@pytest.mark.parametrize("kind", ["overloaded", "backpressured"])
def test_a_consent_that_the_host_was_too_busy_for_is_not_sent_again_after_a_stop(stage: Stage, kind: str) -> None:
    acts, stored = opened(stage, forms=False)
    assert stored.running is not None
    acts.ask_approval((stored, stored.running), PLAIN)
    stage.go()
    acts.host.slow = True
    acts.choose(acts.dialogs()[0], PLAIN)
    stage.go()
    acts.host.answer(acts.host.waiting.pop(0), refusal=kind)
    stage.go()
    assert stage.checks.consents.allowed == 1
    acts.cancel(stored.id, PLAIN)
    stage.go(1.0)
    assert stage.checks.problems() == []
    assert "approval/decide" not in [frame["method"] for frame in acts.waiting()]


def test_closing_a_session_does_not_spin_while_a_host_does_not_admit_a_stop(
    stage: Stage,
) -> None:
    """A turn of the host's own, stopped; its end is told, and the interrupt is not answered."""
    acts, stored = opened(stage, forms=False)
    assert stored.running is not None
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    acts.own_turn(stored, PLAIN)
    stage.go()
    acts.host.slow = True
    acts.cancel(stored.id, PLAIN)
    stage.go()
    assert stored.running is not None
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    acts.close(stored.id, PLAIN)
    stage.go()
    assert "session/leave" in [frame["method"] for frame in acts.waiting()]
