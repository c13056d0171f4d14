"""How long answers are waited for, and which refusals are tried again."""

from __future__ import annotations

import pytest

from adapter.msp import budgets
from adapter.msp.vocabulary import ERRORS


@pytest.mark.parametrize("method", ["session/start", "session/resume", "session/fork", "session/read", "view/page"])
@pytest.mark.parametrize("command", [True, False])
def test_opening_a_session_may_take_long(method: str, command: bool) -> None:
    assert budgets.request_timeout(method, command=command) == budgets.OPEN_TIMEOUT


def test_commands_may_take_longer_than_queries() -> None:
    assert budgets.request_timeout("turn/start", command=True) == budgets.COMMAND_TIMEOUT
    assert budgets.request_timeout("approval/listPending", command=False) == budgets.QUERY_TIMEOUT


@pytest.mark.parametrize("kind", ["overloaded", "backpressured"])
def test_a_busy_host_is_asked_again_a_bounded_number_of_times(kind: str) -> None:
    for attempt in range(1, budgets.ATTEMPTS):
        delays = [budgets.retry_delay(kind, attempt) for _ in range(50)]
        assert all(delay is not None and 0 <= delay <= 0.05 * 2 ** (attempt - 1) for delay in delays)
        assert len(set(delays)) > 1, "many clients must not come back at once"
    assert budgets.retry_delay(kind, budgets.ATTEMPTS) is None


@pytest.mark.parametrize("kind", sorted({row.kind for row in ERRORS.values()} - {"overloaded", "backpressured"}))
def test_no_other_refusal_is_tried_again(kind: str) -> None:
    assert budgets.retry_delay(kind, 1) is None
