"""Limits of time that stand still while nobody listens."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from adapter.msp.patience import Patience

pytestmark = pytest.mark.anyio


async def test_a_limit_ends_what_takes_longer() -> None:
    patience = Patience()
    with pytest.raises(TimeoutError), patience.fail_after(0.01):
        await anyio.sleep_forever()
    with patience.fail_after(60):
        pass
    assert patience._left == {}


@pytest.mark.parametrize("begun", ["before", "meanwhile"])
async def test_time_in_which_nobody_listens_does_not_count(begun: str) -> None:
    patience = Patience()
    listens, answered = anyio.Event(), anyio.Event()
    ended: list[str] = []

    async def ask() -> None:
        try:
            with patience.fail_after(0.3):
                await answered.wait()
            ended.append("answered")
        except TimeoutError:
            ended.append("late")

    async with anyio.create_task_group() as tasks:
        if begun == "before":
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
        tasks.start_soon(patience.without_listening, listens.wait)
        await anyio.wait_all_tasks_blocked()
        if begun == "meanwhile":
            tasks.start_soon(ask)
        await anyio.sleep(0.5)
        assert ended == []
        listens.set()
        await anyio.wait_all_tasks_blocked()
        answered.set()
    assert ended == ["answered"]


async def test_afterwards_the_rest_of_the_time_counts() -> None:
    patience = Patience()
    with pytest.raises(TimeoutError), patience.fail_after(0.05):
        await patience.without_listening(anyio.lowlevel.checkpoint)
        await anyio.sleep_forever()


async def test_who_asks_and_is_cancelled_leaves_nothing() -> None:
    patience = Patience()
    with anyio.move_on_after(0.01), patience.fail_after(60):
        await anyio.sleep_forever()
    await patience.without_listening(anyio.lowlevel.checkpoint)
    assert patience._left == {}
