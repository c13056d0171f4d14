"""Reading on asyncio: one piece ahead, and no more."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from adapter.wire.pipes import FdReader
from adapter.wire.read_ahead import ReadAhead, read_ahead
from tests.wired import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="pipes cannot be watched elsewhere"),
]

MOST = 100


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    pair = os.pipe()
    yield pair
    for fd in pair:
        try:
            os.close(fd)
        except OSError as error:
            assert error.errno == errno.EBADF


def left_in(fd: int) -> bool:
    return bool(select.select([fd], [], [], 0)[0])


async def test_what_comes_is_given_in_order_and_then_the_end_again_and_again(pipe: tuple[int, int]) -> None:
    source = ReadAhead(pipe[0], MOST)
    with anyio.fail_after(PATIENCE):
        os.write(pipe[1], b"one")
        assert await source.receive() == b"one"
        os.write(pipe[1], b"2" * 250)
        assert [len(await source.receive()) for _ in range(3)] == [100, 100, 50]
        os.close(pipe[1])
        assert [await source.receive() for _ in range(3)] == [b"", b"", b""]
    source.stop()


async def test_of_what_nobody_takes_one_piece_is_read(pipe: tuple[int, int]) -> None:
    source = ReadAhead(pipe[0], MOST)
    with anyio.fail_after(PATIENCE):
        os.write(pipe[1], b"1")
        assert await source.receive() == b"1"
        os.write(pipe[1], b"x" * 3 * MOST)
        await anyio.sleep(0.05)
        assert len(os.read(pipe[0], 10 * MOST)) == 2 * MOST
        os.write(pipe[1], b"later")
        assert [await source.receive(), await source.receive()] == [b"x" * MOST, b"later"]
    source.stop()


async def test_whoever_waits_no_longer_loses_nothing(pipe: tuple[int, int]) -> None:
    source = ReadAhead(pipe[0], MOST)
    with anyio.fail_after(PATIENCE):
        for _ in range(3):
            with anyio.move_on_after(0.01) as given_up:
                await source.receive()
            assert given_up.cancelled_caught
        with anyio.CancelScope() as scope:
            os.write(pipe[1], b"kept")
            await anyio.sleep(0.01)
            scope.cancel()
            await anyio.lowlevel.checkpoint()
        assert await source.receive() == b"kept"
    source.stop()


async def test_whoever_waits_when_it_is_stopped_sees_the_end(pipe: tuple[int, int]) -> None:
    reader = FdReader(pipe[0])
    seen: list[bytes] = []

    async def receive() -> None:
        seen.append(await reader.receive())

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await anyio.sleep(0.01)
            reader.close()
    assert seen == [b""]
    assert await reader.receive() == b""


async def test_a_failing_descriptor_is_told(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    with anyio.fail_after(PATIENCE), pytest.raises(OSError):
        await FdReader(directory).receive()
    os.close(directory)


@pytest.mark.parametrize("path", ["file", os.devnull])
async def test_what_no_loop_can_watch_is_read_all_the_same(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_bytes(b"text")
    reader = FdReader(os.open(tmp_path / path, os.O_RDONLY))
    with anyio.fail_after(PATIENCE):
        assert await reader.receive() == (b"text" if path == "file" else b"")
        assert await reader.receive() == b""
    reader.close()


async def test_nothing_is_watched_any_more_of_a_number_that_is_used_again(pipe: tuple[int, int]) -> None:
    first = FdReader(pipe[0])
    with anyio.fail_after(PATIENCE):
        os.write(pipe[1], b"first")
        assert await first.receive() == b"first"
        first.close()
        again, writing = os.pipe()
        assert again == pipe[0]
        second = FdReader(again)
        os.write(writing, b"second")
        assert await second.receive() == b"second"
        os.close(writing)
        assert await second.receive() == b""
    second.close()


def test_without_asyncio_there_is_none() -> None:
    assert read_ahead(0, MOST) is None
