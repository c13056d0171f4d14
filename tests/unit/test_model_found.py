"""What the model of the turn has found (`tests.model`), each played as it was found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model.acts import Acts, Draw
from tests.model.host import CONVERSING
from tests.model.stage import ROOT, Stage
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


@pytest.mark.parametrize("others", [0, 1])
def test_a_session_that_was_not_opened_anew_after_all_hears_its_questions_and_its_turns(
    stage: Stage, others: int
) -> None:
    """The host asks something while the session is opened anew, and refuses to open it: nobody else takes its events,
    whether another session is open or not."""
    acts, stored = opened(stage, forms=True)
    assert stored.running is not None
    acts.end_turn((stored, stored.running), PLAIN)
    for _ in range(others):
        acts.start("", PLAIN)
        stage.go()
        acts.prompt(acts.open[-1], PLAIN)
    acts.own_turn(stored, PLAIN)
    stage.go()
    acts.host.slow = True
    acts.load(stored.id, PLAIN)
    stage.go()
    assert stored.running is not None
    acts.ask_question((stored, stored.running), PLAIN)
    stage.go()
    acts.host.slow = False
    acts.host.answer(acts.host.waiting.pop(0), refusal="commandRejected")
    stage.go(1.0)
    assert [dialog.params["sessionId"] for dialog in acts.dialogs()] == [stored.id]
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    assert not acts.dialogs()
    prompt = stage.prompt("last", stored.id)
    stage.go()
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    assert prompt.answer == {"jsonrpc": "2.0", "id": "last", "result": {"stopReason": "end_turn"}}


def test_a_session_that_is_opened_while_it_is_found_out_whose_its_question_is_stays_open(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.model.host.CONVERSING", CONVERSING | {"session/read"})
    acts, _ = opened(stage, forms=True)
    other = stage.store.create(ROOT)
    acts.own_turn(other, PLAIN)
    assert other.running is not None
    acts.ask_question((other, other.running), PLAIN)
    acts.host.slow = True
    acts.host.ask_client("userInput/request", {"sessionId": other.id, **next(iter(other.inputs.values()))})
    stage.go()
    (whose,) = acts.waiting()
    assert whose["method"] == "session/read"
    acts.load(other.id, PLAIN)
    stage.go()
    for frame in acts.waiting()[1:]:
        acts.answer_one(frame, PLAIN)
    acts.host.slow = False
    stage.go()
    assert other.id in acts.open
    acts.answer_one(whose, PLAIN)
    stage.go()
    acts.end_turn((other, other.running), PLAIN)
    stage.go()
    assert not acts.dialogs()
    prompt = stage.prompt("last", other.id)
    stage.go()
    acts.end_turn((other, other.running), PLAIN)
    stage.go()
    assert prompt.answer == {"jsonrpc": "2.0", "id": "last", "result": {"stopReason": "end_turn"}}


@pytest.mark.parametrize("stop", ["cancel", "take back"])
def test_a_prompt_that_the_host_was_too_busy_for_is_not_sent_again_after_a_stop(stage: Stage, stop: str) -> None:
    acts, stored = opened(stage, forms=False)
    assert stored.running is not None
    acts.end_turn((stored, stored.running), PLAIN)
    stage.go()
    acts.host.slow = True
    prompt = stage.prompt("busy", stored.id)
    stage.go()
    acts.host.answer(acts.host.waiting.pop(0), refusal="overloaded")
    stage.go()
    if stop == "cancel":
        acts.cancel(stored.id, PLAIN)
    else:
        acts.take_back("busy", PLAIN)
    acts.host.slow = False
    stage.go(60.0)
    assert prompt.answer == {"jsonrpc": "2.0", "id": "busy", "result": {"stopReason": "cancelled"}}
    sent = [seen.frame for seen in stage.seen if seen.frame.get("method") == "turn/start"]
    assert [str(prompt.number) in frame["params"]["input"][0]["text"] for frame in sent] == [False, True]
    assert stage.checks.problems() == []


@pytest.mark.acp(93)
def test_what_a_closed_session_asks_is_refused_and_asked_in_no_other_one(stage: Stage) -> None:
    """The host is slow to let go of it, and the user of the other session would answer for it."""
    acts, stored = opened(stage, forms=True)
    acts.start("", PLAIN)
    stage.go()
    acts.host.slow = True
    acts.close(stored.id, PLAIN)
    stage.go(6.0)
    assert stored.running is not None
    acts.ask_approval((stored, stored.running), PLAIN)
    stage.go()
    assert not acts.dialogs()
    decided = [frame["params"]["choiceId"] for frame in acts.waiting() if frame["method"] == "approval/decide"]
    assert decided == ["no"]
    assert stage.checks.problems() == []
