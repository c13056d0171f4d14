"""Reads give way to a prompt that is being answered."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from adapter.bridge.stored_output import reader
from adapter.bridge.stored_output.contract import CONCURRENT_READS
from tests.output_reading import Reading, reading, until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

READS = CONCURRENT_READS + 1


async def begin_reads(it: Reading, tasks: TaskGroup) -> list[bool]:
    """Begin one read more than may run; gives which of them are over, as soon as the first ones are."""
    started = [it.start(tasks, offsetBytes=0, lengthBytes=1 + number) for number in range(READS)]
    await until(lambda: all(read.over.is_set() for read in started[:CONCURRENT_READS]))
    await anyio.sleep(0.1)
    return [read.over.is_set() for read in started]


async def test_a_place_rests_after_a_read_while_a_prompt_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "REST_FACTOR", 1e6)
    monkeypatch.setattr(reader, "LONGEST_REST", 1.0)
    async with reading(tmp_path, gives_way=True) as it, anyio.create_task_group() as tasks:
        assert await begin_reads(it, tasks) == [True] * CONCURRENT_READS + [False]
        await it.until_received("item/readOutput", READS)


async def test_a_place_is_given_on_at_once_when_nothing_else_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "REST_FACTOR", 1e6)
    monkeypatch.setattr(reader, "LONGEST_REST", 60.0)
    async with reading(tmp_path) as it, anyio.create_task_group() as tasks:
        await begin_reads(it, tasks)
        await it.until_received("item/readOutput", READS)


async def test_no_rest_is_longer_than_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REST_FACTOR", 1e6)
    async with reading(tmp_path, gives_way=True) as it:
        for number in range(READS):
            assert isinstance(await it.ask(lengthBytes=1 + number), dict)
