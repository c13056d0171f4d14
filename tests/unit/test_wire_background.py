"""Work that runs beside everything else."""

from __future__ import annotations

import logging

import anyio
import anyio.lowlevel
import pytest

from adapter.wire.background import Background
from tests.wired import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_failing_task_is_logged_and_costs_nobody_else_anything(caplog: pytest.LogCaptureFixture) -> None:
    went_on = anyio.Event()

    async def fail(word: str) -> None:
        raise KeyError(word)

    async def go_on() -> None:
        await anyio.sleep(0.01)
        went_on.set()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            background = Background(tasks, logging.getLogger("adapter.wire"))
            background.start(fail, "colour")
            background.start(go_on)
    assert went_on.is_set()
    assert "fail failed" in caplog.text
    assert "KeyError: 'colour'" in caplog.text


async def test_it_ends_with_its_group() -> None:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            Background(tasks, logging.getLogger("adapter.wire")).start(anyio.sleep_forever)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
