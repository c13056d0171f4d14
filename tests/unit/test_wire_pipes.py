"""Descriptors of every kind as byte streams."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import sys
import tty
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from adapter.wire.pipes import HANG_UP_POLL, FdReader, FdWriter
from adapter.wire.room import Room
from tests.wired import PATIENCE

pytestmark = pytest.mark.anyio

Pair = tuple[int, int]


def pipe_pair() -> Pair:
    return os.pipe()


def socket_pair() -> Pair:
    left, right = socket.socketpair()
    return left.detach(), right.detach()


def pty_pair() -> Pair:
    """Reads from the terminal's end what its owner types."""
    owner, terminal = pty.openpty()
    tty.setraw(terminal)
    return terminal, owner


@pytest.fixture(params=[pipe_pair, socket_pair, pty_pair], ids=lambda make: make.__name__)
def pair(request: pytest.FixtureRequest) -> Pair:
    """Two descriptors that belong to the test."""
    make: Callable[[], Pair] = request.param
    return make()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell of it at the next write")
async def test_that_nobody_reads_is_told_without_a_write(pair: Pair) -> None:
    writer = FdWriter(pair[1])
    told = anyio.Event()

    async def watch() -> None:
        await writer.unread()
        told.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        # Neither a reader that catches up nor one that says something is one that is gone.
        async with anyio.create_task_group() as passing:
            passing.start_soon(writer.send, bytes(300_000))
            await read_exactly(reader := FdReader(pair[0]), 300_000)
        with contextlib.suppress(OSError):
            os.write(pair[0], b"what nobody reads")
        with anyio.move_on_after(0.05):
            await told.wait()
        assert not told.is_set()
        reader.close()
        with anyio.fail_after(PATIENCE):
            await told.wait()
    writer.close()


@pytest.mark.parametrize("path", [os.devnull, "file"])
async def test_what_everybody_can_read_never_is_unread(path: str, tmp_path: Path) -> None:
    writer = FdWriter(os.open(tmp_path / path, os.O_WRONLY | os.O_CREAT))
    with anyio.move_on_after(0.05) as waited:
        await writer.unread()
    assert waited.cancelled_caught
    writer.close()


async def read_exactly(reader: FdReader, size: int) -> bytes:
    data = b""
    with anyio.fail_after(PATIENCE):
        while len(data) < size:
            piece = await reader.receive()
            assert piece
            data += piece
    return data


async def test_bytes_pass_unchanged(pair: Pair) -> None:
    reader, writer = FdReader(pair[0]), FdWriter(pair[1])
    message = "温室🌳\r\n\x00".encode()
    await writer.send(message)
    assert await read_exactly(reader, len(message)) == message
    writer.close()
    reader.close()


async def test_more_than_the_pipe_holds_passes_in_order(pair: Pair) -> None:
    reader, writer = FdReader(pair[0]), FdWriter(pair[1])
    message = bytes(range(256)) * 4096
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.send, message)
        assert await read_exactly(reader, len(message)) == message
    writer.close()
    reader.close()


async def test_a_closed_writer_ends_the_reading(pair: Pair) -> None:
    reader, writer = FdReader(pair[0]), FdWriter(pair[1])
    writer.close()
    with anyio.fail_after(PATIENCE):
        # A terminal whose owner is gone may say EIO instead.
        with contextlib.suppress(OSError):
            assert await reader.receive() == b""
    reader.close()


def full(wait: Callable[[], Awaitable[None]]) -> Room:
    return Room(lambda: False, wait)


async def test_what_is_waited_for_before_reading_on_does_not_keep_the_end_from_being_seen(pair: Pair) -> None:
    reader, writer = FdReader(pair[0]), FdWriter(pair[1])
    with anyio.fail_after(PATIENCE):
        await writer.send(b"left")
        await reader.unless_over(full(anyio.lowlevel.checkpoint)).wait()
        with anyio.move_on_after(3 * HANG_UP_POLL) as open_still:
            await reader.unless_over(full(anyio.sleep_forever)).wait()
        assert open_still.cancelled_caught, "it is not over"
        writer.close()
        await reader.unless_over(full(anyio.sleep_forever)).wait()
        awaited: list[bool] = []

        async def wait() -> None:
            awaited.append(True)

        await reader.unless_over(full(wait)).wait()
        assert not awaited, "the rest is read without waiting"
    reader.close()


async def test_a_reader_that_is_closed_while_it_waits_sees_the_end(pair: Pair) -> None:
    reader = FdReader(pair[0])
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:

            async def close_soon() -> None:
                await anyio.sleep(0.01)
                reader.close()

            tasks.start_soon(close_soon)
            assert await reader.receive() == b""
        assert await reader.receive() == b""
    reader.close()
    os.close(pair[1])


async def test_a_writer_that_is_closed_while_it_waits_fails(pair: Pair) -> None:
    writer = FdWriter(pair[1])
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:

            async def close_soon() -> None:
                await anyio.sleep(0.01)
                writer.close()

            tasks.start_soon(close_soon)
            with pytest.raises(BrokenPipeError):
                await writer.send(b"x" * (4 * 1024 * 1024))
        with pytest.raises(BrokenPipeError):
            await writer.send(b"x")
    writer.close()
    os.close(pair[0])


@pytest.mark.parametrize("make", [pipe_pair, socket_pair])
async def test_writing_to_nobody_fails(make: Callable[[], Pair]) -> None:
    reading, writing = make()
    os.close(reading)
    writer = FdWriter(writing)
    with anyio.fail_after(PATIENCE), pytest.raises(BrokenPipeError):
        await writer.send(b"x")
    writer.close()


@pytest.mark.parametrize("make", [pipe_pair, socket_pair])
async def test_a_reader_that_goes_away_wakes_the_waiting_writer(make: Callable[[], Pair]) -> None:
    reading, writing = make()
    writer = FdWriter(writing)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:

            async def close_soon() -> None:
                await anyio.sleep(0.01)
                os.close(reading)

            tasks.start_soon(close_soon)
            with pytest.raises(OSError):
                await writer.send(b"x" * (4 * 1024 * 1024))
    writer.close()


async def test_waiting_can_be_cancelled(pair: Pair) -> None:
    reader, writer = FdReader(pair[0]), FdWriter(pair[1])
    with anyio.move_on_after(0.01) as scope:
        await reader.receive()
    assert scope.cancelled_caught
    with anyio.move_on_after(0.01) as scope:
        await writer.send(b"x" * (4 * 1024 * 1024))
    assert scope.cancelled_caught
    assert await read_exactly(reader, 1000) != b""
    writer.close()
    reader.close()


@pytest.mark.parametrize("blocking", [True, False])
async def test_the_blocking_flag_is_put_back(pair: Pair, blocking: bool) -> None:
    os.set_blocking(pair[1], blocking)
    shared = os.dup(pair[1])
    writer = FdWriter(pair[1])
    assert os.get_blocking(shared) is False
    writer.close()
    writer.close()
    assert os.get_blocking(shared) is blocking
    os.close(shared)
    os.close(pair[0])


async def test_a_reader_leaves_the_flag_alone(pair: Pair) -> None:
    shared = os.dup(pair[0])
    reader = FdReader(pair[0])
    with anyio.move_on_after(0.01):
        await reader.receive()
    assert os.get_blocking(shared) is True
    reader.close()
    os.close(shared)
    os.close(pair[1])


async def test_a_regular_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_bytes(b"{}\n" * 200_000)
    reader = FdReader(os.open(file, os.O_RDONLY))
    assert await read_exactly(reader, 600_000) == b"{}\n" * 200_000
    assert await reader.receive() == b""
    assert await reader.receive() == b""
    reader.close()


async def test_a_regular_file_is_written(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    writer = FdWriter(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
    await writer.send(b"a" * 1_000_000)
    await writer.send(b"b")
    writer.close()
    assert file.read_bytes() == b"a" * 1_000_000 + b"b"


async def test_the_null_device() -> None:
    reader = FdReader(os.open(os.devnull, os.O_RDONLY))
    writer = FdWriter(os.open(os.devnull, os.O_WRONLY))
    with anyio.fail_after(PATIENCE):
        assert await reader.receive() == b""
        await writer.send(b"x" * 1_000_000)
    reader.close()
    writer.close()


async def test_a_file_without_end_can_be_left() -> None:
    reader = FdReader(os.open("/dev/zero", os.O_RDONLY))
    with anyio.move_on_after(0.01) as scope:
        while True:
            assert await reader.receive()
    assert scope.cancelled_caught
    reader.close()


async def test_a_broken_descriptor_says_so(tmp_path: Path) -> None:
    reader = FdReader(os.open(tmp_path, os.O_RDONLY))
    with anyio.fail_after(PATIENCE), pytest.raises(IsADirectoryError):
        await reader.receive()
    reader.close()


def test_closing_needs_no_event_loop() -> None:
    reading, writing = os.pipe()
    FdReader(reading).close()
    FdWriter(writing).close()
    for fd in (reading, writing):
        with pytest.raises(OSError):
            os.fstat(fd)
