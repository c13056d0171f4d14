"""One prompt's way to its answer: the first end counts, and a cancel counts before it."""

from __future__ import annotations

import pytest

from adapter.bridge.turns.prompt_run import PromptRun
from adapter.msp.turns import TurnError, TurnOutcome
from adapter.wire.envelope import RpcError

pytestmark = pytest.mark.anyio

COMPLETED = TurnOutcome("completed")
FAILED = TurnOutcome("failed", error=TurnError("modelError", "no"))


async def test_g2_the_first_end_of_a_prompt_counts() -> None:
    run = PromptRun()
    run.settle(COMPLETED)
    run.settle(RpcError(-32603, "later"))
    assert run.settled.is_set() and run.answer() == {"stopReason": "end_turn"}


@pytest.mark.parametrize("end", [COMPLETED, FAILED, RpcError(-32603, "died"), None], ids=type)
async def test_g3_a_cancelled_prompt_answers_so(end: TurnOutcome | RpcError | None) -> None:
    run = PromptRun()
    run.cancelled = True
    run.settle(end)
    assert run.answer() == {"stopReason": "cancelled"}


@pytest.mark.parametrize("end", [FAILED, RpcError(-32603, "died")], ids=type)
async def test_h3_a_failed_prompt_raises(end: TurnOutcome | RpcError) -> None:
    run = PromptRun()
    run.settle(end)
    with pytest.raises(RpcError):
        run.answer()


async def test_h7_a_turn_may_have_two_names() -> None:
    run = PromptRun()
    assert not run.named.is_set()
    run.name("t1")
    run.name("t2")
    assert run.turn_ids == {"t1", "t2"} and run.named.is_set()


async def test_prompts_have_command_ids_of_their_own() -> None:
    assert PromptRun().command_id != PromptRun().command_id
