"""Whose a turn is that runs under a name nobody has given it."""

from __future__ import annotations

import pytest

from adapter.bridge.turns.prompt_run import PromptRun
from adapter.bridge.turns.stray_turns import StrayTurns

pytestmark = pytest.mark.anyio


def sent(acknowledged: str | None = None, *, queued: bool = False) -> PromptRun:
    run = PromptRun()
    run.submitted = True
    if acknowledged is not None:
        run.admit(acknowledged, queued=queued)
    return run


async def test_h7_the_turn_is_the_only_prompts_that_waits_for_one() -> None:
    strays, run = StrayTurns(), sent("acknowledged")
    runs = [run, sent("queued", queued=True), PromptRun()]
    assert strays.waiting(runs) is run
    strays.hear("other", strays.waiting(runs))
    assert strays.of(run) == ["other"]


async def test_h7_nothing_is_decided_before_the_acknowledgement() -> None:
    strays, run = StrayTurns(), sent()
    strays.hear("other", strays.waiting([run]))
    assert strays.of(run) == []
    run.admit("acknowledged", queued=False)
    assert strays.of(run) == ["other"]


async def test_h6_a_turn_that_was_heard_of_before_is_not_the_prompts() -> None:
    strays, run = StrayTurns(), sent("acknowledged")
    strays.hear("older")
    strays.hear("older", run)
    assert strays.of(run) == []


async def test_h6_a_prompt_whose_own_turn_was_heard_of_has_no_other() -> None:
    strays, run = StrayTurns(), sent("acknowledged")
    strays.hear("other", run)
    strays.hear("acknowledged", run)
    assert strays.waiting([run]) is None and strays.of(run) == []


async def test_h6_it_is_nobodys_where_that_is_not_certain() -> None:
    for runs in ([sent(), sent()], [sent("t", queued=True)], [PromptRun()], []):
        assert StrayTurns().waiting(runs) is None


async def test_h6_a_queued_prompt_waits_for_what_runs() -> None:
    strays, run = StrayTurns(), sent()
    strays.hear("runs", strays.waiting([run]))
    run.admit("acknowledged", queued=True)
    assert strays.of(run) == []


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.turns.stray_turns.REMEMBERED_TURNS", 2)
    strays, run = StrayTurns(), sent("acknowledged")
    for turn_id in "abc":
        strays.hear(turn_id, run)
    assert strays.of(run) == ["b", "c"]
